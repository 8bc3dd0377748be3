"""Noise on continuous actions, and sampled choices."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mava.components.exploration.action_noise import GaussianNoise, OrnsteinUhlenbeckNoise
from mava.components.exploration.gumbel_sampling import GumbelSampling
from mava.core.lifecycle import SelectAction
from mava.errors import ConfigurationError, WiringError
from mava.functional.schedules import Linear
from mava.testing.builders import act_context, group_spec
from mava.types import ContinuousActions, MultiDiscreteActions

BOX = ContinuousActions((3,), (-2.0, 0.0, 10.0), (-1.0, 5.0, 30.0))
GROUP = group_spec(2, (3,), BOX)
HALF, MIDDLE = np.asarray([0.5, 2.5, 10.0]), np.asarray([-1.5, 2.5, 20.0])
NO_MASK = jnp.ones((2, 0), bool)


def actions(component: SelectAction, count: int, clock: int = 0) -> np.ndarray:
    """``[count, N, 3]``: actions at scores of 0, each with a key and an episode of its own."""

    def one(key: jax.Array) -> Any:
        context = act_context(GROUP, clock=clock, key=key)
        memory = component.init_memory(GROUP)
        return component.select_action(jnp.zeros((2, 3)), NO_MASK, memory, context)[0].action

    return np.asarray(jax.vmap(one)(jax.random.split(jax.random.key(0), count)))


@pytest.mark.parametrize("component", [GaussianNoise, OrnsteinUhlenbeckNoise])
def test_f11_two_thousand_exploratory_actions_span_the_bounds(component: Any) -> None:
    """At first uniform; then wide noise, which is clipped."""
    for chosen in (component(random_steps=10), component(scale=5.0)):
        found = actions(chosen, 1_000).reshape(2_000, 3)
        assert (found >= BOX.low).all()
        assert (found <= BOX.high).all()
        assert (np.ptp(found, axis=0) >= 0.95 * 2 * HALF).all()
    early = actions(component(random_steps=10), 1_000).reshape(2_000, 3)
    np.testing.assert_allclose(early.std(axis=0), 2 * HALF / 12**0.5, rtol=0.05)


def test_gaussian_noise_is_relative_to_half_the_range() -> None:
    found = actions(GaussianNoise(scale=0.1), 4_000).reshape(8_000, 3)
    np.testing.assert_allclose(found.std(axis=0), 0.1 * HALF, rtol=0.05)
    np.testing.assert_allclose(found.mean(axis=0), [-1.5, 2.5, 20.0], rtol=0.01)


def test_the_scale_follows_the_exact_step_and_random_steps_end() -> None:
    schedule = GaussianNoise(scale=Linear(0.2, 0.0, 100), random_steps=10)
    spreads = [actions(schedule, 2_000, clock)[:, 0, 2].std() for clock in (9, 10, 50, 100)]
    np.testing.assert_allclose(spreads, [20 / 12**0.5, 1.8, 1.0, 0.0], rtol=0.06, atol=1e-5)


def test_greedy_actions_have_no_noise_and_leave_the_memory() -> None:
    for component in (GaussianNoise(), OrnsteinUhlenbeckNoise()):
        memory = jax.tree.map(lambda x: x + 0.3, component.init_memory(GROUP))
        selection, after = component.select_action(
            jnp.zeros((2, 3)), NO_MASK, memory, act_context(GROUP, explore=False)
        )
        np.testing.assert_allclose(selection.action, [[-1.5, 2.5, 20.0]] * 2)
        assert jax.tree.all(jax.tree.map(np.array_equal, memory, after))


def test_ornstein_uhlenbeck_noise_keeps_its_recurrence_and_its_moments() -> None:
    noise = OrnsteinUhlenbeckNoise(theta=0.25, sigma=0.3, dt=0.5, scale=0.1)
    group = group_spec(400, (3,), BOX)

    def step(memory: Any, key: jax.Array) -> Any:
        context = act_context(group, key=key)
        zeros, mask = jnp.zeros((400, 3)), jnp.ones((400, 0), bool)
        selection, after = noise.select_action(zeros, mask, memory, context)
        return after, (selection.action, after)

    keys = jax.random.split(jax.random.key(1), 120)
    _, (taken, memory) = jax.lax.scan(step, noise.init_memory(group), keys)
    x = np.asarray(memory).reshape(120, -1)
    np.testing.assert_allclose(
        np.asarray(taken), MIDDLE + 0.1 * HALF * np.asarray(memory), rtol=1e-5
    )
    added = (x[1:] - x[:-1] * (1 - 0.25 * 0.5)) / (0.3 * 0.5**0.5)
    assert abs(added.mean()) < 0.01
    assert abs(added.std() - 1.0) < 0.01
    assert abs(np.corrcoef(added[:-1].ravel(), added[1:].ravel())[0, 1]) < 0.01
    lasting = 0.3 * np.sqrt(0.5 / (1 - (1 - 0.125) ** 2))
    np.testing.assert_allclose(x[80:].std(), lasting, rtol=0.03)
    np.testing.assert_allclose(
        np.corrcoef(x[80:-1].ravel(), x[81:].ravel())[0, 1], 0.875, atol=0.01
    )


def test_choices_are_sampled_by_their_logits_over_what_is_legal() -> None:
    group = group_spec(1, (3,), 4)
    logits, legal = jnp.log(jnp.asarray([[0.1, 0.6, 0.3, 5.0]])), jnp.asarray([[1, 1, 1, 0]], bool)
    keys = jax.random.split(jax.random.key(0), 4_000)

    def shares(component: SelectAction, clock: int = 20) -> np.ndarray:
        def one(key: jax.Array) -> Any:
            context = act_context(group, clock=clock, key=key)
            return component.select_action(logits, legal, (), context)[0].action

        return np.bincount(np.asarray(jax.vmap(one)(keys)).ravel(), minlength=4) / 4_000

    for component in (GumbelSampling(random_steps=10), GaussianNoise(random_steps=10)):
        np.testing.assert_allclose(shares(component), [0.1, 0.6, 0.3, 0.0], atol=0.025)
        np.testing.assert_allclose(shares(component, 9), [1 / 3, 1 / 3, 1 / 3, 0], atol=0.025)
        greedy, _ = component.select_action(logits, legal, (), act_context(group, explore=False))
        assert greedy.action.tolist() == [1]


def test_f10_several_choices_at_once_are_each_in_their_bounds() -> None:
    group = group_spec(2, (3,), MultiDiscreteActions((3, 2, 5)))

    def one(key: jax.Array) -> Any:
        legal = jnp.ones((2, 10), bool).at[0, 1].set(False)
        context = act_context(group, key=key)
        return GumbelSampling().select_action(jnp.zeros((2, 10)), legal, (), context)[0].action

    found = np.asarray(jax.vmap(one)(jax.random.split(jax.random.key(0), 200)))
    assert found.dtype == np.int32
    assert [set(found[:, 1, i]) for i in range(3)] == [set(range(n)) for n in (3, 2, 5)]
    assert set(found[:, 0, 0]) == {0, 2}


def test_what_could_not_work_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="scale has -1"):
        GaussianNoise(scale=-1.0)
    with pytest.raises(ConfigurationError, match="random_steps is -1"):
        GumbelSampling(random_steps=-1)
    with pytest.raises(ConfigurationError, match=r"theta \* dt has 2.0"):
        OrnsteinUhlenbeckNoise(theta=2.0)
    with pytest.raises(WiringError, match=r"gumbel_sampling samples choices.*GaussianNoise"):
        GumbelSampling().select_action(jnp.zeros((2, 3)), NO_MASK, (), act_context(GROUP))
