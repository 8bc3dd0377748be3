"""Outputs for outcomes: those of the next step where they serve, computed anew where not."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mava.core.outcomes import outcomes
from mava.functional.loops import plain_python
from mava.types import Array, PyTree

SIZE, STEPS = 3, 8


def step(x: Array, memory: PyTree) -> Array:
    return 10.0 * x + memory["h"]


def case(cuts: list[tuple[int, int]]) -> tuple[dict[str, Array], Array, Array, Array]:
    """Memory after each step, observations, outcomes, and where the next step serves."""
    memory = {"h": jnp.arange(SIZE * STEPS, dtype=jnp.float32).reshape(SIZE, STEPS)}
    shown = jax.random.normal(jax.random.key(0), (SIZE, STEPS + 1))
    following, is_next = shown[:, 1:], np.ones((SIZE, STEPS - 1), bool)
    for row, t in cuts:
        following = following.at[row, t].set(100.0 + row + t)
        is_next[row, t] = False
    return memory, shown[:, :-1], following, jnp.asarray(is_next)


@pytest.mark.parametrize("plain", [False, True])
@pytest.mark.parametrize(
    "cuts",
    [[], [(0, 0)], [(1, 3), (2, 6)], [(0, 1), (0, 2), (0, 3), (1, 0), (1, 5), (2, 4)]],
    ids=len,
)
def test_every_outcome_is_as_if_computed(cuts: list[tuple[int, int]], plain: bool) -> None:
    memory, shown, following, is_next = case(cuts)
    # The output of a step comes from the memory before it; no episode starts but after a cut.
    before = {"h": jnp.concatenate([jnp.zeros((SIZE, 1)), memory["h"][:, :-1]], axis=1)}
    outputs = jax.vmap(jax.vmap(step))(shown, before)
    expected = jax.vmap(jax.vmap(step))(following, memory)
    if plain:
        with plain_python():
            found = outcomes(step, outputs, memory, following, is_next)
    else:
        found = jax.jit(lambda *args: outcomes(step, *args))(outputs, memory, following, is_next)
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_what_serves_is_not_computed() -> None:
    memory, _, following, is_next = case([])
    marks = jnp.full((SIZE, STEPS), 7.0)
    found = outcomes(step, marks, memory, following, is_next)
    np.testing.assert_array_equal(np.asarray(found[:, :-1]), 7.0)
    np.testing.assert_allclose(found[:, -1], 10.0 * following[:, -1] + memory["h"][:, -1])


def test_one_step_has_no_next() -> None:
    memory, _, following, _ = case([])
    first = jax.tree.map(lambda x: x[:, :1], (memory, following))
    found = outcomes(step, following[:, :1], *first, jnp.zeros((SIZE, 0), bool))
    np.testing.assert_allclose(found, 10.0 * first[1] + first[0]["h"])
