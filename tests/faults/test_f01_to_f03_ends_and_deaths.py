"""Episodes end and agents die, and what is stored says so."""

from __future__ import annotations

import numpy as np
import pytest

from mava.environments import as_factory
from mava.testing.toy_turns import Turns
from mava.testing.toys import Death, Echo
from tests.faults.collecting import Kept, collected
from tests.topologies.running import small, started, stored


@pytest.mark.parametrize("empties", [True, False])
def test_f1_seventy_steps_are_ten_episodes_of_seven_with_their_last_rewards(empties: bool) -> None:
    echo = Kept(Echo, length=7, empties=empties)
    runner = collected(small(echo), 70)
    assert runner.episodes == 10
    toy = echo.made[0]
    assert len(toy.actions) == 70
    assert len(toy.seeds) == 11  # the eleventh episode has begun
    held = stored(runner, 70)
    assert held["start"][0].tolist() == ([True] + 6 * [False]) * 10
    assert held["end"][0].tolist() == (6 * [False] + [True]) * 10
    assert held["reward"]["agents"][0].tolist() == [[t, t] for t in range(1, 8)] * 10
    assert held["termination"]["agents"][0, :, 0].tolist() == (6 * [False] + [True]) * 10
    last = held["next_observation"]["agents"][0, 6::7]
    assert last.tolist() == [[[episode, 7, agent] for agent in (0, 1)] for episode in range(10)]


@pytest.mark.parametrize("where", ["observation", "info"])
def test_f2_f3_masks_and_deaths_leave_dead_rows_that_are_marked(where: str) -> None:
    death = Kept(Death, (2, 4, 6), where=where)
    runner = collected(small(death), 120)
    assert runner.episodes == 20
    toy = death.made[0]  # which raises where action keys are not its agents, or an action illegal
    assert [len(actions) for actions in toy.actions] == [3, 3, 2, 2, 1, 1] * 20
    held = stored(runner, 120)
    alive = [[t < last for last in (2, 4, 6)] for t in range(6)]
    assert held["alive"]["agents"][0].tolist() == alive * 20
    dead = [[t + 1 >= last for last in (2, 4, 6)] for t in range(6)]
    assert held["termination"]["agents"][0].tolist() == dead * 20
    paid = [[(t < last) + 9 * (t + 1 == last) for last in (2, 4, 6)] for t in range(6)]
    assert held["reward"]["agents"][0].tolist() == paid * 20
    assert not held["next_legal_actions"]["agents"][0][np.array(dead * 20)].any()


@pytest.mark.slow
def test_f3_training_with_deaths_stays_finite() -> None:
    runner = started(small(as_factory(Death, deaths=(1, 3, 6), where="info"), n_step=2))
    metrics = runner.advance(120).metrics
    assert runner.trainer_steps == 27
    assert metrics
    assert all(np.isfinite(value).all() for value in metrics.values())


@pytest.mark.parametrize(
    ("deaths", "dying"),
    [((1, 9, 9), 0), ((9, 1, 9), 1), ((9, 9, 1), 2)],
    ids=["who acts", "who is next", "another"],
)
def test_f3_turn_based_deaths_are_given_none_and_their_reward_is_stored(
    deaths: tuple[int, ...], dying: int
) -> None:
    turns = Kept(Turns, deaths, length=5)
    runner = collected(small(turns), 25)
    assert runner.episodes == 5
    held = stored(runner, 25)
    first = held["reward"]["agents"][0, ::5]
    assert first[:, dying].tolist() == [11.0 if dying == 0 else 10.5] * 5
    assert held["termination"]["agents"][0, :, dying].all()
    alive = held["alive"]["agents"][0].reshape(5, 5, 3)
    assert alive[:, 0].all()
    survivors = [agent != dying for agent in range(3)]
    assert (alive[:, 1:] == survivors).all()
    # The living are given a number, in the order of the turns that are stored, the dead None.
    asked = turns.made[0].actions
    moved = [(agent, action) for agent, action in asked if action is not None]
    turn = held["observation"]["agents"][0, :, :, 2] * held["alive"]["agents"][0]
    assert (turn.sum(axis=1) == 1).all()
    movers = turn.argmax(axis=1)
    taken = held["action"]["agents"][0][np.arange(25), movers]
    assert moved == [(f"agent_{i}", a) for i, a in zip(movers, taken.tolist(), strict=True)]
    assert sum(action is None for _, action in asked) == 15
