"""Joins the values of a team's agents into one."""

from __future__ import annotations

import chex
import jax.numpy as jnp
from jax.nn import elu

from mava.types import Array


def monotonic_mix(values: Array, w_1: Array, b_1: Array, w_2: Array, b_2: Array) -> Array:
    """``elu(q |W_1| + b_1) |w_2| + b_2``: rises with every agent's value, since the weights are
    used without their sign (Rashid et al., 2018, section 4.2).

    Args:
        values: the agents' values, ``[..., N]``.
        w_1: ``[..., N, K]`` for K hidden units.
        b_1: ``[..., K]``.
        w_2: ``[..., K]``.
        b_2: ``[...]``.

    Returns:
        ``[...]``.
    """
    chex.assert_equal_shape_prefix([values, w_1], values.ndim)
    chex.assert_equal_shape([b_1, w_2])
    hidden = elu(jnp.einsum("...n,...nk->...k", values, jnp.abs(w_1)) + b_1)
    return jnp.sum(hidden * jnp.abs(w_2), axis=-1) + b_2
