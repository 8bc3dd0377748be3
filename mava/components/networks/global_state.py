"""What mixers and central critics take for the state of the whole environment.

``"environment"``: the environment's own global state. ``"observations"``: what all agents of all
groups observe, flattened and joined in the order of groups and agents. ``"auto"``: the
environment's where it has one, else the observations.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import jax.numpy as jnp

from mava.components.networks.torsos import as_float
from mava.errors import ConfigurationError, WiringError, nearest
from mava.types import Array, ArraySpec, EnvironmentSpec

SOURCES = ("auto", "environment", "observations")


def check_source(owner: str, source: str) -> None:
    """Raises:
    ConfigurationError: an unknown source, with the nearest name.
    """
    if source not in SOURCES:
        raise ConfigurationError(f"{owner}.state is {source!r}{nearest(source, SOURCES)}")


def state_size(owner: str, source: str, spec: EnvironmentSpec) -> int:
    """The length of the vector that ``global_state`` gives.

    Raises:
        WiringError: the environment's state is asked for and it has none.
    """
    if _is_environments(source, spec):
        if spec.state is None:
            raise WiringError(
                f"{owner} needs the environment's global state, and {spec.name} has none; make it "
                f"with one (global_state=True where it is a PettingZoo environment with state()), "
                f"or set {owner}.state to 'observations'"
            )
        return math.prod(spec.state.shape)
    return sum(group.num_agents * math.prod(group.observation.shape) for group in spec.groups)


def global_state(
    source: str, spec: EnvironmentSpec, observation: Mapping[str, Array], state: Array | None
) -> Array:
    """The global state as one vector of float32, images of unsigned bytes divided by 255.

    Args:
        source: one of ``SOURCES``.
        spec: the environment, its observations as they are given here.
        observation: by group, ``[..., N, *O]``.
        state: ``[..., *S]``, or ``None`` where the environment has none.

    Returns:
        ``[..., state_size]``.

    Raises:
        WiringError: the environment's state is asked for and was not recorded.
    """
    if _is_environments(source, spec):
        assert spec.state is not None  # state_size refused it at build
        if state is None:
            raise WiringError(
                "the environment's global state is needed, but no component records it; add "
                "RecordState()"
            )
        return _flat(state, spec.state, agents=0)
    parts = [_flat(observation[g.name], g.observation, agents=1) for g in spec.groups]
    return jnp.concatenate(parts, axis=-1)


def _is_environments(source: str, spec: EnvironmentSpec) -> bool:
    return source == "environment" or (source == "auto" and spec.state is not None)


def _flat(x: Array, spec: ArraySpec, agents: int) -> Array:
    """``[..., *spec.shape]``, behind an axis of agents if ``agents`` is 1 -> ``[..., size]``."""
    rank = len(spec.shape)
    leading = x.shape[: x.ndim - rank - agents]
    return as_float(jnp.asarray(x), rank).reshape(*leading, -1)
