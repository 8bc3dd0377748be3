"""Running moments against numpy in double precision."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mava.functional.moments import Moments, no_moments, updated


def test_by_hand() -> None:
    moments = updated(no_moments(()), jnp.asarray([1.0, 3.0, 9.0]), jnp.asarray([1, 1, 0], bool))
    assert (moments.seen, moments.mean, moments.variance) == (2.0, 2.0, 1.0)
    moments = updated(moments, jnp.asarray([[8.0], [2.0]]), jnp.ones((2, 1), bool))
    # 1, 3, 8, 2: mean 3.5, variance (6.25 + 0.25 + 20.25 + 2.25) / 4.
    assert (moments.seen, moments.mean, moments.variance) == (4.0, 3.5, 7.25)


@pytest.mark.parametrize(("mean", "spread"), [(0.0, 1.0), (1e4, 1.0), (-3e6, 10.0), (5.0, 1e-3)])
def test_equal_to_numpy_over_many_batches(mean: float, spread: float) -> None:
    rng = np.random.default_rng(0)
    samples = (mean + spread * rng.normal(size=(200, 16, 3, 2))).astype(np.float32)
    weight = rng.random((200, 16, 3)) < 0.5
    samples[~weight] = np.nan

    def step(moments: Moments, batch: Any) -> Any:
        return updated(moments, *batch), ()

    moments, _ = jax.lax.scan(step, no_moments((2,)), (samples, weight))
    kept = samples[weight].astype(np.float64)
    assert moments.seen == len(kept)
    np.testing.assert_allclose(moments.mean, kept.mean(0), atol=0.1 * spread)
    np.testing.assert_allclose(moments.variance, kept.var(0), rtol=0.02)


def test_millions_of_samples_leave_the_precision_of_the_first() -> None:
    batch = jnp.concatenate([jnp.full(500, 99.0), jnp.full(500, 101.0)])
    weight = jnp.ones(1_000, bool)

    def step(_: Any, moments: Moments) -> Moments:
        return updated(moments, batch, weight)

    moments = jax.jit(lambda: jax.lax.fori_loop(0, 50_000, step, no_moments(())))()
    assert moments.seen == pytest.approx(5e7, rel=1e-3)
    assert moments.mean == pytest.approx(100.0, abs=1e-3)
    assert moments.variance == pytest.approx(1.0, rel=1e-3)


def test_a_batch_without_weight_changes_nothing() -> None:
    before = Moments(jnp.asarray(3.0), jnp.asarray([2.0]), jnp.asarray([5.0]))
    after = updated(before, jnp.full((4, 1), jnp.nan), jnp.zeros(4, bool))
    assert all(np.array_equal(a, b) for a, b in zip(before, after, strict=True))
    never = updated(no_moments(()), jnp.ones(2), jnp.zeros(2, bool))
    assert (never.seen, never.mean, never.variance) == (0.0, 0.0, 1.0)


def test_devices_agree_on_the_moments_of_all() -> None:
    samples = jnp.asarray([[1.0, 2.0, 30.0], [400.0, 5.0, 6.0]])
    weight = jnp.asarray([[True, True, True], [False, True, False]])

    def on_device(x: Any, w: Any) -> Moments:
        return updated(no_moments(()), x, w, lambda tree: jax.lax.pmean(tree, "devices"))

    moments = jax.vmap(on_device, axis_name="devices")(samples, weight)
    kept = np.asarray([1.0, 2.0, 30.0, 5.0])
    np.testing.assert_allclose(moments.mean, [kept.mean()] * 2, rtol=1e-6)
    np.testing.assert_allclose(moments.variance, [kept.var()] * 2, rtol=1e-6)
    np.testing.assert_allclose(moments.seen, [2.0, 2.0])
