"""A feed-forward actor: one action for each observation."""

from __future__ import annotations

import dataclasses

import jax

from mava.components.networks import sharing as sharing_
from mava.components.networks.feed_forward import FeedForwardFields
from mava.components.networks.torsos import Head
from mava.core.contexts import GroupContext, Params
from mava.core.lifecycle import InitParams, Score
from mava.errors import WiringError
from mava.functional.actions import code_size
from mava.types import Array, ContinuousActions, EnvironmentSpec, GroupSpec, PyTree


def check_bounded(owner: str, group: GroupSpec) -> None:
    """Raises:
    WiringError: continuous actions without finite bounds, naming the owner and the agents.
    """
    if isinstance(group.actions, ContinuousActions) and not group.actions.is_bounded:
        raise WiringError(
            f"{owner} scales actions to their bounds, but group {group.name!r} (agents "
            f"{', '.join(map(str, group.agents))}) has {group.actions}, which are not finite; "
            f"give the environment finite bounds (a wrapper that clips or rescales)"
        )


@dataclasses.dataclass(frozen=True)
class ActorNetwork(FeedForwardFields, InitParams, Score):
    """The deterministic policy mu(o) of each agent, from its own observation (Lillicrap et al.,
    2016).

    The scores are what exploration and losses make an action of. Of continuous actions they are
    ``[N, size]``, to be squashed into the bounds (``mava.functional.actions.squash``): 0 is their
    middle. Of ``Discrete`` and ``MultiDiscrete`` ones they are logits ``[N, A]``.

    Owns the parameters ``actor``: per group, leaves ``[K, ...]`` for K sets. Masks are not applied
    here.

    Attributes:
        hidden_sizes, activation, layer_norm, convolutions, sharing, hidden_gain: as in
            ``FeedForwardFields``.
        head_gain: of the orthogonal initialisation of the output; small, so that no action begins
            at a bound.

    Raises:
        ConfigurationError: at construction, for an unknown activation or sharing, or a width below
            1.
        WiringError: at build, for a group with continuous actions that have no finite bounds.
    """

    activation: str = "relu"
    head_gain: float = 0.01

    def init_params(self, key: jax.Array, spec: EnvironmentSpec) -> dict[str, PyTree]:
        sharing_.check_agents(self.name, self.sharing, spec)
        params = {}
        for index, group in enumerate(spec.groups):
            check_bounded(self.name, group)
            own_key = jax.random.fold_in(key, index)
            params[group.name] = self._init(self._head(group), own_key, group, group.observation)
        return {"actor": params}

    def score(
        self, params: Params, observation: Array, memory: PyTree, context: GroupContext
    ) -> tuple[Array, PyTree]:
        group = context.group
        own, rank = params["actor"][group.name], len(group.observation.shape)
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
        return Head(self._torso(group.observation), code_size(group.actions), self.head_gain)
