"""How much each temporal-difference error weighs in a loss. Elementwise over any axes."""

from __future__ import annotations

import jax.numpy as jnp
import optax

from mava.types import Array


def penalty(delta: Array, huber: float | None) -> Array:
    """Half the square of ``delta``; from ``|delta| = huber`` on linear (Huber, 1964)."""
    if huber is None:
        return 0.5 * delta**2
    return jnp.asarray(optax.huber_loss(delta, delta=huber))


def optimistic_weight(delta: Array, weight: float) -> Array:
    """1 where the value lies below its target, else ``weight``.

    The ratio of the two learning rates of hysteretic learners (Matignon et al., 2007, equation 4),
    and the weighting of OW-QMIX (Rashid et al., 2020, equation 7).
    """
    return jnp.where(delta > 0, 1.0, jnp.asarray(weight, jnp.float32))
