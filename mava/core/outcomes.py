"""What a network with memory gives for the outcome of each step."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp

from mava.functional.loops import cond, vmap
from mava.types import Array, PyTree

_PART = 8
"""Up to one in so many of the steps are computed by themselves; if more must be, all are."""


def outcomes(
    step: Callable[[PyTree, PyTree], PyTree],
    outputs: PyTree,
    memory: PyTree,
    following: PyTree,
    is_next: Array,
) -> PyTree:
    """The outputs for the outcome of every step.

    Within an episode it is the output of the step after it. What is left to compute are the last
    steps of the sequences, and those after which an episode was cut.

    Args:
        step: input, memory -> output, of one step of one sequence.
        outputs: ``[B, T, ...]``, of the steps.
        memory: ``[B, T, ...]``, after the steps.
        following: ``[B, T, ...]``, inputs that show the outcomes.
        is_next: bool ``[B, T - 1]``; where the output of the next step serves.

    Returns:
        ``[B, T, ...]``.
    """
    each = vmap(step)
    size, steps = is_next.shape[0], is_next.shape[1] + 1
    last = each(*jax.tree.map(lambda x: x[:, -1], (following, memory)))
    shifted = jax.tree.map(
        lambda x, y: jnp.concatenate([x[:, 1:], y[:, None]], axis=1), outputs, last
    )
    if steps == 1:
        return shifted
    few = max(1, size * steps // _PART)
    cut = jnp.concatenate([~is_next, jnp.zeros((size, 1), bool)], axis=1).reshape(-1)

    def some(shifted: PyTree) -> PyTree:
        # Places that are left over repeat the first step, whose own outcome is as right there.
        chosen = jnp.nonzero(cut, size=few, fill_value=0)[0]
        found = each(*jax.tree.map(lambda x: _rows(x)[chosen], (following, memory)))
        return jax.tree.map(
            lambda x, y: jnp.asarray(_rows(x)).at[chosen].set(y).reshape(x.shape), shifted, found
        )

    def all_(shifted: PyTree) -> PyTree:
        return vmap(each)(following, memory)

    def several(shifted: PyTree) -> PyTree:
        return cond(jnp.sum(cut) <= few, some, all_, shifted)

    return cond(jnp.any(cut), several, lambda shifted: shifted, shifted)


def _rows(x: Array) -> Array:
    return x.reshape(-1, *x.shape[2:])
