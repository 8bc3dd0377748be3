"""What feed-forward networks share: their configuration, and sets of parameters for a group."""

from __future__ import annotations

import dataclasses

import flax.linen as nn
import jax

from mava.components.networks import sharing as sharing_
from mava.components.networks.torsos import (
    HIDDEN_GAIN,
    Torso,
    as_widths,
    check_activation,
    init_module,
    torso_for,
)
from mava.core.plans import check_positive
from mava.types import Array, ArraySpec, GroupSpec, PyTree


@dataclasses.dataclass(frozen=True)
class FeedForwardFields:
    """Configuration of a feed-forward network; a component inherits it beside its hooks.

    Attributes:
        hidden_sizes: widths of the dense layers.
        activation: ``relu``, ``tanh``, ``elu``, ``gelu`` or ``silu``.
        layer_norm: normalises before each activation.
        convolutions: channels, kernel size and stride of each convolution for image observations;
            ``None`` chooses two small ones for images of 5 x 5 pixels and more.
        sharing: ``"shared"`` (one set per group), ``"none"`` (one per agent), or a mapping from
            agent to set.
        hidden_gain: of the orthogonal initialisation of hidden dense layers.

    Raises:
        ConfigurationError: for an unknown activation or sharing, a width below 1 or a gain that is
            not positive.
    """

    hidden_sizes: tuple[int, ...] = (64, 64)
    activation: str = "tanh"
    layer_norm: bool = False
    convolutions: tuple[tuple[int, int, int], ...] | None = None
    sharing: sharing_.Sharing = "shared"
    hidden_gain: float = HIDDEN_GAIN

    def __post_init__(self) -> None:
        owner: str = self.name  # type: ignore[attr-defined]  # a component's
        check_activation(owner, self.activation)
        object.__setattr__(self, "sharing", sharing_.as_sharing(owner, self.sharing))
        widths = as_widths(f"{owner}.hidden_sizes", self.hidden_sizes)
        object.__setattr__(self, "hidden_sizes", widths)
        check_positive(f"{owner}.hidden_gain", self.hidden_gain)

    def _torso(self, observation: ArraySpec) -> Torso:
        return torso_for(
            observation,
            self.hidden_sizes,
            self.convolutions,
            self.activation,
            self.layer_norm,
            self.hidden_gain,
        )

    def _init(
        self, module: nn.Module, key: jax.Array, group: GroupSpec, observation: ArraySpec
    ) -> PyTree:
        """Leaves ``[K, ...]`` for K sets."""
        sets = sharing_.sets_of(group, self.sharing)
        return sharing_.init_sets(lambda k: init_module(module, k, observation), key, sets)

    def _apply(
        self, module: nn.Module, params: PyTree, group: GroupSpec, observation: Array, rank: int
    ) -> Array:
        """``[..., N, *O]``, with ``rank`` axes ``O`` -> ``[..., N, outputs]``."""
        sets = sharing_.sets_of(group, self.sharing)
        return sharing_.apply_sets(
            module.apply,  # type: ignore[arg-type]
            params,
            sets,
            observation,
            rank=rank,
        )
