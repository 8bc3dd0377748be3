"""An environment that breaks, and a loss that does."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import jax
import jax.numpy as jnp

from mava.components.losses.madqn import MADQNLoss
from mava.core.contexts import Batch, LearnContext, LossOutput, Params
from mava.environments import make
from mava.environments.base import JaxEnvironment
from mava.types import EnvironmentSpec, PyTree, TimeStep


@dataclasses.dataclass(frozen=True)
class Breaks(JaxEnvironment):
    """``matrix/climbing``, whose second agent is paid NaN in step 3."""

    @property
    def spec(self) -> EnvironmentSpec:
        return make("matrix/climbing").spec

    def reset(self, key: jax.Array) -> tuple[PyTree, TimeStep]:
        state, timestep = make("matrix/climbing").reset(key)
        return (state, jnp.zeros((), jnp.int32)), timestep

    def step(self, state: PyTree, actions: Mapping[str, jax.Array]) -> tuple[PyTree, TimeStep]:
        inner, steps = state
        inner, timestep = make("matrix/climbing").step(inner, actions)
        broken = jnp.asarray([0.0, jnp.nan])
        reward = timestep.reward["agents"] + jnp.where(steps == 2, broken, 0.0)
        return (inner, steps + 1), timestep._replace(reward={"agents": reward})


@dataclasses.dataclass(frozen=True)
class Exploding(MADQNLoss):
    """NaN for the second agent in trainer step 3."""

    def loss(self, params: Params, batch: Batch, context: LearnContext) -> LossOutput:
        output = super().loss(params, batch, context)
        bad = jnp.where(context.updates == 2, jnp.nan, 0.0)
        share = {name: x + jnp.asarray([0.0, bad]) for name, x in (output.per_agent or {}).items()}
        return output._replace(loss=output.loss + bad, per_agent=share)
