"""The losses of PPO by hand."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mava.functional.ppo import (
    approximate_kl,
    clipped_surrogate,
    clipped_value_loss,
    explained_variance,
    masked_standardise,
)


@pytest.mark.parametrize(
    ("ratio", "advantage", "expected", "slope"),
    [
        (1.0, 2.0, 2.0, 2.0),
        (1.5, 2.0, 2.4, 0.0),
        (0.5, 2.0, 1.0, 1.0),
        (1.5, -2.0, -3.0, -3.0),
        (0.5, -2.0, -1.6, 0.0),
    ],
)
def test_the_surrogate_is_clipped_on_the_side_that_gains(
    ratio: float, advantage: float, expected: float, slope: float
) -> None:
    """The slope is by the log-ratio: ``ratio * advantage``, or 0 where clipped."""
    found = jax.value_and_grad(clipped_surrogate)(jnp.log(ratio), jnp.asarray(advantage), 0.2)
    np.testing.assert_allclose(found, (expected, slope), rtol=1e-6, atol=1e-6)


def test_the_kl_estimate_is_that_of_the_distributions_on_average() -> None:
    old, new = np.asarray([0.2, 0.8]), np.asarray([0.5, 0.5])
    estimate = np.asarray(approximate_kl(jnp.log(new / old)))
    assert (estimate >= 0).all()
    assert (old * estimate).sum() == pytest.approx((old * np.log(old / new)).sum(), rel=1e-5)
    assert approximate_kl(jnp.zeros(())) == 0.0


def test_the_value_loss_is_the_larger_of_two() -> None:
    """Old value 1, target 3, clip 0.5: value 2 is kept at 1.5, which is further away."""
    arguments = [jnp.asarray(x) for x in (2.0, 1.0, 3.0)]
    assert clipped_value_loss(*arguments, None, None) == 0.5
    assert clipped_value_loss(*arguments, 0.5, None) == pytest.approx(0.5 * 1.5**2)
    assert clipped_value_loss(*arguments, 0.5, 1.0) == pytest.approx(1.5 - 0.5)
    assert clipped_value_loss(*arguments, 5.0, None) == 0.5


def test_f19_the_dead_have_no_part_in_standardising() -> None:
    x = jnp.asarray([1.0, 2.0, 3.0, 1000.0, jnp.nan])
    alive = jnp.asarray([True, True, True, False, False])
    np.testing.assert_allclose(
        masked_standardise(x, alive), [-1.2247449, 0.0, 1.2247449, 0.0, 0.0], rtol=1e-5
    )


def test_f19_one_sequence_does_not_standardise_to_zeros() -> None:
    x = jnp.asarray([[[1.0], [2.0], [3.0]]])  # B = 1, T = 3, N = 1
    found = masked_standardise(x, jnp.ones(x.shape, bool))
    np.testing.assert_allclose(found[0, :, 0], [-1.2247449, 0.0, 1.2247449], rtol=1e-5)
    alone = masked_standardise(jnp.asarray([5.0]), jnp.asarray([True]))
    assert alone == 5.0


def test_rounding_is_not_blown_up_to_a_spread() -> None:
    x = jnp.asarray([1.0, 1.0 + 1e-7, 1.0 - 1e-7])
    np.testing.assert_array_equal(masked_standardise(x, jnp.ones(3, bool)), 0.0)
    nobody = masked_standardise(x, jnp.zeros(3, bool))
    np.testing.assert_array_equal(nobody, 0.0)


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_standardising_knows_no_units(scale: float) -> None:
    x = jax.random.normal(jax.random.key(0), (50,))
    found = masked_standardise(scale * x + 3.0 * scale, jnp.ones(50, bool))
    np.testing.assert_allclose(found, (x - x.mean()) / x.std(), rtol=2e-3, atol=1e-4)


def test_explained_variance() -> None:
    target = jnp.asarray([1.0, 2.0, 3.0, 99.0])
    alive = jnp.asarray([True, True, True, False])
    assert explained_variance(target, target, alive) == 1.0
    assert explained_variance(jnp.full(4, 2.0), target, alive) == pytest.approx(0.0)
    assert explained_variance(target, jnp.ones(4), alive) == 0.0
