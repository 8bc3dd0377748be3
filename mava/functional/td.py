"""Temporal-difference targets and action values.

Names follow the usual convention: ``q_tm1`` and ``a_tm1`` belong to the step that was taken,
``r_t``, ``discount_t`` and ``q_t`` to its outcome. Everything is elementwise over leading axes.
"""

from __future__ import annotations

from typing import NamedTuple

import chex
import jax
import jax.numpy as jnp

from mava.types import Array


def chosen(q: Array, action: Array) -> Array:
    """Values of the actions taken: ``[..., A]``, int ``[...]`` -> ``[...]``."""
    chex.assert_equal_shape_prefix([q, action], action.ndim)
    return jnp.take_along_axis(jnp.asarray(q), jnp.asarray(action)[..., None], axis=-1)[..., 0]


def masked_argmax(q: Array, legal: Array) -> Array:
    """The best legal action, int32 ``[...]``, of values and bool mask ``[..., A]``; 0 where none is
    legal."""
    chex.assert_equal_shape([q, legal])
    return jnp.argmax(jnp.where(legal, q, -jnp.inf), axis=-1).astype(jnp.int32)


def masked_max(q: Array, legal: Array) -> Array:
    """The value of the best legal action; where none is legal that of action 0, the no-op that is
    taken there."""
    return chosen(q, masked_argmax(q, legal))


def double_q_value(q_t_selector: Array, q_t_value: Array, legal_t: Array) -> Array:
    """Picks the action by one network and values it by another.

    ``Q'(s, argmax_a Q(s, a))`` over legal actions (van Hasselt et al., 2016, equation 4);
    ``Q'(s, 0)`` where none is legal.
    """
    chex.assert_equal_shape([q_t_selector, q_t_value, legal_t])
    return chosen(q_t_value, masked_argmax(q_t_selector, legal_t))


def td_target(r_t: Array, discount_t: Array, v_t: Array) -> Array:
    """``r + discount * v``, with no gradient. The discount is 0 after a termination, and only
    there; ``v`` has no influence then, even if it is not finite."""
    chex.assert_equal_shape([r_t, discount_t, v_t])
    return jax.lax.stop_gradient(r_t + jnp.where(discount_t == 0, 0.0, discount_t * v_t))


class NStep(NamedTuple):
    """An n-step return.

    Attributes:
        reward: discounted sum of the rewards up to the last step that counts.
        discount: what the value after that step is multiplied with; 0 if the step terminated.
        last: int32; the index of that step.
    """

    reward: Array
    discount: Array
    last: Array


def n_step_return(r_t: Array, termination_t: Array, ended_t: Array, discount: float) -> NStep:
    """The return of the first of n consecutive steps, cut where the episode ends (Sutton, 1988).

    A terminated step ends the sum with nothing to follow; a truncated one ends it too, and the
    value of its true next observation follows. Steps after either belong to another episode and
    weigh nothing.

    Args:
        r_t: ``[n, ...]``.
        termination_t: bool ``[n, ...]``; the step reached a terminal state.
        ended_t: bool ``[n, ...]``; the step was the episode's last, for either reason.
        discount: the discount of one step.

    Returns:
        Each field ``[...]``.
    """
    chex.assert_equal_shape([r_t, termination_t, ended_t])
    n = r_t.shape[0]
    over = termination_t | ended_t
    before = jnp.concatenate([jnp.zeros_like(over[:1]), over[:-1]])
    counts = ~(jnp.cumsum(before, axis=0) > 0)
    powers = discount ** jnp.arange(n, dtype=jnp.float32).reshape(n, *[1] * (r_t.ndim - 1))
    reward = jnp.sum(jnp.where(counts, powers * r_t, 0.0), axis=0)
    last = jnp.sum(counts, axis=0).astype(jnp.int32) - 1
    terminated = jnp.take_along_axis(termination_t, last[None], axis=0)[0]
    after = jnp.asarray(discount, jnp.float32) ** (last + 1).astype(jnp.float32)
    return NStep(reward, jnp.where(terminated, 0.0, after), last)


def finite_where_dead(x: Array, alive: Array) -> Array:
    """``x`` with zeros in place of numbers that are not finite, in rows of agents that are dead.

    Such a row weighs nothing in a loss, yet 0 times NaN would be NaN in the gradient.

    Args:
        x: ``[..., *O]``; integers stay as they are.
        alive: bool ``[...]``.
    """
    chex.assert_equal_shape_prefix([x, alive], alive.ndim)
    if not jnp.issubdtype(x.dtype, jnp.floating):
        return x
    keep = jnp.asarray(alive).reshape(*alive.shape, *[1] * (x.ndim - alive.ndim))
    return jnp.where(keep | jnp.isfinite(x), x, 0.0)


def zero_where_dead(x: Array, alive: Array) -> Array:
    """``x`` with zeros in the rows of agents that are dead, for a network that sees all agents.

    Args:
        x: ``[..., *O]``.
        alive: bool ``[...]``.
    """
    chex.assert_equal_shape_prefix([x, alive], alive.ndim)
    keep = jnp.asarray(alive).reshape(*alive.shape, *[1] * (x.ndim - alive.ndim))
    return jnp.where(keep, x, jnp.zeros((), x.dtype))
