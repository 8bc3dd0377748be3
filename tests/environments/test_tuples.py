"""Multi-agent environments of Gymnasium's interface, and level-based foraging among them."""

import importlib
from types import SimpleNamespace

import numpy as np
import pytest
from gymnasium import spaces, spec

from mava.environments import adapt, list_environments, make
from mava.environments.foraging import NAMES, Foraging, arguments_of
from mava.environments.tuples import TupleAgents
from mava.errors import ConfigurationError, EnvironmentFault

EASY = "lbforaging/Foraging-8x8-2p-2f-coop-v3"


class Pair:
    """Two agents of other spaces; rewards and flags as a test wants them."""

    def __init__(self, rewards=(1.0, 2.0), terminated=False, truncated=False, info=()):
        self.observation_space = spaces.Tuple([spaces.Box(-1, 1, (2,)), spaces.Discrete(3)])
        self.action_space = spaces.Tuple([spaces.Discrete(2), spaces.Discrete(3, start=5)])
        self.outcome = rewards, terminated, truncated
        self.info = dict(info) if isinstance(info, tuple) else info
        self.taken = []

    def reset(self, seed=None, options=None):
        return (np.zeros(2, np.float32), 1), self.info

    def step(self, actions):
        self.taken.append(actions)
        return (np.ones(2, np.float32), 2), *self.outcome, self.info

    def close(self):
        self.taken = None


def joint(environment, *values):
    return {
        group.name: np.asarray([value], np.int32)
        for group, value in zip(environment.spec.groups, values, strict=True)
    }


def test_agents_are_places_in_tuples():
    inner = Pair()
    environment = adapt(inner)
    assert [group.agents for group in environment.spec.groups] == [("agent_0",), ("agent_1",)]
    assert environment.spec.name == "Pair"
    timestep = environment.reset(0)
    first, second = environment.spec.group_names
    np.testing.assert_array_equal(timestep.observation[second], [[0, 1, 0]])
    timestep = environment.step(joint(environment, 1, 2))
    assert inner.taken == [(1, 7)]
    assert (timestep.reward[first], timestep.reward[second]) == (1.0, 2.0)
    assert not timestep.end


@pytest.mark.parametrize("flag", ["terminated", "truncated"])
def test_one_flag_and_one_reward_hold_for_all(flag):
    environment = adapt(Pair(rewards=0.5, **{flag: True}))
    environment.reset(0)
    timestep = environment.step(joint(environment, 0, 0))
    assert timestep.end
    for name in environment.spec.group_names:
        assert timestep.reward[name] == 0.5
        assert timestep.termination[name] == (flag == "terminated")
        assert timestep.truncation[name] == (flag == "truncated")


def test_an_agent_with_a_flag_of_its_own_is_out():
    inner = Pair(terminated=[True, False])
    environment = adapt(inner)
    environment.reset(0)
    first, second = environment.spec.group_names
    timestep = environment.step(joint(environment, 1, 1))
    assert not timestep.end
    assert not timestep.alive[first]
    assert timestep.alive[second]
    environment.step(joint(environment, 1, 1))
    assert inner.taken[-1] == (0, 6)


def test_a_wrong_number_of_rewards_is_a_fault():
    environment = adapt(Pair(rewards=[1.0]))
    environment.reset(0)
    with pytest.raises(EnvironmentFault, match="step 1"):
        environment.step(joint(environment, 0, 0))


MASKS = ([True, False], [False, False, True])


@pytest.mark.parametrize(
    "info",
    [
        {"action_mask": MASKS, "level": 3},
        [{"action_mask": mask} for mask in MASKS],
        {f"agent_{index}": {"action_mask": mask} for index, mask in enumerate(MASKS)},
    ],
)
def test_masks_in_infos_are_kept(info):
    environment = adapt(Pair(info=info))
    for timestep in (environment.reset(0), environment.step(joint(environment, 0, 2))):
        for name, mask in zip(environment.spec.group_names, MASKS, strict=True):
            np.testing.assert_array_equal(timestep.legal_actions[name], [mask])


def test_infos_without_masks_leave_every_action_legal():
    agents = TupleAgents(Pair(info={"level": 3}))
    assert agents.reset()[1] == {"agent_0": {"level": 3}, "agent_1": {"level": 3}}
    assert all(x.all() for x in adapt(Pair(info={"level": 3})).reset(0).legal_actions.values())


def test_a_wrong_number_of_masks_is_a_fault():
    environment = adapt(Pair(info={"action_mask": MASKS[:1]}))
    with pytest.raises(EnvironmentFault, match="reset"):
        environment.reset(0)


def test_spaces_must_match():
    one = spaces.Tuple([spaces.Discrete(2)])
    env = SimpleNamespace(observation_space=one, action_space=spaces.Tuple([*one, *one]))
    with pytest.raises(ConfigurationError, match="1 observation spaces and 2 action spaces"):
        TupleAgents(env)


def test_names_say_what_the_package_registers():
    importlib.import_module("lbforaging")
    for name in (*NAMES, "Foraging-2s-6x6-4p-1f-v3"):
        if "-5f" not in name:  # published, and left out of the package's list
            assert spec(name).kwargs == arguments_of(name)
    assert arguments_of("Foraging-grid-8x8-2p-2f-v3") is None


def test_tasks_of_other_sizes_are_made_and_misspelt_ones_refused():
    assert {f"lbforaging/{name}" for name in NAMES} < set(list_environments())
    environment = make("lbforaging/Foraging-6x5-3p-1f-v3", max_episode_steps=9)
    assert environment.spec.groups[0].num_agents == 3
    assert environment.spec.episode_limit == 9
    with pytest.raises(ConfigurationError, match="did you mean 'lbforaging/Foraging-8x8-2p-2f"):
        make("lbforaging/Foraging-8x8-2p-2f-cop-v3")
    with pytest.raises(ConfigurationError, match="did you mean 'penalty'"):
        make(EASY, penaltie=0.1)
    with pytest.raises(ConfigurationError, match="is no task"):
        Foraging("Foraging-v3")


def test_the_step_limit_truncates_and_the_last_food_terminates():
    environment = make(EASY, max_episode_steps=3)
    environment.reset(0)
    for _ in range(3):
        timestep = environment.step({"agents": np.zeros(2, np.int32)})
    assert timestep.end
    assert timestep.truncation["agents"].all()
    assert not timestep.termination["agents"].any()
    assert timestep.legal_actions["agents"].all()

    environment = make(EASY, max_episode_steps=1)
    environment.reset(0)
    inner = environment._env.env
    inner.field[:] = 0
    inner.field[3, 3] = inner._food_spawned = sum(player.level for player in inner.players)
    for player, place in zip(inner.players, ((2, 3), (4, 3)), strict=True):
        player.position = place
    inner._gen_valid_moves()
    timestep = environment.step({"agents": np.full(2, 5, np.int32)})
    assert timestep.termination["agents"].all()
    assert not timestep.truncation["agents"].any()
    assert timestep.reward["agents"].sum() == pytest.approx(1.0)


def test_an_episode_depends_on_its_seed_alone():
    played = make(EASY)
    for seed in range(200):
        left, right = played.reset(seed)[0], make(EASY).reset(seed)[0]
        np.testing.assert_array_equal(left["agents"], right["agents"])
