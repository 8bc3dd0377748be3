"""Generalised advantage estimation."""

from __future__ import annotations

import chex
import jax
import jax.numpy as jnp

from mava.functional.loops import scan
from mava.types import Array


def generalised_advantage(
    r_t: Array,
    v_tm1: Array,
    v_t: Array,
    termination_t: Array,
    ended_t: Array,
    discount: float,
    trace: float,
) -> jax.Array:
    """The advantage of each of T consecutive steps (Schulman et al., 2016, equation 16), with no
    gradient.

    ``delta = r + discount * V(o') - V(o)`` and ``A_t = delta_t + discount * trace * A_{t+1}``.
    After a termination nothing follows: ``V(o')`` has no influence, even if it is not finite. A
    step that ended otherwise is followed by the value of its true last observation. Either cuts the
    sum, since the step after it belongs to another episode.

    Args:
        r_t: ``[T, ...]``.
        v_tm1: ``[T, ...]``; values of what each step was taken on.
        v_t: ``[T, ...]``; values of the true outcome of each step.
        termination_t: bool ``[T, ...]``; the step reached a terminal state.
        ended_t: bool ``[T, ...]``; the step was the last of its episode, for either reason.
        discount: of one step.
        trace: the paper's lambda: 0 gives one-step advantages, 1 the returns less the values.

    Returns:
        ``[T, ...]``. ``advantage + v_tm1`` are the returns that a critic is trained on.
    """
    chex.assert_equal_shape([r_t, v_tm1, v_t, termination_t, ended_t])
    follows = jnp.where(termination_t, 0.0, discount * v_t)
    delta = r_t + follows - v_tm1
    decay = jnp.where(termination_t | ended_t, 0.0, discount * trace)

    def back(later: jax.Array, step: tuple[Array, Array]) -> tuple[jax.Array, jax.Array]:
        delta, decay = step
        advantage = jnp.asarray(delta) + jnp.where(decay == 0.0, 0.0, decay * later)
        return advantage, advantage

    reversed_steps = (jnp.flip(delta, 0), jnp.flip(decay, 0))
    _, advantages = scan(back, jnp.zeros_like(delta[0]), reversed_steps)
    return jax.lax.stop_gradient(jnp.flip(advantages, 0))
