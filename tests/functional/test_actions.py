"""Actions as vectors, against numbers by hand and a loop."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mava.functional.actions import (
    choice_sizes,
    choose,
    clip_to_bounds,
    code_size,
    encode,
    half_range,
    relaxed,
    squash,
    straight_through,
    uniform_in_bounds,
)
from mava.types import ContinuousActions, DiscreteActions, MultiDiscreteActions

BOX = ContinuousActions((3,), (-2.0, 0.0, 10.0), (-1.0, 5.0, 30.0))
MATRIX = ContinuousActions((2, 2), (-1.0, 0.0, -3.0, 5.0), (1.0, 4.0, -1.0, 5.0))
FOUR, SEVERAL = DiscreteActions(4), MultiDiscreteActions((3, 2, 5))


def test_f11_zero_is_the_middle_and_large_numbers_are_the_bounds() -> None:
    np.testing.assert_allclose(squash(jnp.zeros((2, 3)), BOX), [[-1.5, 2.5, 20.0]] * 2)
    np.testing.assert_allclose(squash(jnp.full(3, 50.0), BOX), BOX.high)
    np.testing.assert_allclose(squash(jnp.full(3, -50.0), BOX), BOX.low)
    half = np.arctanh(0.5).astype(np.float32)
    np.testing.assert_allclose(squash(jnp.full(3, half), BOX), [-1.25, 3.75, 25.0], rtol=1e-6)
    assert half_range(BOX).tolist() == [0.5, 2.5, 10.0]


def test_arrays_are_scaled_in_their_own_order() -> None:
    np.testing.assert_allclose(squash(jnp.zeros((5, 4)), MATRIX)[0], [[0.0, 2.0], [-2.0, 5.0]])
    action = np.asarray([[[0.5, 1.0], [-1.0, 5.0]]], np.float32)
    # The last bounds are equal: that dimension holds nothing to learn from.
    np.testing.assert_allclose(encode(action, MATRIX), [[0.5, -0.5, 1.0, 0.0]])


def test_encoding_undoes_squashing() -> None:
    x = np.random.default_rng(0).normal(size=(4, 2, 3)).astype(np.float32)
    np.testing.assert_allclose(encode(squash(x, BOX), BOX), np.tanh(x), atol=1e-5)


def test_uniform_actions_fill_the_bounds() -> None:
    drawn = np.asarray(uniform_in_bounds(jax.random.key(0), (2_000,), BOX))
    assert (drawn >= BOX.low).all()
    assert (drawn <= BOX.high).all()
    assert (np.ptp(drawn, axis=0) >= 0.95 * np.ptp([BOX.low, BOX.high], axis=0)).all()
    np.testing.assert_allclose(clip_to_bounds(jnp.full((1, 3), 7.0), BOX), [[-1.0, 5.0, 10.0]])


def test_choices_are_one_hot_one_after_the_other() -> None:
    assert (choice_sizes(FOUR), code_size(FOUR)) == ((4,), 4)
    assert (choice_sizes(SEVERAL), code_size(SEVERAL)) == ((3, 2, 5), 10)
    assert encode(jnp.asarray([2, 0]), FOUR).tolist() == [[0, 0, 1, 0], [1, 0, 0, 0]]
    assert encode(jnp.asarray([[1, 1, 4]]), SEVERAL).tolist() == [[0, 1, 0, 0, 1, 0, 0, 0, 0, 1]]
    soft = jnp.asarray([[0.25, 0.25, 0.5, 0.0]])
    assert encode(soft, FOUR) is soft


def test_each_choice_is_the_best_that_is_legal_and_0_without_one() -> None:
    ranks = jnp.asarray([1.0, 3.0, 2.0, 0.0, -1.0, 9.0, 1.0, 1.0, 7.0, 8.0])
    legal = jnp.asarray([1, 0, 1, 0, 0, 0, 1, 1, 1, 0], bool)
    assert choose(ranks, legal, SEVERAL).tolist() == [2, 0, 3]
    assert choose(ranks[:4], legal[:4], FOUR).tolist() == 2


@pytest.mark.slow
@pytest.mark.parametrize("temperature", [0.5, 1.0])
def test_the_gradient_of_a_choice_is_that_of_its_softmax(temperature: float) -> None:
    """``d softmax_i / d x_j = s_i (1[i = j] - s_j) / temperature``, over what is legal."""
    rng = np.random.default_rng(1)
    logits, noise, weights = rng.normal(size=(3, 10)).astype(np.float32)
    legal = np.asarray([1, 0, 1, 0, 0, 1, 1, 1, 1, 0], bool)

    def weighted(logits: jax.Array) -> jax.Array:
        return jnp.sum(weights * straight_through(logits, noise, legal, SEVERAL, temperature))

    code = np.asarray(straight_through(logits, noise, legal, SEVERAL, temperature))
    gradient = np.asarray(jax.grad(weighted)(logits))
    for start, size in ((0, 3), (3, 2), (5, 5)):
        part = slice(start, start + size)
        allowed = [i for i in range(start, start + size) if legal[i]]
        if not allowed:
            assert code[part].tolist() == [1.0, *[0.0] * (size - 1)]
            assert not gradient[part].any()
            continue
        ranks = (logits + noise)[allowed]
        assert code[part].sum() == 1.0
        assert code[allowed[int(ranks.argmax())]] == 1.0
        soft = np.exp(ranks / temperature) / np.exp(ranks / temperature).sum()
        expected = np.zeros(10)
        for i, at in enumerate(allowed):
            for j, other in enumerate(allowed):
                expected[other] += weights[at] * soft[i] * ((i == j) - soft[j]) / temperature
        np.testing.assert_allclose(gradient[part], expected[part], atol=1e-6)


def test_relaxed_choices_are_a_softmax_over_what_is_legal_and_the_no_op_without_one() -> None:
    rng = np.random.default_rng(2)
    logits, noise = rng.normal(size=(2, 10)).astype(np.float32)
    legal = np.asarray([1, 0, 1, 0, 0, 1, 1, 1, 1, 0], bool)
    found = np.asarray(relaxed(logits, noise, legal, SEVERAL, 0.5))
    for start, size in ((0, 3), (5, 5)):
        part = slice(start, start + size)
        weights = np.where(legal[part], np.exp((logits + noise)[part] / 0.5), 0.0)
        np.testing.assert_allclose(found[part], weights / weights.sum(), rtol=1e-5)
    assert found[3:5].tolist() == [1.0, 0.0]
    slope = jax.grad(lambda x: relaxed(x, noise, legal, SEVERAL, 0.5)[3])(logits)
    assert not np.any(slope)


@pytest.mark.slow
def test_slopes_of_relaxed_choices_add_up_and_slopes_at_choices_need_not() -> None:
    """Of a critic that pays option 1 more, and rises towards option 0 at either of them."""
    flags, zeros = jnp.ones(2, bool), jnp.zeros(2)

    def worth(weights: jax.Array) -> jax.Array:
        x = weights[1]
        return x + 0.5 * jnp.sin(2 * jnp.pi * x) * -1.0  # 0 and 1 at the ends, slopes of 1 - pi

    def slope(make: Any, to_1: jax.Array) -> jax.Array:
        two = DiscreteActions(2)
        return jax.grad(lambda x: worth(make(jnp.stack([0.0, x]), zeros, flags, two, 1.0)))(to_1)

    way = jnp.linspace(-12.0, 12.0, 2_401)
    along = jax.vmap(lambda x: slope(relaxed, x))(way)
    np.testing.assert_allclose(along.sum() * 0.01, 1.0, atol=1e-3)
    assert (jax.vmap(lambda x: slope(straight_through, x))(way[1_000:1_400]) < 0.0).all()
