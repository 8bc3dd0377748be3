"""Convolutions of images as products of matrices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp

from mava.types import Array


def convolve(
    x: Array, kernel: Array, strides: Sequence[int], padding: Any, **options: Any
) -> Array:
    """``jax.lax.conv_general_dilated`` of images; takes its arguments, as Flax's ``Conv`` gives
    them.

    Inside a loop that is compiled, such as the one over minibatches, XLA computes a convolution on
    the CPU by a loop of its own, many times slower than outside. So on the CPU patches are cut out
    and multiplied with the kernel; it makes no difference outside of loops.

    Args:
        x: ``[B, H, W, C]``.
        kernel: ``[h, w, C, D]``.
        strides, padding: of the two axes of the image.
        options: the others; dilations and groups of features have to be 1.

    Returns:
        ``[B, H', W', D]``.
    """
    x, kernel = jnp.asarray(x), jnp.asarray(kernel)
    if jax.default_backend() != "cpu":
        return jax.lax.conv_general_dilated(x, kernel, strides, padding, **options)
    return patches(x, kernel.shape[:2], strides, padding) @ kernel.reshape(-1, kernel.shape[-1])


def patches(x: Array, sizes: Sequence[int], strides: Sequence[int], padding: Any) -> Array:
    """What a kernel of two sizes sees at each place, row by row: ``[B, H, W, C]`` ->
    ``[B, H', W', h * w * C]``."""
    if isinstance(padding, str):
        padding = jax.lax.padtype_to_pads(x.shape[1:3], sizes, strides, padding)
    padded = jnp.pad(x, ((0, 0), *padding, (0, 0)))
    (h, w), (down, across) = sizes, strides
    height, width = padded.shape[1] - h + 1, padded.shape[2] - w + 1
    parts = [
        padded[:, row : row + height : down, column : column + width : across]
        for row in range(h)
        for column in range(w)
    ]
    return jnp.concatenate(parts, axis=-1)
