"""Distributions against SciPy, numbers by hand, and their own samples."""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import integrate, stats

from mava.functional.distributions import (
    Categorical,
    Gaussian,
    MultiCategorical,
    TanhNormal,
    distribution_of,
)
from mava.types import ContinuousActions, DiscreteActions, MultiDiscreteActions

BOX = ContinuousActions((2,), (-2.0, 0.0), (-1.0, 5.0))
OPEN = ContinuousActions((2,), (-math.inf, 0.0), (math.inf, math.inf))
MEAN, LOG_STD = jnp.asarray([0.3, -0.7]), jnp.asarray([-0.5, 0.2])


def masked(*legal: bool) -> Categorical:
    return Categorical(jnp.log(jnp.asarray([0.1, 0.2, 0.3, 0.4])), jnp.asarray(legal))


def test_probabilities_are_shared_out_among_legal_actions() -> None:
    """0.2 and 0.4 become 1/3 and 2/3."""
    policy = masked(False, True, False, True)
    probability = np.exp([policy.log_prob(jnp.asarray(a)) for a in range(4)])
    np.testing.assert_allclose(probability, [0, 1 / 3, 0, 2 / 3], rtol=1e-6)
    assert probability[0] == probability[2] == 0.0
    np.testing.assert_allclose(policy.entropy(), stats.entropy([1 / 3, 2 / 3]), rtol=1e-6)
    assert int(policy.mode()) == 3


def test_f07_illegal_actions_are_never_drawn_however_likely_they_were() -> None:
    logits = jnp.asarray([1e6, 0.0, -1e6])
    policy = Categorical(
        jnp.broadcast_to(logits, (5_000, 3)), jnp.asarray([[False, True, True]] * 5_000)
    )
    drawn = policy.sample(jax.random.key(0))
    assert drawn.dtype == jnp.int32
    assert not (drawn == 0).any()
    assert int(Categorical(logits, jnp.asarray([False, True, True])).mode()) == 1


def test_f08_nothing_legal_is_action_0_for_certain() -> None:
    nothing = jnp.zeros(4, bool)

    def both(logits: Any) -> Any:
        policy = Categorical(logits, nothing)
        return policy.log_prob(policy.sample(jax.random.key(0))) + policy.entropy()

    value, slope = jax.value_and_grad(both)(jnp.arange(4.0))
    assert value == 0.0
    np.testing.assert_array_equal(slope, 0.0)
    assert int(Categorical(jnp.arange(4.0), nothing).sample(jax.random.key(1))) == 0
    assert int(Categorical(jnp.arange(4.0), nothing).mode()) == 0


def test_choices_are_drawn_as_often_as_they_should() -> None:
    policy = Categorical(
        jnp.broadcast_to(jnp.log(jnp.asarray([0.1, 0.6, 0.3])), (20_000, 3)),
        jnp.ones((20_000, 3), bool),
    )
    drawn = np.asarray(policy.sample(jax.random.key(0)))
    np.testing.assert_allclose(np.bincount(drawn) / 20_000, [0.1, 0.6, 0.3], atol=0.015)


def test_kl_of_choices() -> None:
    p, q, legal = [0.25, 0.75, 0.0], [0.5, 0.5, 0.0], jnp.asarray([True, True, False])
    first = Categorical(jnp.log(jnp.asarray([0.25, 0.75, 9.0])), legal)
    second = Categorical(jnp.log(jnp.asarray([0.5, 0.5, 7.0])), legal)
    np.testing.assert_allclose(first.kl(second), stats.entropy(p[:2], q[:2]), rtol=1e-5)
    assert first.kl(first) == 0.0


@pytest.mark.slow
def test_several_choices_are_a_product() -> None:
    sizes = (3, 2, 5)
    logits = jax.random.normal(jax.random.key(0), (4, 10))
    legal = jnp.ones((4, 10), bool).at[:, 1].set(False).at[:, 3:5].set(False)
    policy = MultiCategorical(logits, legal, sizes)
    parts = [Categorical(logits[:, a:b], legal[:, a:b]) for a, b in ((0, 3), (3, 5), (5, 10))]
    raw = policy.sample(jax.random.key(1))
    assert raw.shape == (4, 3)
    assert raw.dtype == jnp.int32
    assert not (raw[:, 0] == 1).any()
    assert (raw[:, 1] == 0).all()
    log_prob = sum(part.log_prob(raw[:, i]) for i, part in enumerate(parts))
    np.testing.assert_allclose(policy.log_prob(raw), log_prob, rtol=1e-6)
    np.testing.assert_allclose(policy.entropy(), sum(p.entropy() for p in parts), rtol=1e-6)
    np.testing.assert_array_equal(policy.mode(), np.stack([p.mode() for p in parts], -1))
    other = MultiCategorical(2.0 * logits, legal, sizes)
    assert (policy.kl(other) > 0.0).all()
    np.testing.assert_allclose(policy.kl(policy), 0.0, atol=1e-6)


def test_f10_samples_of_several_choices_cover_their_ranges() -> None:
    actions = MultiDiscreteActions((3, 2, 5))
    policy = distribution_of(actions, jnp.zeros((500, 10)), jnp.ones((500, 10), bool), "gaussian")
    drawn = np.asarray(policy.sample(jax.random.key(0)))
    assert [sorted(set(drawn[:, i].tolist())) for i in range(3)] == [
        [0, 1, 2],
        [0, 1],
        [0, 1, 2, 3, 4],
    ]


