"""Masks, ends and faults of parallel environments behind the adapter."""

import gymnasium.spaces as spaces
import numpy as np
import pytest

from mava.environments import adapt
from mava.errors import EnvironmentFault
from mava.testing.toys import Const, Crash, Death, Drift, Echo, Masked, Spaces
from tests.environments.playing import play_episode

BOX = spaces.Box(-1.0, 1.0, (2,))


@pytest.mark.parametrize("where", ["observation", "info"])
def test_f2_masks_with_agents_that_leave(where):
    environment = adapt(Death((2, 4, 6), where=where))
    for seed in range(20):
        episode = play_episode(environment, seed)
        assert len(episode) == 7
        for time, step in enumerate(episode):
            alive = [time < last for last in (2, 4, 6)]
            assert step.alive["agents"].tolist() == alive
            assert step.legal_actions["agents"].sum(axis=1).tolist() == [int(a) for a in alive]
            assert step.termination["agents"].tolist() == [not a for a in alive]
        # After the step in which it died the environment shows an agent nothing more.
        assert not episode[3].observation["agents"][0].any()


def test_f6_no_mask_means_ones_of_each_size_at_reset_and_step():
    actions = {"a": spaces.Discrete(2), "b": spaces.Discrete(4)}
    environment = adapt(Spaces(dict.fromkeys("ab", BOX), actions))
    first = environment.reset(0)
    second = environment.step({"a": np.array([1]), "b": np.array([3])})
    for timestep in (first, second):
        assert timestep.legal_actions["a"].tolist() == [[True] * 2]
        assert timestep.legal_actions["b"].tolist() == [[True] * 4]


@pytest.mark.parametrize("where", ["observation", "info"])
@pytest.mark.parametrize("start", [0, -1, 10])
def test_f7_the_mask_is_that_of_the_observation_acted_on(where, start):
    environment = adapt(Masked(where, length=200, action_start=start))
    assert len(play_episode(environment)) == 201  # the toy raises on any illegal action


@pytest.mark.parametrize("where", ["observation", "info"])
def test_f7_a_truncated_agent_keeps_the_mask_of_its_last_observation(where):
    toy = Masked(where, num_actions=5, length=3, truncates=True)
    before, last = play_episode(adapt(toy))[-2:]
    assert not last.alive["agents"].any()
    shown = [toy.mask(agent) for agent in toy.possible_agents]
    assert last.legal_actions["agents"].tolist() == np.array(shown, bool).tolist()
    assert last.legal_actions["agents"].tolist() != before.legal_actions["agents"].tolist()


def test_f7_where_the_last_mask_is_not_given_the_one_before_is_kept():
    class Forgets(Masked):
        def inform(self, agent):
            return super().inform(agent) if self.time < self.length else {}

    episode = play_episode(adapt(Forgets("info", length=3, truncates=True)))
    assert np.array_equal(episode[-1].legal_actions["agents"], episode[-2].legal_actions["agents"])
    assert not play_episode(adapt(Forgets("info", length=3)))[-1].legal_actions["agents"].any()


def test_f7_truncated_without_masks_everything_stays_legal():
    environment = adapt(Echo(length=2, truncates=True))
    for _ in range(2):
        assert play_episode(environment)[-1].legal_actions["agents"].all()


def test_f7_only_the_step_that_truncates_an_agent_keeps_its_mask():
    class Benched(Death):
        def step(self, actions):
            observations, rewards, terminations, truncations, infos = super().step(actions)
            return observations, rewards, truncations, terminations, infos

    episode = play_episode(adapt(Benched((1, 3, 2))))
    assert [step.legal_actions["agents"].any(axis=1).tolist() for step in episode] == [
        [True, True, True],
        [True, True, True],
        [False, True, True],
        [False, True, False],
    ]
    assert episode[-1].truncation["agents"].all()


def test_f8_a_mask_of_zeros_reaches_the_systems():
    episode = play_episode(adapt(Masked("info", none_from=3)))
    assert episode[3].alive["agents"].tolist() == [True, True]
    assert episode[3].legal_actions["agents"].sum(axis=1).tolist() == [0, 1]


