"""The losses of proximal policy optimisation, elementwise over leading axes."""

from __future__ import annotations

import chex
import jax
import jax.numpy as jnp
import optax

from mava.functional.devices import AllMean, identity
from mava.types import Array


def clipped_surrogate(log_ratio: Array, advantage: Array, clip: float) -> jax.Array:
    """What PPO ascends (Schulman et al., 2017, equation 7):
    ``min(ratio * A, clip(ratio, 1 - clip, 1 + clip) * A)``.

    Args:
        log_ratio: log-probability of the action under the new policy less that under the old.
        advantage: of the same shape.
        clip: the paper's epsilon.
    """
    chex.assert_equal_shape([log_ratio, advantage])
    ratio = jnp.exp(log_ratio)
    limited = jnp.clip(ratio, 1.0 - clip, 1.0 + clip)
    return jnp.minimum(ratio * advantage, limited * advantage)


def approximate_kl(log_ratio: Array) -> jax.Array:
    """An unbiased estimate of ``KL(old || new)`` that is never negative: ``ratio - 1 - log ratio``
    of actions drawn from the old policy (Schulman, 2020, "Approximating KL divergence")."""
    return jnp.expm1(log_ratio) - log_ratio


def clipped_value_loss(
    value: Array, old_value: Array, target: Array, clip: float | None, huber: float | None
) -> jax.Array:
    """The larger of two penalties: of the value, and of the value kept within ``clip`` of the old
    one.

    Args:
        value, old_value, target: of one shape.
        clip: how far the value may move from the old one; ``None`` for any distance.
        huber: where the penalty turns from half the squared error to linear; ``None`` for never.
    """
    chex.assert_equal_shape([value, old_value, target])

    def penalty(error: Array) -> jax.Array:
        if huber is None:
            return jnp.asarray(0.5 * error**2)
        return jnp.asarray(optax.huber_loss(error, delta=huber))

    free = penalty(value - target)
    if clip is None:
        return free
    kept = old_value + jnp.clip(value - old_value, -clip, clip)
    return jnp.maximum(free, penalty(kept - target))


def masked_standardise(x: Array, weight: Array, all_mean: AllMean = identity) -> jax.Array:
    """``x`` less its mean, divided by its standard deviation, both over all axes of the entries
    that ``weight`` marks; the others become 0, and have no influence even if they are not finite.

    A single entry has no spread: it stays as it is. Entries that differ by rounding alone become 0.
    One that is marked and not finite makes NaN of all, so that it does not go unnoticed.

    Args:
        x: any shape.
        weight: bool, of the same shape.
        all_mean: averages over the devices that train together; the entries of all of them count.
    """
    chex.assert_equal_shape([x, weight])
    kept = jnp.where(weight, x, 0.0)
    count = all_mean(jnp.sum(weight.astype(jnp.float32)))
    mean = all_mean(jnp.sum(kept)) / jnp.maximum(count, 1e-8)
    away = jnp.where(weight, kept - mean, 0.0)
    spread = jnp.sqrt(all_mean(jnp.sum(away**2)) / jnp.maximum(count, 1e-8))
    none = spread <= 1e-5 * jnp.abs(mean) + 1e-12
    # Without a spread, a count of at most one on each device stands for a single entry.
    alone = jnp.where(count <= 1.0, kept, 0.0)
    return jnp.where(none, alone, away / jnp.where(none, 1.0, spread))


def explained_variance(
    value: Array, target: Array, weight: Array, all_mean: AllMean = identity
) -> jax.Array:
    """``1 - Var(target - value) / Var(target)`` over the entries that ``weight`` (bool) marks: 1
    for a perfect critic, 0 for a constant one; 0 where the targets do not vary. ``all_mean``
    averages over the devices that train together."""
    chex.assert_equal_shape([value, target, weight])
    count = jnp.maximum(all_mean(jnp.sum(weight.astype(jnp.float32))), 1e-8)

    def variance(x: Array) -> Array:
        kept = jnp.where(weight, x, 0.0)
        away = jnp.where(weight, kept - all_mean(jnp.sum(kept)) / count, 0.0)
        return all_mean(jnp.sum(away**2)) / count  # type: ignore[no-any-return]

    total = variance(target)
    share = variance(target - value) / jnp.where(total > 0.0, total, 1.0)
    return jnp.where(total > 0.0, 1.0 - share, 0.0)
