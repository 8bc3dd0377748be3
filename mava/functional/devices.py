"""Sums and means over devices that train together, each on its part of a batch."""

from __future__ import annotations

from collections.abc import Callable

import chex
import jax.numpy as jnp

from mava.types import Array, PyTree

AllMean = Callable[[PyTree], PyTree]
"""Averages a tree over the devices that train together."""


def identity(tree: PyTree) -> PyTree:
    """``AllMean`` of one device."""
    return tree


def ratio(total: Array, weight: Array, all_mean: AllMean = identity) -> Array:
    """``total`` over ``weight``, both sums over this device's part of a batch, ``weight`` averaged
    over the devices; 0 where nothing weighs.

    The mean over devices of what each gives is the ratio of the sums over the whole batch, however
    its weight is spread over them. So are the gradients.
    """
    return total / jnp.maximum(all_mean(weight), 1e-8)


def masked_mean(x: Array, weight: Array, all_mean: AllMean = identity) -> Array:
    """The mean of ``x`` weighted by ``weight`` of its shape; entries that weigh 0 have no influence
    even if they are not finite; 0 where all weigh 0.

    Over several devices that is the mean of what each gives, as gradients and metrics are averaged:
    pass ``context.all_mean``.

    Args:
        x: of this device.
        weight: bool or not negative, of the same shape.
        all_mean: averages over the devices that train together.
    """
    chex.assert_equal_shape([x, weight])
    weight = weight.astype(jnp.float32)
    total = jnp.sum(jnp.where(weight > 0, x, 0.0) * weight)
    return ratio(total, jnp.sum(weight), all_mean)
