"""Means over what several devices hold."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mava.functional.devices import masked_mean
from mava.functional.ppo import explained_variance, masked_standardise


def test_masked_mean_counts_weights() -> None:
    x = jnp.asarray([1.0, 2.0, 30.0])
    assert masked_mean(x, jnp.asarray([True, True, False])) == 1.5
    assert masked_mean(x, jnp.asarray([1.0, 3.0, 0.0])) == pytest.approx(7 / 4)
    assert masked_mean(x, jnp.zeros(3)) == 0.0


@pytest.mark.parametrize("garbage", [1e6, np.nan, np.inf])
def test_masked_mean_does_not_see_what_weighs_nothing(garbage: float) -> None:
    weight = jnp.asarray([1.0, 1.0, 0.0])
    mean = jax.value_and_grad(lambda x: masked_mean(x**2, weight))
    value, gradient = mean(jnp.asarray([1.0, 2.0, garbage]))
    assert value == 2.5
    np.testing.assert_array_equal(gradient[:2], [1.0, 2.0])


def test_shapes_are_never_broadcast_silently() -> None:
    with pytest.raises(AssertionError):
        masked_mean(jnp.ones(2), jnp.ones((2, 1)))


def all_mean(tree: Any) -> Any:
    return jax.lax.pmean(tree, "devices")


X = jnp.asarray([[1.0, 2.0, 7.0], [-4.0, jnp.nan, 1e6]])
ALIVE = jnp.asarray([[True, True, True], [True, False, False]])
"""One row a device, of which one has three living agents and the other one."""


def test_the_dead_of_one_device_do_not_make_the_living_count_more() -> None:
    def mean(x: Any, alive: Any, scale: Any) -> Any:
        return masked_mean(scale * jnp.nan_to_num(x), alive, all_mean)

    found, gradient = jax.vmap(
        jax.value_and_grad(mean, argnums=2), in_axes=(0, 0, None), axis_name="devices"
    )(X, ALIVE, jnp.asarray(3.0))
    np.testing.assert_allclose(found.mean(), 3.0 * (1 + 2 + 7 - 4) / 4)
    np.testing.assert_allclose(gradient.mean(), (1 + 2 + 7 - 4) / 4)


def test_devices_standardise_by_what_all_of_them_hold() -> None:
    found = jax.vmap(lambda x, w: masked_standardise(x, w, all_mean), axis_name="devices")(X, ALIVE)
    kept = np.asarray([1.0, 2.0, 7.0, -4.0])
    np.testing.assert_allclose(
        found.reshape(-1)[:4], (kept - kept.mean()) / kept.std(), rtol=1e-6, atol=1e-7
    )
    np.testing.assert_array_equal(found[1, 1:], 0.0)


def test_one_entry_of_all_devices_stays_as_it_is() -> None:
    alone = jnp.zeros((3, 2), bool).at[1, 0].set(True)
    x = jnp.full((3, 2), 5.0)
    found = jax.vmap(lambda x, w: masked_standardise(x, w, all_mean), axis_name="devices")(x, alone)
    np.testing.assert_array_equal(found, jnp.where(alone, 5.0, 0.0))


def test_devices_explain_the_variance_of_all_targets() -> None:
    value = jnp.asarray([[1.0, 1.0, 6.0], [-3.0, 0.0, 0.0]])
    found = jax.vmap(lambda v, x, w: explained_variance(v, x, w, all_mean), axis_name="devices")(
        value, X, ALIVE
    )
    target, error = np.asarray([1.0, 2.0, 7.0, -4.0]), np.asarray([0.0, 1.0, 1.0, -1.0])
    np.testing.assert_allclose(found, 1.0 - error.var() / target.var(), rtol=1e-6)
