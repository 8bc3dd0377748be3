"""A recurrent network of action values."""

from __future__ import annotations

import dataclasses

import jax

from mava.components.networks import sharing as sharing_
from mava.components.networks.recurrent import RecurrentFields, RecurrentNetwork
from mava.components.networks.torsos import Head, discrete_actions
from mava.core.contexts import GroupContext, Params
from mava.core.lifecycle import InitParams, Score
from mava.types import Array, EnvironmentSpec, GroupSpec, PyTree


@dataclasses.dataclass(frozen=True)
class RecurrentQNetwork(RecurrentFields, InitParams, Score):
    """Q-values of every action from all that the agent has observed in the episode (Hausknecht and
    Stone, 2015): a torso, a GRU (Cho et al., 2014) and a head.

    Owns the parameters ``q_network``: per group, leaves ``[K, ...]`` for K sets. Its memory is the
    GRU's state, ``[N, memory_size]``, zeros at the start of an episode. Masks are not applied here.

    Attributes:
        torso_sizes, memory_size, head_sizes, activation, layer_norm, convolutions, sharing,
            hidden_gain: as in ``RecurrentFields``.

    Raises:
        ConfigurationError: at construction, for an unknown activation or sharing, or a width below
            1.
        WiringError: at build, for a group whose actions are not ``Discrete``.
    """

    def init_params(self, key: jax.Array, spec: EnvironmentSpec) -> dict[str, PyTree]:
        sharing_.check_agents(self.name, self.sharing, spec)
        return {
            "q_network": {
                group.name: self._of(group).init(jax.random.fold_in(key, index), group.observation)
                for index, group in enumerate(spec.groups)
            }
        }

    def init_memory(self, group: GroupSpec) -> PyTree:
        return self._initial_memory(group)

    def score(
        self, params: Params, observation: Array, memory: PyTree, context: GroupContext
    ) -> tuple[PyTree, PyTree]:
        own = params["q_network"][context.group.name]
        return self._of(context.group).step(own, observation, memory)

    def unroll(
        self,
        params: Params,
        observation: Array,
        start: Array,
        memory: PyTree,
        context: GroupContext,
    ) -> tuple[PyTree, PyTree]:
        own = params["q_network"][context.group.name]
        return self._of(context.group).unroll(own, observation, start, memory)

    def _of(self, group: GroupSpec) -> RecurrentNetwork:
        outputs = discrete_actions(self.name, group)
        return self._network(group, group.observation, lambda torso: Head(torso, outputs))