def test_f13_drift_is_cast_to_the_spec():
    environment = adapt(Drift())
    for timestep in play_episode(environment):
        assert timestep.observation["agents"].dtype == np.float32
        assert timestep.reward["agents"].dtype == np.float32
        assert timestep.termination["agents"].dtype == bool
        assert timestep.legal_actions["agents"].dtype == bool


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("shape", r"step 3: agent 'agent_0': observation has shape \(4,\), its space has \(3,\)"),
        ("nan_observation", "step 3: agent 'agent_0': observation has the value nan"),
        ("inf_observation", "step 3: agent 'agent_0': observation has the value inf"),
        ("nan_reward", "step 3: agent 'agent_0': reward has the value nan"),
        ("missing_observation", "step 3: agent 'agent_0' has no observation"),
        ("missing_reward", "step 3: agent 'agent_0' acted and has no reward"),
        ("unknown_agent", "step 3: agent 'stranger' is not one of `possible_agents`"),
        ("raise", r"step 3: .*RuntimeError: crash at step 3; it was given \{'agent_0': 0"),
    ],
)
def test_f13_f29_faults_name_agent_leaf_and_step(fault, message):
    environment = adapt(Crash(at=3, fault=fault))
    environment.reset(0)
    actions = environment.spec.zero_actions()
    environment.step(actions)
    environment.step(actions)
    with pytest.raises(EnvironmentFault, match=message) as raised:
        environment.step(actions)
    assert isinstance(raised.value.__cause__, RuntimeError) == (fault == "raise")


def test_f13_what_is_shown_of_the_dead_need_not_be_finite():
    class Rots(Death):
        def step(self, actions):
            observations, rewards, *rest = super().step(actions)
            if self.time > self.at:
                observations["agent_0"] = np.full(3, np.nan, np.float32)
                rewards["agent_0"] = float("nan")
            return observations, rewards, *rest

    toy = Rots((2, 4, 4))
    toy.at = 2
    episode = play_episode(adapt(toy))
    assert len(episode) == 5
    assert not episode[3].observation["agents"][0].any()
    assert episode[3].reward["agents"][0] == 0
    toy.at = 1  # the step in which it dies, whose outcome counts
    with pytest.raises(EnvironmentFault, match="step 2: agent 'agent_0': reward has the value nan"):
        play_episode(adapt(toy))


@pytest.mark.parametrize(
    ("method", "outcome", "message"),
    [
        (
            "reset",
            lambda old: old[0],
            r"reset\(\) must return two dictionaries \(observations, inf",
        ),
        ("reset", lambda old: None, "got None"),
        ("step", lambda old: None, r"step 1: step\(\) must return five dictionaries .*got None"),
        ("step", lambda old: old[:4], r"truncations, infos\), got \(dict, dict, dict, dict\)"),
        ("step", lambda old: (old[0], 1.0, *old[2:]), r"got \(dict, float, dict, dict, dict\)"),
    ],
)
def test_f29_outcomes_of_another_form_are_refused(method, outcome, message):
    toy = Echo()
    right = getattr(toy, method)
    environment = adapt(toy)
    setattr(toy, method, lambda *args, **kwargs: outcome(right(*args, **kwargs)))
    with pytest.raises(EnvironmentFault, match=message):
        play_episode(environment)


def test_f13_integer_spaces_refuse_numbers_they_cannot_hold():
    class Lossy(Spaces):
        def observe(self, agent):
            return np.full((2,), 0.5)

    environment = adapt(Lossy({"a": spaces.Box(0, 255, (2,), np.uint8)}, {"a": spaces.Discrete(2)}))
    with pytest.raises(EnvironmentFault, match="float64 that uint8 cannot hold"):
        environment.reset(0)


def test_f15_the_last_observation_and_both_flags():
    for truncates in (True, False):
        last = play_episode(adapt(Const(truncates)))[-1]
        assert last.truncation["agents"].tolist() == [truncates] * 2
        assert last.termination["agents"].tolist() == [not truncates] * 2
        assert last.observation["agents"].tolist() == [[1.0], [1.0]]


def test_f15_a_truncated_agent_needs_its_last_observation():
    class Blind(Const):
        def step(self, actions):
            _, *rest = super().step(actions)
            return {}, *rest

    environment = adapt(Blind(truncates=True))
    environment.reset(0)
    with pytest.raises(EnvironmentFault, match="no observation, though it was truncated"):
        environment.step(environment.spec.zero_actions())
    assert len(play_episode(adapt(Blind(truncates=False)))) == 2
