"""What an environment of the PettingZoo interfaces says about itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mava.errors import ConfigurationError
from mava.types import AgentID, ArraySpec

_LIMITS = ("max_cycles", "max_steps", "max_episode_steps", "episode_limit")


def name_of(env: Any) -> str:
    metadata = getattr(env, "metadata", None) or {}
    return str(metadata.get("name") or type(env).__name__)


def episode_limit(env: Any) -> int | None:
    """The length of the longest episode, where the environment has it under a usual name."""
    source = getattr(env, "unwrapped", env)
    for holder in (source, getattr(source, "env", None)):
        for name in _LIMITS:
            limit = getattr(holder, name, None)
            if isinstance(limit, (int, np.integer)) and limit > 0:
                return int(limit)
    return None


def state_spec(name: str, env: Any) -> ArraySpec:
    """Of the global state, in float32.

    Raises:
        ConfigurationError: the environment declares none.
    """
    shape = getattr(getattr(env, "state_space", None), "shape", None)
    if shape is None:
        raise ConfigurationError(
            f"{name}: global_state=True needs an environment with `state_space` and `state()`"
        )
    return ArraySpec(shape, np.dtype(np.float32))


def distinct_spaces(env: Any, agents: Sequence[AgentID]) -> list[Any]:
    """The spaces, each once, in the order of the agents."""
    found: dict[int, Any] = {}
    for agent in agents:
        for space in (env.action_space(agent), env.observation_space(agent)):
            found.setdefault(id(space), space)
    return list(found.values())
