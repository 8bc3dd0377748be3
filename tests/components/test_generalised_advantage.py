"""Advantages, value targets and their units, by hand."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mava.components.batches.generalised_advantage import GeneralisedAdvantage, in_rewards
from mava.core.contexts import UnrolledValues
from mava.functional.moments import Moments
from mava.testing import builders
from tests.components.linear import (
    SPEC,
    context,
    filled,
    linear_critic,
    parameters,
)


@pytest.mark.slow
@pytest.mark.parametrize("garbage", [1e6, jnp.nan])
def test_f19_the_dead_change_no_advantage(garbage: float) -> None:
    batch, params = builders.batch(SPEC, length=5), parameters()
    component = GeneralisedAdvantage()
    state = component.init_state(SPEC)
    fields = ("advantage", "value_target")
    results = []
    for value in (0.0, garbage):
        prepared, after = component.prepare_batch(filled(batch, value), state, params, context())
        results.append((*(prepared[name] for name in fields), after))
    for a, b in zip(jax.tree.leaves(results[0]), jax.tree.leaves(results[1]), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def advantages(
    component: GeneralisedAdvantage, truncated: bool, state: Any = None, **changes: Any
) -> Any:
    """One agent, one step of reward 1 from V = 2 to the true last observation, V = 10, before a
    reset, V = 0."""
    group = builders.group_spec(1, (1,), 2)
    spec = builders.environment_spec(group)
    flags = {"termination": not truncated, "truncation": truncated}
    batch: Any = {
        "observation": {"agents": jnp.asarray([[[[2.0]], [[0.0]]]])},
        "next_observation": {"agents": jnp.asarray([[[[10.0]], [[0.0]]]])},
        "reward": {"agents": jnp.asarray([[[1.0], [0.0]]])},
        "alive": {"agents": jnp.ones((1, 2, 1), bool)},
        "start": jnp.asarray([[True, True]]),
        "end": jnp.asarray([[True, False]]),
        **{n: {"agents": jnp.asarray([[[flag], [False]]])} for n, flag in flags.items()},
        **changes,
    }
    value = builders.learn_context(spec, value=linear_critic)
    state = component.init_state(spec) if state is None else state
    return component.prepare_batch(batch, state, {"critic": jnp.ones(1)}, value)


RAW = GeneralisedAdvantage(discount=0.9, normalise_advantage=False, normalise_values=False)


@pytest.mark.parametrize(("truncated", "target"), [(True, 10.0), (False, 1.0)])
def test_f15_targets_bootstrap_from_the_true_last_observation(
    truncated: bool, target: float
) -> None:
    batch, _ = advantages(RAW, truncated)
    assert float(batch["value_target"]["agents"][0, 0, 0]) == pytest.approx(target)
    assert float(batch["advantage"]["agents"][0, 0, 0]) == pytest.approx(target - 2.0)
    assert float(batch["value"]["agents"][0, 0, 0]) == 2.0


def test_an_abandoned_episode_ends_where_the_next_one_starts() -> None:
    """Neither flag is set, but the next step starts an episode, so the sum is cut."""
    flags = {n: {"agents": jnp.zeros((1, 2, 1), bool)} for n in ("termination", "truncation")}
    batch, _ = advantages(RAW, True, end=jnp.zeros((1, 2), bool), **flags)
    assert float(batch["value_target"]["agents"][0, 0, 0]) == pytest.approx(10.0)


def test_f19_advantages_of_one_sequence_are_standardised_over_time() -> None:
    component = dataclasses.replace(RAW, normalise_advantage=True)
    batch, _ = advantages(component, True)
    np.testing.assert_allclose(batch["advantage"]["agents"][0, :, 0], [1.0, -1.0], rtol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("scale", [1e-3, 1e3])
def test_f33_the_scale_of_rewards_changes_neither_advantages_nor_targets(scale: float) -> None:
    """Over two batches, so that the second is valued in the units of the first."""
    component, params = GeneralisedAdvantage(), parameters()
    results = []
    for factor in (1.0, scale):
        state = component.init_state(SPEC)
        for seed in (0, 1):
            batch = builders.batch(SPEC, size=6, length=5, seed=seed)
            batch["reward"] = {"agents": factor * batch["reward"]["agents"]}
            prepared, state = component.prepare_batch(batch, state, params, context())
        results.append([prepared[n]["agents"] for n in ("advantage", "value_target", "value")])
    for one, other in zip(*results, strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-3, atol=2e-4)


def test_values_are_read_in_units_of_the_targets() -> None:
    statistics = Moments(jnp.asarray(5.0), jnp.asarray(3.0), jnp.asarray(4.0))
    np.testing.assert_allclose(in_rewards(statistics, jnp.asarray([0.0, 1.5])), [3.0, 6.0])
    nothing_seen = GeneralisedAdvantage().init_state(SPEC)["agents"]
    assert in_rewards(nothing_seen, jnp.asarray(7.0)) == 0.0


def test_values_are_read_in_old_units_and_targets_written_in_new_ones() -> None:
    """By hand: with mean 3 and deviation 2 the critic's 2, 10, 0, 0 are 7, 23, 3, 3 in rewards, so
    the returns are 1 + 0.9 * 23 = 21.7 and 2.7. Of 6 targets so far and these 2 the mean is 5.3 and
    the variance 41.4325."""
    component = GeneralisedAdvantage(discount=0.9, normalise_advantage=False)
    seen = {"agents": Moments(jnp.asarray(6.0), jnp.asarray(3.0), jnp.asarray(4.0))}
    batch, after = advantages(component, True, seen)
    shown = {name: np.asarray(batch[name]["agents"])[0, :, 0] for name in component.provides}
    np.testing.assert_allclose(shown["advantage"], [14.7, -0.3], rtol=1e-4)
    np.testing.assert_array_equal(shown["value"], [2.0, 0.0])
    np.testing.assert_allclose(shown["value_target"], [2.54786, -0.40393], rtol=1e-4)
    np.testing.assert_allclose(tuple(after["agents"]), (8.0, 5.3, 41.4325), rtol=1e-5)


def counted(*alive: Any, given: Any = None) -> Any:
    """The statistics of targets after batches in which these agents lived."""
    component = GeneralisedAdvantage(window=2)
    state = component.init_state(SPEC)
    for seed, living in enumerate(alive):
        batch = builders.batch(SPEC, size=4, seed=seed)
        batch["alive"] = {"agents": jnp.broadcast_to(living, batch["alive"]["agents"].shape)}
        _, state = component.prepare_batch(batch, state, parameters(), given or context())
    return state["agents"]


def test_a_reward_that_is_not_a_number_reaches_the_losses() -> None:
    """And with them the check that ends a run, rather than training on zeros."""
    reward = {"agents": jnp.asarray([[[1.0], [jnp.nan]]])}
    batch, _ = advantages(GeneralisedAdvantage(), True, reward=reward)
    assert np.isnan(batch["advantage"]["agents"]).all()
    assert np.isnan(batch["value_target"]["agents"]).all()


@pytest.mark.slow
def test_a_batch_in_which_all_are_dead_leaves_the_statistics_as_they_are() -> None:
    before, after = counted(True), counted(True, False)
    np.testing.assert_array_equal(before, after)
    assert after.seen > 0
    # A batch after it counts for one part of two, as the window says, and not for all.
    first, _, last = (counted(*a).mean for a in ((True,), (True, False), (True, False, True)))
    alone = counted(False, False, True).mean
    assert abs(float(last - alone)) > 0.1 * abs(float(first - alone)) > 0.0


@pytest.mark.slow
def test_devices_that_train_together_keep_the_same_statistics() -> None:
    """Though more agents live on one than on the other."""
    given = dataclasses.replace(context(), all_mean=lambda tree: jax.lax.pmean(tree, "devices"))
    living = jnp.asarray([[True, True], [True, False]])
    found = jax.vmap(lambda one: counted(one, one, one, given=given), axis_name="devices")(living)
    for x in found:
        assert x[0] == x[1]


@pytest.mark.slow
def test_f17_a_critic_of_everything_is_not_harmed_by_what_is_shown_of_the_dead() -> None:
    def joint(params: Any, batch: Any) -> UnrolledValues:
        def of(field: str) -> Any:
            each = batch[field]["agents"] @ params["critic"]
            return {"agents": jnp.broadcast_to(each.sum(-1, keepdims=True), each.shape)}

        return UnrolledValues(of("observation"), lambda: of("next_observation"))

    batch = filled(builders.batch(SPEC, length=5), jnp.nan)
    component, given = GeneralisedAdvantage(), builders.learn_context(SPEC, value=joint)
    prepared, _ = component.prepare_batch(batch, component.init_state(SPEC), parameters(), given)
    assert np.isfinite(prepared["advantage"]["agents"]).all()
    assert np.isfinite(prepared["value_target"]["agents"]).all()


@pytest.mark.slow
def test_targets_have_mean_0_and_spread_1_over_the_living() -> None:
    batch, params = builders.batch(SPEC, size=8, length=6), parameters()
    component = GeneralisedAdvantage()
    prepared, state = component.prepare_batch(batch, component.init_state(SPEC), params, context())
    shown = np.asarray(prepared["value_target"]["agents"])[np.asarray(batch["alive"]["agents"])]
    np.testing.assert_allclose((shown.mean(), shown.std()), (0.0, 1.0), atol=1e-4)
    assert float(state["agents"].seen) == shown.size
