"""A feed-forward network of action values."""

from __future__ import annotations

import dataclasses

import jax

from mava.components.networks import sharing as sharing_
from mava.components.networks.feed_forward import FeedForwardFields
from mava.components.networks.torsos import Head, discrete_actions
from mava.core.contexts import GroupContext, Params
from mava.core.lifecycle import InitParams, Score
from mava.types import Array, EnvironmentSpec, GroupSpec, PyTree


@dataclasses.dataclass(frozen=True)
class QNetwork(FeedForwardFields, InitParams, Score):
    """Q-values of every action, from the agent's own observation (Mnih et al., 2015).

    Owns the parameters ``q_network``: per group, leaves ``[K, ...]`` for K sets. Masks are not
    applied here.

    Attributes:
        hidden_sizes, activation, layer_norm, convolutions, sharing, hidden_gain: as in
            ``FeedForwardFields``.

    Raises:
        ConfigurationError: at construction, for an unknown activation or sharing, or a width below
            1.
        WiringError: at build, for a group whose actions are not ``Discrete``.
    """

    activation: str = "relu"

    def init_params(self, key: jax.Array, spec: EnvironmentSpec) -> dict[str, PyTree]:
        sharing_.check_agents(self.name, self.sharing, spec)
        return {
            "q_network": {
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
        own, rank = params["q_network"][group.name], len(group.observation.shape)
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

    def _head(self, group: GroupSpec) -> Head:
        return Head(self._torso(group.observation), discrete_actions(self.name, group))
