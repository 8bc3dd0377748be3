"""Networks for one agent's observation."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import flax.linen as nn
import jax
import jax.numpy as jnp

from mava.core.plans import check_count
from mava.errors import ConfigurationError, WiringError, nearest
from mava.functional.convolution import convolve
from mava.types import Array, ArraySpec, DiscreteActions, GroupSpec

ACTIVATIONS: dict[str, Callable[[Array], Array]] = {
    "relu": nn.relu,
    "tanh": nn.tanh,
    "elu": nn.elu,
    "gelu": nn.gelu,
    "silu": nn.silu,
}

HIDDEN_GAIN = 2.0**0.5
"""Of the orthogonal initialisation of hidden layers (Saxe et al., 2014), as suits rectifiers."""


def check_activation(owner: str, name: str) -> None:
    """Raises:
    ConfigurationError: an unknown activation, with the nearest name.
    """
    if name not in ACTIVATIONS:
        raise ConfigurationError(f"{owner}.activation is {name!r}{nearest(name, ACTIVATIONS)}")


def discrete_actions(owner: str, group: GroupSpec) -> int:
    """The number of actions of a group.

    Raises:
        WiringError: where they are not ``Discrete``, naming the owner and the agents.
    """
    if not isinstance(group.actions, DiscreteActions):
        raise WiringError(
            f"{owner} values Discrete actions, but group {group.name!r} (agents "
            f"{', '.join(map(str, group.agents))}) has {group.actions}; use a system for such "
            f"actions"
        )
    return group.actions.num_actions


def as_widths(field: str, widths: Iterable[int]) -> tuple[int, ...]:
    """Widths of layers as a tuple.

    Raises:
        ConfigurationError: for what is no sequence of whole numbers, each at least 1.
    """
    if not isinstance(widths, list | tuple):
        raise ConfigurationError(f"{field} is {widths!r}; give a tuple such as (64, 64)")
    for width in widths:
        check_count(f"a width in {field}", width)
    return tuple(widths)


def as_float(observation: Array, rank: int) -> Array:
    """Float32; images of unsigned bytes are divided by 255, and nowhere else."""
    scale = 255.0 if observation.dtype == jnp.uint8 and rank == 3 else 1.0
    return observation.astype(jnp.float32) / scale


class Torso(nn.Module):
    """Convolutions where the observation is an image and there are any, then dense layers.

    ``[..., *O]`` -> ``[..., hidden_sizes[-1]]``, any leading axes.

    Attributes:
        rank: the number of axes of ``O``.
        hidden_sizes: widths of the dense layers.
        convolutions: channels, kernel size and stride of each convolution.
        activation: a name in ``ACTIVATIONS``.
        layer_norm: normalises before each activation (Ba et al., 2016).
        gain: of the orthogonal initialisation of the dense layers.
    """

    rank: int
    hidden_sizes: tuple[int, ...]
    convolutions: tuple[tuple[int, int, int], ...] = ()
    activation: str = "relu"
    layer_norm: bool = False
    gain: float = HIDDEN_GAIN

    @nn.compact
    def __call__(self, observation: Array) -> Array:
        activate = ACTIVATIONS[self.activation]
        x = as_float(observation, self.rank)
        leading = x.shape[: x.ndim - self.rank]
        x = x.reshape(-1, *x.shape[x.ndim - self.rank :])
        for channels, size, stride in self.convolutions:
            sizes, strides = (size, size), (stride, stride)
            convolution = nn.Conv(channels, sizes, strides, conv_general_dilated=convolve)
            x = activate(convolution(x))
        x = x.reshape(x.shape[0], -1)
        for width in self.hidden_sizes:
            x = nn.Dense(width, kernel_init=nn.initializers.orthogonal(self.gain))(x)
            x = activate(nn.LayerNorm()(x) if self.layer_norm else x)
        return x.reshape(*leading, x.shape[-1])


class Head(nn.Module):
    """A torso and a linear output: ``[..., *O]`` -> ``[..., outputs]``.

    Attributes:
        gain: of the orthogonal initialisation of the output; ``None`` for the usual normal one.
    """

    torso: Torso
    outputs: int
    gain: float | None = None

    @nn.compact
    def __call__(self, observation: Array) -> Array:
        init = nn.initializers.lecun_normal()
        if self.gain is not None:
            init = nn.initializers.orthogonal(self.gain)
        features = self.torso(observation)
        rows = features.reshape(-1, features.shape[-1])  # a product of matrices is the fastest
        found = nn.Dense(self.outputs, kernel_init=init)(rows)
        return found.reshape(*features.shape[:-1], self.outputs)


def torso_for(
    observation: ArraySpec,
    hidden_sizes: tuple[int, ...],
    convolutions: tuple[tuple[int, int, int], ...] | None,
    activation: str,
    layer_norm: bool,
    gain: float = HIDDEN_GAIN,
) -> Torso:
    """A torso for observations of one shape; ``convolutions`` of ``None`` chooses two small ones
    for images of 5 x 5 pixels and more."""
    if convolutions is None:
        large = observation.is_image and min(observation.shape[:2]) >= 5
        convolutions = ((16, 3, 1), (32, 3, 2)) if large else ()
    rank = len(observation.shape)
    return Torso(rank, hidden_sizes, convolutions, activation, layer_norm, gain)


def init_module(module: nn.Module, key: jax.Array, observation: ArraySpec) -> dict[str, Array]:
    """The parameters of a module for observations of one shape."""
    return module.init(key, jnp.zeros(observation.shape, observation.dtype))  # type: ignore[return-value]
