"""Masks, agents without a choice, and actions that do not count from 0."""

from __future__ import annotations

import functools
from typing import Any

import jax
import numpy as np
import pytest

from mava.functional.schedules import Linear
from mava.testing.toy import Toy
from mava.testing.toys import Echo, Masked
from tests.faults.collecting import Kept, collected, greedy_actions
from tests.systems.solving import evaluated
from tests.topologies.running import params, ran, small, started, stored


@pytest.mark.slow
def test_f7_no_illegal_action_in_twenty_thousand_steps_of_training_and_evaluation() -> None:
    """The environment raises on any but the one action that is legal now."""
    masked = Kept(Masked, num_actions=30, length=50)
    system = small(
        masked,
        num_environments=2,
        epsilon=Linear(1.0, 0.0, 15_000),
        update_every=100,
        capacity=20_000,
    )
    runner = started(system)
    for until in range(5_000, 20_001, 5_000):
        runner.advance(until)
        assert evaluated(system, runner, 5).lengths == (50,) * 5
    assert runner.environment_steps == 20_000
    taken = stored(runner, 20_000)["action"]["agents"]
    assert np.unique(taken).tolist() == list(range(30))
    assert [len(toy.actions) for toy in masked.made[:2]] == [10_000, 10_000]


@pytest.mark.parametrize(("where", "start"), [("info", 10), ("observation", -1)])
def test_f7_f9_the_mask_counts_from_the_first_action(where: str, start: int) -> None:
    masked = Kept(Masked, where, num_actions=5, action_start=start)
    system = small(masked, epsilon=0.5)
    runner = collected(system, 100)
    assert evaluated(system, runner, 3).lengths == (7, 7, 7)
    given = {a for actions in masked.made[0].actions for a in actions.values()}
    assert given == set(range(start, start + 5))


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"prioritised": True, "n_step": 2}])
def test_f8_an_agent_without_a_choice_takes_the_first_action_and_learning_stays_finite(
    options: dict[str, Any],
) -> None:
    masked = Kept(Masked, where="info", num_actions=4, none_from=3, length=6)
    system = small(masked, update_every=1, **options)
    runner = started(system)
    runner.advance(215)
    report = runner.advance(216)
    assert runner.trainer_steps == 201
    assert all(np.isfinite(value).all() for value in report.metrics.values())
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(params(runner)))
    toy = masked.made[0]
    assert {actions["agent_0"] for actions in toy.actions[3::6]} == {0}
    assert evaluated(system, runner, 2).lengths == (6, 6)


@pytest.mark.parametrize(("count", "start"), [(2, 10), (3, -1)])
def test_f9_random_actions_reach_every_action_of_the_space_and_no_other(
    count: int, start: int
) -> None:
    echo = Kept(Echo, num_actions=count, action_start=start)
    collected(small(echo, epsilon=1.0), 80)
    for agent in ("agent_0", "agent_1"):
        given = {actions[agent] for actions in echo.made[0].actions}
        assert given == set(range(start, start + count))


class PaysEleven(Toy):
    def observe(self, agent: Any) -> Any:
        return np.ones(3, np.float32)

    def pay(self, agent: Any, action: Any) -> float:
        assert action in (10, 11)
        return float(action == 11)


@pytest.mark.slow
def test_f9_the_only_action_that_pays_is_learnt_and_sent() -> None:
    factory = Kept(functools.partial(PaysEleven, num_actions=2, action_start=10, length=2))
    system = small(factory, epsilon=1.0, learning_rate=3e-3)
    runner = ran(system, 2_000)
    assert greedy_actions(runner)["agents"].tolist() == [1, 1]
    assert evaluated(system, runner, 4).returns == (2.0,) * 4
    evaluating = factory.made[1:]
    assert {a for toy in evaluating for joint in toy.actions for a in joint.values()} == {11}
