"""Small components that need few lines: memory, a critic with memory, a mixer.

They are written to be read: a plain array for each layer, and nothing that is not needed to show
what a component of its kind looks like.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import ClassVar

import jax
import jax.numpy as jnp

from mava.core.contexts import (
    Batch,
    GroupContext,
    LearnContext,
    LossOutput,
    Params,
    ValueInputs,
)
from mava.core.lifecycle import (
    InitParams,
    Loss,
    Mix,
    Score,
    Value,
)
from mava.errors import WiringError
from mava.functional.td import chosen, masked_max, masked_mean, td_target
from mava.types import Array, ArraySpec, DiscreteActions, EnvironmentSpec, GroupSpec, PyTree


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


@dataclasses.dataclass(frozen=True)
class StateMixer(InitParams, Mix):
    """``Q = b(s) + sum_i |w_i(s)| q_i``, with weights linear in the global state: monotonic in
    every agent's value, as in QMIX (Rashid et al., 2018).

    Owns ``mixer``.

    Raises:
        WiringError: the environment has no global state.
    """

    requires: ClassVar[frozenset[str]] = frozenset({"state"})

    def init_params(self, key: jax.Array, spec: EnvironmentSpec) -> dict[str, PyTree]:
        state = _state(self.name, spec)
        return {"mixer": init_affine(key, state.shape[0], spec.num_agents + 1)}

    def mix(
        self, params: Params, values: dict[str, Array], batch: Batch, context: LearnContext
    ) -> Array:
        weights = affine(params["mixer"], batch["state"])
        agents = jnp.concatenate([values[name] for name in context.spec.group_names], axis=-1)
        return jnp.sum(jnp.abs(weights[..., :-1]) * agents, axis=-1) + weights[..., -1]


@dataclasses.dataclass(frozen=True)
class TeamQLoss(Loss):
    """Q-learning of one mixed value from the agents' mean reward; the team goes on while its first
    agent does. ``next_state`` mixes what follows."""

    requires: ClassVar[frozenset[str]] = frozenset(
        {"state", "next_state", "reward", "discount", "next_legal_actions"}
    )

    trains: tuple[str, ...] = ("q_network", "mixer")

    def loss(self, params: Params, batch: Batch, context: LearnContext) -> LossOutput:
        names = context.spec.group_names
        scores = context.unroll(params, batch).scores
        following = context.unroll(context.target_params, batch).next_scores()
        q_tm1 = {name: chosen(scores[name], batch["action"][name]) for name in names}
        v_t = {n: masked_max(following[n], batch["next_legal_actions"][n]) for n in names}
        reward = jnp.concatenate([batch["reward"][name] for name in names], axis=-1).mean(-1)
        discount = batch["discount"][names[0]][..., 0]
        after = {**batch, "state": batch["next_state"]}
        target = td_target(reward, discount, context.mix(context.target_params, v_t, after))
        delta = target - context.mix(params, q_tm1, batch)
        return LossOutput(0.5 * jnp.mean(delta**2), {"mean_abs_td_error": jnp.abs(delta).mean()})


def alive_mean(x: Mapping[str, Array], batch: Batch) -> jax.Array:
    """The mean over living agents, summed over groups."""
    return jnp.stack([masked_mean(x[n], batch["alive"][n]) for n in x]).sum()


def _state(owner: str, spec: EnvironmentSpec) -> ArraySpec:
    if spec.state is None:
        raise WiringError(
            f"{owner} needs a global state, and {spec.name} has none; give the environment one"
        )
    return spec.state
