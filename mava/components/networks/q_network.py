"""A feed-forward network of action values."""

from __future__ import annotations

import dataclasses

import jax

from mava.components.networks import sharing as sharing_
from mava.components.networks.torsos import (
    Head,
    as_widths,
    check_activation,
    discrete_actions,
    init_module,
    torso_for,
)
from mava.core.contexts import GroupContext, Params
from mava.core.lifecycle import InitParams, Score
from mava.types import Array, EnvironmentSpec, GroupSpec, PyTree


@dataclasses.dataclass(frozen=True)
class QNetwork(InitParams, Score):
    """Q-values of every action, from the agent's own observation (Mnih et al., 2015).

    Owns the parameters ``q_network``: per group, leaves ``[K, ...]`` for K sets. Masks are not
    applied here.

    Attributes:
        hidden_sizes: widths of the dense layers.
        activation: ``relu``, ``tanh``, ``elu``, ``gelu`` or ``silu``.
        layer_norm: normalises before each activation.
        convolutions: channels, kernel size and stride of each convolution for image observations;
            ``None`` chooses two small ones for images of 5 x 5 pixels and more.
        sharing: ``"shared"`` (one set per group), ``"none"`` (one per agent), or a mapping from
            agent to set.

    Raises:
        ConfigurationError: at construction, for an unknown activation or sharing, or a width below
            1.
        WiringError: at build, for a group whose actions are not ``Discrete``.
    """

    hidden_sizes: tuple[int, ...] = (64, 64)
    activation: str = "relu"
    layer_norm: bool = False
    convolutions: tuple[tuple[int, int, int], ...] | None = None
    sharing: sharing_.Sharing = "shared"

    def __post_init__(self) -> None:
        check_activation(self.name, self.activation)
        object.__setattr__(self, "sharing", sharing_.as_sharing(self.name, self.sharing))
        object.__setattr__(
            self, "hidden_sizes", as_widths(f"{self.name}.hidden_sizes", self.hidden_sizes)
        )

    def init_params(self, key: jax.Array, spec: EnvironmentSpec) -> dict[str, PyTree]:
        params = {}
        for index, group in enumerate(spec.groups):
            module = self._module(group)
            sets = sharing_.sets_of(group, self.sharing)
            params[group.name] = sharing_.init_sets(
                lambda k, m=module, g=group: init_module(m, k, g.observation),  # type: ignore[misc]
                jax.random.fold_in(key, index),
                sets,
            )
        return {"q_network": params}

    def score(
        self, params: Params, observation: Array, memory: PyTree, context: GroupContext
    ) -> tuple[Array, PyTree]:
        group = context.group
        scores = sharing_.apply_sets(
            self._module(group).apply,  # type: ignore[arg-type]
            params["q_network"][group.name],
            sharing_.sets_of(group, self.sharing),
            observation,
            rank=len(group.observation.shape),
        )
        return scores, memory

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
        return Head(torso, discrete_actions(self.name, group))
