"""A feed-forward actor: one action for each observation."""

from __future__ import annotations

import dataclasses

import jax

from mava.components.networks import sharing as sharing_
from mava.components.networks.torsos import (
    Head,
    as_widths,
    check_activation,
    init_module,
    torso_for,
)
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
class ActorNetwork(InitParams, Score):
    """The deterministic policy mu(o) of each agent, from its own observation (Lillicrap et al.,
    2016).

    The scores are what exploration and losses make an action of. Of continuous actions they are
    ``[N, size]``, to be squashed into the bounds (``mava.functional.actions.squash``): 0 is their
    middle. Of ``Discrete`` and ``MultiDiscrete`` ones they are logits ``[N, A]``.

    Owns the parameters ``actor``: per group, leaves ``[K, ...]`` for K sets. Masks are not applied
    here.

    Attributes:
        hidden_sizes: widths of the dense layers.
        activation: ``relu``, ``tanh``, ``elu``, ``gelu`` or ``silu``.
        layer_norm: normalises before each activation.
        convolutions: as in ``QNetwork``.
        sharing: ``"shared"`` (one set per group), ``"none"`` (one per agent), or a mapping from
            agent to set.
        output_scale: of the last layer's first weights; small, so that no action begins at a bound.

    Raises:
        ConfigurationError: at construction, for an unknown activation or sharing, or a width below
            1.
        WiringError: at build, for a group with continuous actions that have no finite bounds.
    """

    hidden_sizes: tuple[int, ...] = (64, 64)
    activation: str = "relu"
    layer_norm: bool = False
    convolutions: tuple[tuple[int, int, int], ...] | None = None
    sharing: sharing_.Sharing = "shared"
    output_scale: float = 0.01

    def __post_init__(self) -> None:
        check_activation(self.name, self.activation)
        object.__setattr__(self, "sharing", sharing_.as_sharing(self.name, self.sharing))
        object.__setattr__(
            self, "hidden_sizes", as_widths(f"{self.name}.hidden_sizes", self.hidden_sizes)
        )

    def init_params(self, key: jax.Array, spec: EnvironmentSpec) -> dict[str, PyTree]:
        params = {}
        for index, group in enumerate(spec.groups):
            check_bounded(self.name, group)
            module = self._module(group)
            sets = sharing_.sets_of(group, self.sharing)
            params[group.name] = sharing_.init_sets(
                lambda k, m=module, g=group: init_module(m, k, g.observation),  # type: ignore[misc]
                jax.random.fold_in(key, index),
                sets,
            )
        return {"actor": params}

    def score(
        self, params: Params, observation: Array, memory: PyTree, context: GroupContext
    ) -> tuple[Array, PyTree]:
        group = context.group
        output = sharing_.apply_sets(
            self._module(group).apply,  # type: ignore[arg-type]
            params["actor"][group.name],
            sharing_.sets_of(group, self.sharing),
            observation,
            rank=len(group.observation.shape),
        )
        return output, memory

    def unroll(
        self,
        params: Params,
        observation: Array,
        start: Array,
        memory: PyTree,
        context: GroupContext,
    ) -> tuple[Array, PyTree]:
        return self.score(params, observation, memory, context)

    def _module(self, group: GroupSpec) -> Head:
        torso = torso_for(
            group.observation,
            self.hidden_sizes,
            self.convolutions,
            self.activation,
            self.layer_norm,
        )
        return Head(torso, code_size(group.actions), self.output_scale)
