"""Epsilon-greedy: its frequencies, its clock, and masks."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mava.components.exploration.epsilon_greedy import EpsilonGreedy
from mava.errors import ConfigurationError
from mava.functional.schedules import Linear
from mava.testing.builders import act_context, group_spec

GROUP = group_spec(2, actions=4)
SCORES = jnp.asarray([[0.0, 3.0, 1.0, 2.0], [5.0, 1.0, 1.0, 1.0]])
ALL = jnp.ones((2, 4), bool)


def draw(
    component: EpsilonGreedy,
    count: int,
    scores: Any = SCORES,
    legal: Any = ALL,
    clock: int = 0,
    group: Any = GROUP,
) -> np.ndarray:
    """Actions ``[count, N]`` under as many keys."""

    def one(key: jax.Array) -> Any:
        context = act_context(group, clock, key)
        return component.select_action(scores, legal, (), context)[0].action

    return np.asarray(jax.jit(jax.vmap(one))(jax.random.split(jax.random.key(7), count)))


def test_frequencies() -> None:
    actions = draw(EpsilonGreedy(epsilon=0.4), 20_000)
    for agent, best in enumerate((1, 0)):
        found = np.bincount(actions[:, agent], minlength=4) / len(actions)
        expected = np.full(4, 0.1)
        expected[best] += 0.6
        # Five standard deviations of the most uncertain share.
        np.testing.assert_allclose(found, expected, atol=0.018)


def test_agents_draw_for_themselves() -> None:
    explored = draw(EpsilonGreedy(epsilon=0.5), 20_000) != [1, 0]
    share = 0.5 * 0.75
    both = (explored[:, 0] & explored[:, 1]).mean()
    assert both == pytest.approx(share**2, abs=0.015)


@pytest.mark.parametrize(("clock", "epsilon"), [(0, 1.0), (250, 0.75), (999, 0.001), (5000, 0.0)])
def test_epsilon_follows_the_clock(clock: int, epsilon: float) -> None:
    """With the greedy action masked out of the random ones, exploring shows in every draw."""
    scores = jnp.asarray([[0.0, 1.0]] * 2)
    component = EpsilonGreedy(epsilon=Linear(1.0, 0.0, 1000))
    actions = draw(component, 20_000, scores, jnp.ones((2, 2), bool), clock)
    assert (actions == 0).mean() == pytest.approx(epsilon / 2, abs=0.01)


def test_each_transition_of_a_vectorised_step_has_its_own_epsilon() -> None:
    """Epsilon is 1 for transition 0 and 0 for transitions 1 to 7 of the same vectorised step."""
    component = EpsilonGreedy(epsilon=Linear(1.0, 0.0, 1))

    def one(clock: Any, key: jax.Array) -> Any:
        context = act_context(GROUP, clock, key)
        return component.select_action(SCORES, ALL, (), context)[0].action

    over_clocks = jax.vmap(one, in_axes=(0, None))
    keys = jax.random.split(jax.random.key(0), 400)
    explored = np.asarray(jax.jit(jax.vmap(over_clocks, (None, 0)))(jnp.arange(8), keys)) != [1, 0]
    assert explored[:, 0].mean() == pytest.approx(0.75, abs=0.1)
    assert not explored[:, 1:].any()


@pytest.mark.parametrize("epsilon", [0.0, 0.5, 1.0])
def test_one_legal_action_among_thirty(epsilon: float) -> None:
    """20,000 draws, the legal action and the scores changing each time: never an illegal one."""
    component, group = EpsilonGreedy(epsilon=epsilon), group_spec(1, actions=30)

    def one(key: jax.Array) -> Any:
        first, second, third = jax.random.split(key, 3)
        only = jax.random.randint(first, (), 0, 30)
        scores = 1e6 * jax.random.normal(second, (1, 30))
        context = act_context(group, 0, third)
        legal = (jnp.arange(30) == only)[None]
        return component.select_action(scores, legal, (), context)[0].action[0], only

    actions, only = jax.jit(jax.vmap(one))(jax.random.split(jax.random.key(1), 20_000))
    assert int((actions != only).sum()) == 0
    assert len(np.unique(only)) == 30


def test_all_legal_actions_are_explored_equally() -> None:
    legal = jnp.asarray([[True, False, True, True]] * 2)
    actions = draw(EpsilonGreedy(epsilon=1.0), 20_000, legal=legal)
    found = np.bincount(actions[:, 0], minlength=4) / len(actions)
    np.testing.assert_allclose(found, [1 / 3, 0, 1 / 3, 1 / 3], atol=0.018)


@pytest.mark.parametrize("explore", [True, False])
@pytest.mark.parametrize("worth", [0.0, np.inf, -np.inf])
def test_without_a_legal_action_it_is_the_no_op(explore: bool, worth: float) -> None:
    legal = ALL.at[0].set(False)
    scores = jnp.full((2, 4), worth, jnp.float32)

    def one(key: jax.Array) -> Any:
        context = act_context(GROUP, 0, key, explore)
        return EpsilonGreedy(epsilon=1.0).select_action(scores, legal, (), context)[0].action

    actions = jax.jit(jax.vmap(one))(jax.random.split(jax.random.key(0), 20))
    assert not np.any(actions[:, 0])


def test_greedy_is_the_best_legal_action_and_draws_nothing() -> None:
    component, legal = EpsilonGreedy(epsilon=1.0), ALL.at[0, 1].set(False)

    def greedy(key: jax.Array) -> Any:
        context = act_context(GROUP, 0, key, explore=False)
        return component.select_action(SCORES, legal, (), context)[0].action

    np.testing.assert_array_equal(greedy(jax.random.key(0)), [3, 0])
    assert "random" not in str(jax.make_jaxpr(greedy)(jax.random.key(0)))


def test_memory_and_extras_pass_untouched() -> None:
    memory = {"anything": jnp.ones(3)}
    context = act_context(GROUP)
    selection, after = EpsilonGreedy().select_action(SCORES, ALL, memory, context)
    assert after is memory
    assert selection.extras == {}
    assert selection.action.dtype == jnp.int32


@pytest.mark.parametrize("epsilon", [-0.1, 1.1, Linear(1.0, -0.1, 5)])
def test_epsilon_is_a_probability(epsilon: Any) -> None:
    with pytest.raises(ConfigurationError, match=r"epsilon_greedy.epsilon has .* \[0.0, 1.0\]"):
        EpsilonGreedy(epsilon=epsilon)
