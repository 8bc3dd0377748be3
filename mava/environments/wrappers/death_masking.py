"""Zeros for what the dead would observe."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from mava.environments.wrappers.wrap import Wrapper
from mava.types import Array, EnvironmentSpec, PyTree, TimeStep


@dataclasses.dataclass(frozen=True)
class DeathMasking(Wrapper):
    """Shows zeros to agents that are dead (Yu et al., 2022).

    Central critics and mixers see the observations of all agents; an environment that goes on
    showing something of the dead would have them learn from it. With ``AgentIds``, which come
    later, a dead agent is shown its id and zeros, as in the paper. The row of an agent that a step
    truncated is kept in that step: its value goes on from there. The global state stays as it is.
    """

    def spec(self, spec: EnvironmentSpec) -> EnvironmentSpec:
        return spec

    def first(self, timestep: TimeStep) -> tuple[PyTree, TimeStep]:
        return timestep.alive, _masked(timestep, timestep.alive)

    def following(self, carried: PyTree, timestep: TimeStep) -> tuple[PyTree, TimeStep]:
        cut = {
            name: alive | (carried[name] & timestep.truncation[name] & ~timestep.termination[name])
            for name, alive in timestep.alive.items()
        }
        return timestep.alive, _masked(timestep, cut)


def _masked(timestep: TimeStep, shown: dict[str, Any]) -> TimeStep:
    observation = {name: _kept(x, shown[name]) for name, x in timestep.observation.items()}
    return timestep._replace(observation=observation)


def _kept(observation: Array, rows: Array) -> Array:
    rows = rows.reshape(-1, *[1] * (observation.ndim - 1))
    if isinstance(observation, jax.Array):
        return jnp.where(rows, observation, jnp.zeros((), observation.dtype))
    return np.where(rows, observation, np.zeros((), observation.dtype))
