"""Stochastic policies: the scores of actors that learn by policy gradients."""

from __future__ import annotations

import dataclasses
import functools
import math

import flax.linen as nn
import jax
import jax.numpy as jnp

from mava.components.networks import sharing as sharing_
from mava.components.networks.feed_forward import FeedForwardFields
from mava.components.networks.recurrent import RecurrentFields, RecurrentNetwork
from mava.components.networks.torsos import Torso
from mava.core.contexts import GroupContext, Params
from mava.core.lifecycle import InitParams, Score
from mava.types import Array, ContinuousActions, EnvironmentSpec, GroupSpec, PyTree

LOG_STD_RANGE = (-5.0, 2.0)
"""Within which the logarithm of a standard deviation is kept."""


@functools.partial(jax.custom_vjp, nondiff_argnums=(1, 2))
def kept_between(x: Array, low: float, high: float) -> Array:
    """``jnp.clip`` for a parameter. Outside, ``jnp.clip`` has no gradient, so a parameter that left
    the range would never come back; this one lets descent lead inwards."""
    return jnp.clip(x, low, high)


def _kept(x: Array, low: float, high: float) -> tuple[Array, Array]:
    return jnp.clip(x, low, high), x


def _inwards(low: float, high: float, x: Array, slope: Array) -> tuple[Array]:
    outwards = ((x > high) & (slope < 0.0)) | ((x < low) & (slope > 0.0))
    return (jnp.where(outwards, 0.0, slope),)


kept_between.defvjp(_kept, _inwards)


class PolicyHead(nn.Module):
    """A torso and the parameters of a distribution over actions.

    Attributes:
        torso: what comes before.
        outputs: logits, or dimensions of continuous actions.
        gain: of the orthogonal initialisation of the output.
        initial_log_std: of continuous actions, whose log-deviations are parameters that do not
            depend on the observation; ``None`` for choices.
    """

    torso: Torso
    outputs: int
    gain: float
    initial_log_std: float | None

    @nn.compact
    def __call__(self, observation: Array) -> Array:
        init = nn.initializers.orthogonal(self.gain)
        scores = nn.Dense(self.outputs, kernel_init=init)(self.torso(observation))
        if self.initial_log_std is None:
            return scores
        constant = nn.initializers.constant(self.initial_log_std)
        log_std = kept_between(self.param("log_std", constant, (self.outputs,)), *LOG_STD_RANGE)
        return jnp.concatenate([scores, jnp.broadcast_to(log_std, scores.shape)], axis=-1)


def policy_head(torso: Torso, group: GroupSpec, gain: float, initial_log_std: float) -> PolicyHead:
    """The head for a group's actions."""
    if isinstance(group.actions, ContinuousActions):
        return PolicyHead(torso, math.prod(group.actions.shape), gain, initial_log_std)
    return PolicyHead(torso, group.actions.num_choices, gain, None)


@dataclasses.dataclass(frozen=True)
class PolicyNetwork(FeedForwardFields, InitParams, Score):
    """The parameters of a distribution over actions, from the agent's own observation.

    Scores are logits ``[N, A]`` of discrete and multi-discrete actions, or ``[N, 2 * D]``, the
    means and the logarithms of the standard deviations of D continuous dimensions.
    ``distribution_of`` makes a distribution of them. Masks are not applied here.

    Owns the parameters ``policy``: per group, leaves ``[K, ...]`` for K sets.

    Attributes:
        hidden_sizes, activation, layer_norm, convolutions, sharing, hidden_gain: as in
            ``FeedForwardFields``.
        head_gain: of the orthogonal initialisation of the output; small, so that the first policy
            is close to uniform (Andrychowicz et al., 2021).
        initial_log_std: of continuous actions, in units of half the distance between the bounds.

    Raises:
        ConfigurationError: for an unknown activation or sharing, or a width below 1.
    """

    head_gain: float = 0.01
    initial_log_std: float = -0.5

    def init_params(self, key: jax.Array, spec: EnvironmentSpec) -> dict[str, PyTree]:
        sharing_.check_agents(self.name, self.sharing, spec)
        return {
            "policy": {
                group.name: self._init(
                    self._head(group), jax.random.fold_in(key, index), group, group.observation
                )
                for index, group in enumerate(spec.groups)
            }
        }

    def score(
        self, params: Params, observation: Array, memory: PyTree, context: GroupContext
    ) -> tuple[Array, PyTree]:
        group = context.group
        own, rank = params["policy"][group.name], len(group.observation.shape)
        return self._apply(self._head(group), own, group, observation, rank), memory

    def unroll(
        self,
        params: Params,
        observation: Array,
        start: Array,
        memory: PyTree,
        context: GroupContext,
    ) -> tuple[Array, PyTree]:
        return self.score(params, observation, memory, context)

    def _head(self, group: GroupSpec) -> PolicyHead:
        torso = self._torso(group.observation)
        return policy_head(torso, group, self.head_gain, self.initial_log_std)


@dataclasses.dataclass(frozen=True)
class RecurrentPolicyNetwork(RecurrentFields, InitParams, Score):
    """The same from all that the agent has observed in the episode: a torso, a GRU (Cho et al.,
    2014) and a head.

    Owns the parameters ``policy``. Its memory is the GRU's state, ``[N, memory_size]``, zeros at
    the start of an episode.

    Attributes:
        torso_sizes, memory_size, head_sizes, activation, layer_norm, convolutions, sharing,
            hidden_gain: as in ``RecurrentFields``.
        head_gain, initial_log_std: as in ``PolicyNetwork``.

    Raises:
        ConfigurationError: for an unknown activation or sharing, or a width below 1.
    """

    head_gain: float = 0.01
    initial_log_std: float = -0.5

    def init_params(self, key: jax.Array, spec: EnvironmentSpec) -> dict[str, PyTree]:
        sharing_.check_agents(self.name, self.sharing, spec)
        return {
            "policy": {
                group.name: self._of(group).init(jax.random.fold_in(key, index), group.observation)
                for index, group in enumerate(spec.groups)
            }
        }

    def init_memory(self, group: GroupSpec) -> PyTree:
        return self._initial_memory(group)

    def score(
        self, params: Params, observation: Array, memory: PyTree, context: GroupContext
    ) -> tuple[PyTree, PyTree]:
        own = params["policy"][context.group.name]
        return self._of(context.group).step(own, observation, memory)

    def unroll(
        self,
        params: Params,
        observation: Array,
        start: Array,
        memory: PyTree,
        context: GroupContext,
    ) -> tuple[PyTree, PyTree]:
        own = params["policy"][context.group.name]
        return self._of(context.group).unroll(own, observation, start, memory)

    def _of(self, group: GroupSpec) -> RecurrentNetwork:
        return self._network(
            group,
            group.observation,
            lambda torso: policy_head(torso, group, self.head_gain, self.initial_log_std),
        )
