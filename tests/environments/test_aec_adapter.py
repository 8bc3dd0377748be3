"""Turn-based environments behind the adapter."""

import numpy as np
import pytest

from mava.environments import adapt, make
from mava.errors import ConfigurationError
from mava.testing.toy_turns import Turns


def play(environment, limit=100):
    timesteps = [environment.reset(0)]
    while not timesteps[-1].end and len(timesteps) < limit:
        size = environment.spec["agents"].num_agents
        timesteps.append(environment.step({"agents": np.ones(size, np.int32)}))
    return timesteps


def test_one_timestep_is_one_turn():
    toy = Turns(length=4)
    episode = play(adapt(toy, waiting="idle"))
    movers = [step.alive["agents"].tolist() for step in episode]
    assert movers == [[True, False], [False, True], [True, False], [False, True], [False, False]]
    # Nobody acts on the last timestep, but the values of all go on there.
    legal = [step.legal_actions["agents"].any(axis=1).tolist() for step in episode]
    assert legal == [*movers[:-1], [True, True]]
    assert [step.reward["agents"].tolist() for step in episode[1:]] == [[1, 0.5], [0.5, 1]] * 2
    assert episode[-1].truncation["agents"].all()
    assert not episode[-1].termination["agents"].any()
    # Who waits sees the game as it is now.
    assert episode[1].observation["agents"].tolist() == [[1, 0, 0], [1, 1, 1]]
    assert episode[-1].observation["agents"][:, 0].tolist() == [4, 4]


@pytest.mark.parametrize(
    ("deaths", "died"),
    [((1, 9, 9), "the agent that moved"), ((9, 1, 9), "the next"), ((9, 9, 1), "another")],
)
def test_f3_deaths_of_who_acts_and_of_others(deaths, died):
    toy = Turns(deaths, length=5)
    episode = play(adapt(toy, waiting="idle"))
    dead = deaths.index(1)
    assert episode[1].reward["agents"][dead] == (11 if dead == 0 else 10.5), died
    assert all(step.termination["agents"][dead] for step in episode[1:])
    assert not any(step.alive["agents"][dead] for step in episode[1:])
    assert all(step.alive["agents"].sum() == 1 for step in episode[:-1])
    assert len(episode) == 6
    # The dead are given None, once each, the living a number; every reward given is delivered.
    assert sum(action is None for _, action in toy.actions) == 3
    total = sum(step.reward["agents"].sum() for step in episode)
    assert total == pytest.approx(1 + 0.5 * 2 + 4 * 1.5 + 10)


def test_all_die():
    episode = play(adapt(Turns((2, 1))))
    assert len(episode) == 3
    assert episode[-1].termination["agents"].all()
    assert episode[-1].end


def test_waiting_agents_pass_unless_they_are_to_be_idle():
    episode = play(adapt(Turns(length=4)))
    assert all(step.alive["agents"].all() for step in episode[:-1])
    assert [step.legal_actions["agents"].any(axis=1).sum() for step in episode] == [1] * 5
    # The turn after the last would be that of the agent after the last mover.
    for length in (4, 5):
        last = play(adapt(Turns(length=length)))[-1].legal_actions["agents"].any(axis=1)
        assert last.tolist() == [length == 4, length == 5]
    assert not play(adapt(Turns((2, 2))))[-1].legal_actions["agents"].any()
    with pytest.raises(ValueError, match="'idle' or 'pass'"):
        adapt(Turns(), waiting="sleep")


def test_a_win_is_paid_to_both():
    environment = make("pettingzoo/classic/tictactoe_v3")
    timestep = environment.reset(0)
    for cell in (0, 3, 1, 4, 2):
        assert timestep.legal_actions["agents"].any(axis=0)[cell]
        timestep = environment.step({"agents": np.full(2, cell)})
    assert timestep.end
    assert timestep.reward["agents"].tolist() == [1.0, -1.0]
    assert timestep.termination["agents"].tolist() == [True, True]


def test_parallel_needs_an_environment_that_says_so():
    with pytest.raises(ConfigurationError, match="is_parallelizable"):
        adapt(Turns(), parallel=True)


def test_parallel_rounds():
    from mpe2 import simple_spread_v3

    environment = adapt(simple_spread_v3.env(max_cycles=3), parallel=True)
    timestep = environment.reset(0)
    assert timestep.alive["agents"].all()
    for _ in range(3):
        timestep = environment.step(environment.spec.zero_actions())
    assert timestep.truncation["agents"].all()
    assert timestep.end