def test_a_gaussian_has_the_density_of_the_action() -> None:
    """In the environment's units: half widths 0.5 and 2.5."""
    policy = Gaussian(MEAN, LOG_STD, BOX)
    raw = jnp.asarray([0.5, -0.2])
    half, middle = np.asarray([0.5, 2.5]), np.asarray([-1.5, 2.5])
    expected = stats.norm(middle + half * MEAN, half * np.exp(LOG_STD))
    log_prob = expected.logpdf(middle + half * np.asarray(raw)).sum()
    np.testing.assert_allclose(policy.log_prob(raw), log_prob, rtol=1e-5)
    np.testing.assert_allclose(policy.entropy(), expected.entropy().sum(), rtol=1e-5)
    np.testing.assert_allclose(policy.to_action(raw), [-1.25, 2.0], rtol=1e-6)
    np.testing.assert_allclose(policy.to_action(jnp.asarray([9.0, -9.0])), [-1.0, 0.0])
    np.testing.assert_allclose(policy.to_action(policy.mode()), middle + half * MEAN, rtol=1e-6)


def test_a_gaussian_without_bounds_keeps_the_units_it_is_given() -> None:
    policy = Gaussian(MEAN, LOG_STD, OPEN)
    np.testing.assert_allclose(policy.to_action(jnp.asarray([70.0, -3.0])), [70.0, 0.0])
    raw = policy.sample(jax.random.key(0))
    expected = stats.norm(MEAN, np.exp(LOG_STD)).logpdf(np.asarray(raw)).sum()
    np.testing.assert_allclose(policy.log_prob(raw), expected, rtol=1e-5)


def test_kl_of_gaussians() -> None:
    """By numerical integration; squashing leaves it as it is."""
    p, q = stats.norm(0.3, math.exp(-0.5)), stats.norm(-0.1, math.exp(0.1))
    expected, _ = integrate.quad(lambda x: p.pdf(x) * (p.logpdf(x) - q.logpdf(x)), -8, 8)
    one = ContinuousActions((1,), (-3.0,), (1.0,))
    for kind in (Gaussian, TanhNormal):
        first = kind(jnp.asarray([0.3]), jnp.asarray([-0.5]), one)
        second = kind(jnp.asarray([-0.1]), jnp.asarray([0.1]), one)
        np.testing.assert_allclose(first.kl(second), expected, rtol=1e-5)


def test_the_density_of_a_tanh_normal_integrates_to_one_over_its_bounds() -> None:
    one = ContinuousActions((1,), (-2.0,), (5.0,))
    policy = TanhNormal(jnp.asarray([0.4]), jnp.asarray([-0.6]), one)

    actions = np.linspace(-2.0, 5.0, 20_001)[1:-1].astype(np.float32)
    wide = TanhNormal(jnp.full((actions.size, 1), 0.4), jnp.full((actions.size, 1), -0.6), one)
    density = np.exp(wide.log_prob(wide.to_raw(jnp.asarray(actions)[:, None])))
    assert integrate.trapezoid(density, actions) == pytest.approx(1.0, abs=1e-3)
    entropy = integrate.trapezoid(-density * np.log(density), actions)
    assert float(policy.entropy()) == pytest.approx(entropy, abs=2e-3)


def test_a_tanh_normal_stays_finite_at_its_bounds() -> None:
    policy = TanhNormal(MEAN, LOG_STD, BOX)
    for raw in (jnp.asarray([40.0, -40.0]), jnp.asarray([-300.0, 300.0])):
        action = np.asarray(policy.to_action(raw))
        assert (action >= BOX.low).all()
        assert (action <= BOX.high).all()
        assert np.isfinite(policy.log_prob(raw))
        assert np.isfinite(jax.grad(policy.log_prob)(raw)).all()
    assert np.isfinite(policy.to_raw(jnp.asarray([-2.0, 5.0]))).all()
    np.testing.assert_allclose(policy.to_raw(policy.to_action(MEAN)), MEAN, rtol=1e-4)


def test_samples_of_a_tanh_normal_are_where_their_density_says() -> None:
    rows = 20_000
    policy = TanhNormal(
        jnp.broadcast_to(MEAN, (rows, 2)), jnp.broadcast_to(LOG_STD, (rows, 2)), BOX
    )
    raw = policy.sample(jax.random.key(0))
    assert float(-policy.log_prob(raw).mean()) == pytest.approx(
        float(policy.entropy()[0]), abs=0.03
    )


@pytest.mark.parametrize("kind", [Gaussian, TanhNormal])
def test_actions_of_any_shape(kind: Any) -> None:
    actions = ContinuousActions((2, 3), (-1.0,) * 6, (1.0,) * 6)
    policy = kind(jnp.zeros((4, 6)), jnp.zeros((4, 6)), actions)
    raw = policy.sample(jax.random.key(0))
    assert policy.mode().shape == raw.shape == policy.to_action(raw).shape == (4, 2, 3)
    assert policy.log_prob(raw).shape == policy.entropy().shape == (4,)


def test_bounds_that_are_equal_leave_nothing_to_choose() -> None:
    actions = ContinuousActions((1,), (2.0,), (2.0,))
    policy = TanhNormal(jnp.asarray([0.3]), jnp.asarray([0.0]), actions)
    raw = policy.sample(jax.random.key(0))
    assert policy.to_action(raw) == 2.0
    assert np.isfinite([policy.log_prob(raw), policy.entropy()]).all()


def test_the_distribution_belongs_to_the_specification() -> None:
    legal = jnp.ones((4,), bool)
    assert isinstance(distribution_of(DiscreteActions(4), legal * 1.0, legal, ""), Categorical)
    scores = jnp.concatenate([MEAN, LOG_STD])
    policy = distribution_of(BOX, scores, jnp.ones((0,), bool), "tanh_normal")
    assert type(policy) is TanhNormal
    np.testing.assert_array_equal(policy.log_std, LOG_STD)
    assert type(distribution_of(BOX, scores, legal, "gaussian")) is Gaussian
