"""The adapter that fits an environment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mava.environments.pettingzoo.adapter import PettingZooAdapter
from mava.environments.pettingzoo.aec import AECEnvironment
from mava.environments.pettingzoo.parallel import PettingZooEnvironment
from mava.environments.tuples import TupleAgents, has_tuples
from mava.errors import ConfigurationError
from mava.types import AgentID


def adapt(
    env: Any,
    name: str | None = None,
    groups: Mapping[str, Sequence[AgentID]] | None = None,
    global_state: bool = False,
    reset_kwargs: Mapping[str, Any] | None = None,
    parallel: bool = False,
    waiting: str = "pass",
) -> PettingZooAdapter:
    """Adapts a ``ParallelEnv``, an ``AECEnv``, or a ``gymnasium.Env`` whose spaces are tuples with
    one place for each agent.

    Args:
        env: any of these interfaces.
        name: see ``PettingZooEnvironment``, as for the next three.
        groups: the agents of each group.
        global_state: whether timesteps have ``env.state()``.
        reset_kwargs: passed to each ``env.reset``.
        parallel: let all agents of an ``AECEnv`` act in each timestep. Only for environments whose
            metadata say ``is_parallelizable``: those that take effect when all agents have acted.
        waiting: what the others do in a turn, see ``AECEnvironment``.

    Raises:
        mava.errors.ConfigurationError: no such interface, or ``parallel`` where turns matter.
    """
    common = (name, groups, global_state, reset_kwargs)
    if not callable(getattr(env, "step", None)) or not callable(getattr(env, "reset", None)):
        raise ConfigurationError(
            f"{type(env).__name__} is no environment: it needs the methods of a PettingZoo "
            "ParallelEnv or AECEnv, of a gymnasium.Env, of mava.environments.Environment, or of "
            "JaxEnvironment"
        )
    if not hasattr(env, "possible_agents") and has_tuples(env):
        env = TupleAgents(env)
    if not callable(getattr(env, "agent_iter", None)):
        return PettingZooEnvironment(env, *common)
    if not parallel:
        return AECEnvironment(env, *common, waiting=waiting)
    if not env.metadata.get("is_parallelizable"):
        raise ConfigurationError(
            f"{name or type(env).__name__}: parallel=True needs an environment whose metadata say "
            "'is_parallelizable': True; without it one timestep is one turn"
        )
    from pettingzoo.utils import aec_to_parallel

    return PettingZooEnvironment(aec_to_parallel(env), *common)
