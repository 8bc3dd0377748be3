"""Mean and variance of a stream of numbers, in single precision."""

from __future__ import annotations

from typing import NamedTuple

import chex
import jax
import jax.numpy as jnp

from mava.functional.devices import AllMean, identity
from mava.types import Array


class Moments(NamedTuple):
    """Of all samples seen so far.

    Attributes:
        seen: float32 ``[]``; samples so far, of the mean device where several train.
        mean: ``[*S]``, the shape of a sample.
        variance: ``[*S]``; of the samples themselves (divided by their number); 1 before the first.
    """

    seen: Array
    mean: Array
    variance: Array


def no_moments(shape: tuple[int, ...]) -> Moments:
    """Before the first sample: mean 0 and variance 1."""
    return Moments(jnp.zeros(()), jnp.zeros(shape), jnp.ones(shape))


def updated(
    moments: Moments,
    samples: Array,
    weight: Array,
    all_mean: AllMean = identity,
) -> Moments:
    """The moments after more samples, merged as by Chan et al. (1979).

    Keeping the variance, and not a sum of squares, lets no number grow with the count; and sums are
    of distances from a sample, so a mean far from 0 costs no precision.

    Args:
        moments: so far.
        samples: ``[*L, *S]``.
        weight: bool ``[*L]``; samples without weight have no influence, even if not finite.
        all_mean: averages over the devices that train together.
    """
    chex.assert_equal_shape_prefix([samples, weight], weight.ndim)
    rows = jnp.asarray(samples, jnp.float32).reshape(-1, *moments.mean.shape)
    counted = jnp.asarray(weight).reshape(-1)
    keep = counted.reshape(-1, *[1] * moments.mean.ndim)
    first = jnp.where(jnp.any(counted), rows[jnp.argmax(counted)], moments.mean)
    near = jax.lax.stop_gradient(all_mean(first))
    count = all_mean(jnp.sum(counted.astype(jnp.float32)))
    share = jnp.maximum(count, 1e-8)
    away = jnp.where(keep, rows - near[None], 0.0)
    mean = all_mean(away.sum(0)) / share
    variance = all_mean((jnp.where(keep, away - mean[None], 0.0) ** 2).sum(0)) / share
    total = moments.seen + count
    part = count / jnp.maximum(total, 1e-8)
    delta = (near - moments.mean) + mean
    merged = variance - moments.variance + (1.0 - part) * delta**2
    return Moments(total, moments.mean + part * delta, moments.variance + part * merged)
