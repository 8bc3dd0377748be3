"""Small components that need few lines: memory, and a critic with memory.

They are written to be read: a plain array for each layer, and nothing that is not needed to show
what a component of its kind looks like.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import jax
import jax.numpy as jnp

from mava.core.contexts import (
    Batch,
    GroupContext,
    LearnContext,
    Params,
    ValueInputs,
)
from mava.core.lifecycle import (
    InitParams,
    Score,
    Value,
)
from mava.functional.devices import masked_mean
from mava.types import Array, DiscreteActions, EnvironmentSpec, GroupSpec, PyTree


def affine(weights: Array, x: Array) -> jax.Array:
    """``[in + 1, out]`` and ``[..., in]`` -> ``[..., out]``; the last row is the bias."""
    ones = jnp.ones((*x.shape[:-1], 1), x.dtype)
    return jnp.matmul(jnp.concatenate([x, ones], axis=-1), weights)


def init_affine(key: jax.Array, inputs: int, outputs: int) -> jax.Array:
    return jax.random.normal(key, (inputs + 1, outputs)) / jnp.sqrt(inputs + 1.0)


def num_outputs(group: GroupSpec) -> int:
    """One score for each discrete action, or the mean of each continuous dimension."""
    if isinstance(group.actions, DiscreteActions):
        return group.actions.num_actions
    return int(group.actions.array.shape[0])


@dataclasses.dataclass(frozen=True)
class TanhNetwork(InitParams, Score):
    """A recurrent network: ``h' = tanh(W [x, h])``, and scores linear in ``h'``.

    Owns ``network``, one set for each group. The memory is ``h``, ``[N, width]``.
    """

    width: int = 8

    def init_params(self, key: jax.Array, spec: EnvironmentSpec) -> dict[str, PyTree]:
        params = {}
        for index, group in enumerate(spec.groups):
            cell, head = jax.random.split(jax.random.fold_in(key, index))
            (size,) = group.observation.shape
            params[group.name] = {
                "cell": init_affine(cell, size + self.width, self.width),
                "head": init_affine(head, self.width, num_outputs(group)),
            }
        return {"network": params}

    def init_memory(self, group: GroupSpec) -> PyTree:
        return jnp.zeros((group.num_agents, self.width))

    def score(
        self, params: Params, observation: Array, memory: PyTree, context: GroupContext
    ) -> tuple[Array, PyTree]:
        layers = params["network"][context.group.name]
        hidden = jnp.tanh(affine(layers["cell"], jnp.concatenate([observation, memory], axis=-1)))
        return affine(layers["head"], hidden), hidden


@dataclasses.dataclass(frozen=True)
class TanhCritic(InitParams, Value):
    """A recurrent, central critic: of each agent's observation, those of all agents, and the global
    state where there is one.

    Owns ``critic``. The memory is ``[N, width]``.
    """

    width: int = 8

    def init_params(self, key: jax.Array, spec: EnvironmentSpec) -> dict[str, PyTree]:
        shared = sum(group.num_agents * group.observation.shape[0] for group in spec.groups)
        shared += 0 if spec.state is None else spec.state.shape[0]
        params = {}
        for index, group in enumerate(spec.groups):
            cell, head = jax.random.split(jax.random.fold_in(key, index))
            inputs = shared + group.observation.shape[0] + self.width
            params[group.name] = {
                "cell": init_affine(cell, inputs, self.width),
                "head": init_affine(head, self.width, 1),
            }
        return {"critic": params}

    def init_memory(self, group: GroupSpec) -> PyTree:
        return jnp.zeros((group.num_agents, self.width))

    def value(
        self, params: Params, inputs: ValueInputs, memory: PyTree, context: GroupContext
    ) -> tuple[Array, PyTree]:
        layers, own = params["critic"][context.group.name], inputs.observation[context.group.name]
        parts = [jnp.ravel(x) for x in jax.tree.leaves((inputs.observation, inputs.state))]
        shared = jnp.stack([jnp.concatenate(parts)] * context.group.num_agents)
        hidden = jnp.tanh(affine(layers["cell"], jnp.concatenate([shared, own, memory], axis=-1)))
        return affine(layers["head"], hidden)[..., 0], hidden


def alive_mean(x: Mapping[str, Array], batch: Batch, context: LearnContext) -> jax.Array:
    """The mean over living agents, summed over groups."""
    means = [masked_mean(x[n], batch["alive"][n], context.all_mean) for n in x]
    return jnp.stack(means).sum()
