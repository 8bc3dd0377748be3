"""The gated recurrent unit against Flax's cell, step by step, and JAX's own gradients."""

from __future__ import annotations

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mava.functional.gru import GRUWeights, gru_step, gru_unroll
from mava.functional.loops import plain_python
from mava.types import PyTree

STEPS, ROWS, AGENTS, FEATURES, WIDTH = 6, 3, 2, 5, 4
CELL = nn.GRUCell(WIDTH)


def made() -> tuple[PyTree, jax.Array, jax.Array, jax.Array]:
    keys = jax.random.split(jax.random.key(0), 4)
    params = CELL.init(keys[0], jnp.zeros(WIDTH), jnp.zeros(FEATURES))
    params = jax.tree.map(lambda x: x + 0.1, params)  # biases are zero at first
    inputs = jax.random.normal(keys[1], (STEPS, ROWS, AGENTS, FEATURES))
    memory = jax.random.normal(keys[2], (ROWS, AGENTS, WIDTH))
    start = jnp.zeros((STEPS, ROWS), bool).at[0, 1].set(True).at[3, 0].set(True)
    return params, inputs, start, memory


def by_flax(params: PyTree, inputs: jax.Array, start: jax.Array, memory: jax.Array) -> jax.Array:
    after = []
    for t in range(STEPS):
        memory = jnp.where(start[t][:, None, None], 0.0, memory)
        memory, _ = CELL.apply(params, memory, inputs[t])
        after.append(memory)
    return jnp.stack(after)


def ours(params: PyTree, inputs: jax.Array, start: jax.Array, memory: jax.Array) -> jax.Array:
    return gru_unroll(GRUWeights.of_flax(params), inputs, start, memory)


def test_one_step_by_hand() -> None:
    one = jnp.ones((1, 1))
    weights = GRUWeights((one, 2.0 * one, one), (one[0], 0 * one[0], one[0]), (one,) * 3, one[0])
    after = gru_step(weights, jnp.asarray([[0.5]]), jnp.asarray([[2.0]]))
    reset, keep = 1 / (1 + np.exp(-3.5)), 1 / (1 + np.exp(-3.0))
    candidate = np.tanh(1.5 + reset * 3.0)
    np.testing.assert_allclose(after, [[(1 - keep) * candidate + keep * 2.0]], rtol=1e-6)


@pytest.mark.parametrize("plain", [False, True])
def test_memories_are_those_of_the_cell(plain: bool) -> None:
    arguments = made()
    expected = by_flax(*arguments)
    if plain:
        with plain_python():
            found = ours(*arguments)
    else:
        found = jax.jit(ours)(*arguments)
    np.testing.assert_allclose(found, expected, atol=1e-6)


@pytest.mark.slow
def test_gradients_are_those_of_the_cell() -> None:
    params, inputs, start, memory = made()
    weight = jax.random.normal(jax.random.key(9), (STEPS, ROWS, AGENTS, WIDTH))

    def gradients(function: object) -> PyTree:
        def loss(params: PyTree, inputs: jax.Array, memory: jax.Array) -> jax.Array:
            return jnp.sum(weight * function(params, inputs, start, memory) ** 2)  # type: ignore[operator]

        return jax.jit(jax.grad(loss, argnums=(0, 1, 2)))(params, inputs, memory)

    found, expected = gradients(ours), gradients(by_flax)
    jax.tree.map(lambda x, y: np.testing.assert_allclose(x, y, atol=2e-5), found, expected)
    assert float(jnp.abs(expected[2]).max()) > 0.01
    np.testing.assert_array_equal(np.asarray(found[2][1]), 0.0)  # forgotten at once


@pytest.mark.slow
def test_it_maps_over_sets_of_weights() -> None:
    params, inputs, start, memory = made()
    sets = jax.tree.map(lambda x: jnp.stack([x, 2.0 * x]), params)
    found = jax.vmap(ours, in_axes=(0, None, None, None))(sets, inputs, start, memory)
    for index in range(2):
        one = jax.tree.map(lambda x, i=index: x[i], sets)
        np.testing.assert_allclose(found[index], ours(one, inputs, start, memory), atol=1e-6)
