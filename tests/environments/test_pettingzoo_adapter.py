"""Parallel environments behind the adapter, by the faults that people met."""

import gymnasium.spaces as spaces
import numpy as np
import pytest

from mava.environments import adapt, make
from mava.errors import ConfigurationError, EnvironmentFault
from mava.testing.toys import Death, Echo, Spaces
from mava.types import ContinuousActions, DiscreteActions, MultiDiscreteActions
from tests.environments.playing import play_episode

BOX = spaces.Box(-1.0, 1.0, (2,))


@pytest.mark.parametrize("empties", [True, False])
def test_f1_final_step_that_empties_agents(empties):
    toy = Echo(length=7, empties=empties)
    environment = adapt(toy)
    episodes = [play_episode(environment, seed) for seed in range(10)]
    assert [len(episode) - 1 for episode in episodes] == [7] * 10
    assert len(toy.actions) == 70
    for number, episode in enumerate(episodes):
        last = episode[-1]
        assert last.reward["agents"].tolist() == [7.0, 7.0]
        assert last.termination["agents"].all()
        assert not last.truncation["agents"].any()
        assert last.observation["agents"].tolist() == [[number, 7, 0], [number, 7, 1]]
        assert sum(step.reward["agents"][0] for step in episode) == 28


def test_f3_action_keys_are_agents_and_the_last_reward_arrives():
    toy = Death((2, 4, 6))
    rewards = np.stack([step.reward["agents"] for step in play_episode(adapt(toy))])
    assert [len(actions) for actions in toy.actions] == [3, 3, 2, 2, 1, 1]
    assert rewards[:, 0].tolist() == [0, 1, 10, 0, 0, 0, 0]
    assert rewards.sum(axis=0).tolist() == [11, 13, 15]


def test_f3_agents_that_stay_listed_after_their_end_are_given_an_action():
    class Stays(Echo):
        def step(self, actions):
            observations, rewards, terminations, truncations, infos = super().step(actions)
            terminations["agent_0"] = terminations["agent_0"] or self.time >= 2
            return observations, rewards, terminations, truncations, infos

    toy = Stays(length=4, num_actions=5, action_start=3)
    environment = adapt(toy)
    environment.reset(0)
    for _ in range(4):
        timestep = environment.step({"agents": np.array([2, 2])})
    assert [actions["agent_0"] for actions in toy.actions] == [5, 5, 3, 3]
    assert timestep.end
    assert timestep.termination["agents"].all()


@pytest.mark.parametrize(
    "ids",
    [(0, 1, 2), ("red/1", "agent 2", "a_0_b"), tuple(f"agent_{i}" for i in range(12)), ((1, 2), 3)],
)
def test_f4_any_hashable_id_and_the_order_of_possible_agents(ids):
    toy = Echo(ids=ids, num_actions=len(ids))
    environment = adapt(toy)
    (group,) = environment.spec.groups
    assert (group.name, group.agents) == ("agents", ids)
    timestep = environment.reset(0)
    assert timestep.observation["agents"][:, 2].tolist() == list(range(len(ids)))
    environment.step({"agents": np.arange(len(ids))})
    assert toy.actions[0] == {agent: index for index, agent in enumerate(ids)}


def test_f4_group_names():
    def named(*ids):
        sizes = {agent: spaces.Box(-1, 1, (size,)) for agent, size in ids}
        spec = adapt(Spaces(sizes, {agent: spaces.Discrete(2) for agent in sizes})).spec
        return {group.name: group.agents for group in spec.groups}

    # A common stem counts only where the spaces are equal too; ids never make a group.
    assert named(("a_0", 1), ("b_0", 2), ("a_1", 1)) == {"a": ("a_0", "a_1"), "b": ("b_0",)}
    assert named(("a_0", 1), ("a_1", 2)) == {"group_0": ("a_0",), "group_1": ("a_1",)}
    assert named((1, 1), (2, 2)) == {"group_0": (1,), "group_1": (2,)}
    assert named(("red/1", 1), ("b_1", 2)) == {"group_0": ("red/1",), "b": ("b_1",)}


def test_f5_groups_of_different_sizes():
    spec = make("mpe2/simple_speaker_listener_v4").spec
    assert [(g.observation.shape, g.actions.num_choices) for g in spec.groups] == [
        ((3,), 3),
        ((11,), 5),
    ]
    spec = make("mpe2/simple_tag_v3").spec
    assert [(g.num_agents, g.observation.shape) for g in spec.groups] == [(3, (16,)), (1, (14,))]


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ({"a": ["agent_0"]}, r"no group has the agents \['agent_1'\]"),
        ({"a": ["agent_0", "agent_1"], "b": ["agent_1"]}, "is in group 'a' and again in 'b'"),
        ({"a": ["agent_0", "agent_9"]}, "unknown agent 'agent_9'; did you mean"),
        ({"a/b": ["agent_0", "agent_1"]}, "cannot name a group"),
        ({"a": []}, "needs a list of agents"),
    ],
)
def test_given_groups_are_checked(groups, message):
    with pytest.raises(ConfigurationError, match=message):
        adapt(Echo(), groups=groups)


def test_given_groups():
    environment = adapt(Echo(), groups={"b": ["agent_1"], "a": ["agent_0"]})
    assert environment.spec.group_names == ("b", "a")
    assert environment.reset(0).observation["b"][0, 2] == 1
    mixed = Spaces({"x": BOX, "y": spaces.Box(0, 1, (3,))}, dict.fromkeys("xy", spaces.Discrete(2)))
    with pytest.raises(ConfigurationError, match="joins 'x' and 'y', whose spaces differ"):
        adapt(mixed, groups={"all": ["x", "y"]})


@pytest.mark.parametrize(("count", "start"), [(3, -1), (2, 10)])
def test_f9_discrete_with_a_start(count, start):
    toy = Echo(num_actions=count, action_start=start, length=count + 1)
    environment = adapt(toy)
    assert environment.spec["agents"].actions == DiscreteActions(count, start)
    environment.reset(0)
    for index in range(count):
        environment.step({"agents": np.full(2, index, np.int32)})
    assert [actions["agent_0"] for actions in toy.actions] == list(range(start, start + count))


def test_f10_multi_discrete_and_multi_binary():
    actions = {"a": spaces.MultiDiscrete([3, 2, 5], start=[0, -1, 4]), "b": spaces.MultiBinary(3)}
    toy = Spaces(dict.fromkeys("ab", BOX), actions)
    environment = adapt(toy)
    assert environment.spec["a"].actions == MultiDiscreteActions((3, 2, 5), (0, -1, 4))
    assert environment.spec["b"].actions == MultiDiscreteActions((2, 2, 2))
    assert environment.reset(0).legal_actions["a"].shape == (1, 10)
    environment.step({"a": np.array([[2, 1, 4]]), "b": np.array([[1, 0, 1]])})
    assert toy.actions[0]["a"].tolist() == [2, 0, 8]
    assert toy.actions[0]["b"].tolist() == [1, 0, 1]


@pytest.mark.parametrize("form", ["flat", "tuple"])
def test_f10_masks_of_multi_discrete(form):
    flat = np.array([1, 0, 1, 0, 1], np.int8)

    class Told(Spaces):
        def inform(self, agent):
            return {"action_mask": flat if form == "flat" else (flat[:3], flat[3:])}

    environment = adapt(Told({"a": BOX}, {"a": spaces.MultiDiscrete([3, 2])}))
    assert environment.reset(0).legal_actions["agents"].tolist() == [flat.astype(bool).tolist()]


def test_f11_f12_boxes_keep_their_bounds_and_images_their_dtype():
    low, high = np.array([-2, 0, 10]), np.array([-1, 5, 30])
    actions = {
        "a": spaces.Box(low, high, dtype=np.float64),
        "b": spaces.Box(-np.inf, np.inf, (2, 3)),
    }
    image = spaces.Box(0, 255, (5, 4, 3), np.uint8)
    toy = Spaces(dict.fromkeys("ab", image), actions)
    environment = adapt(toy)
    given = environment.spec["a"].actions
    assert given == ContinuousActions((3,), (-2.0, 0.0, 10.0), (-1.0, 5.0, 30.0))
    assert not environment.spec["b"].actions.is_bounded
    timestep = environment.reset(0)
    assert timestep.observation["a"].dtype == np.uint8
    assert timestep.observation["a"].shape == (1, 5, 4, 3)
    assert timestep.legal_actions["a"].shape == (1, 0)
    taken = {"a": np.array([[-1.5, 2.5, 20]], np.float32), "b": np.zeros((1, 2, 3), np.float32)}
    environment.step(taken)
    assert toy.actions[0]["a"].dtype == np.float64
    assert toy.actions[0]["a"].tolist() == [-1.5, 2.5, 20]


def test_f14_nested_observation_with_a_mask():
    inner = spaces.Dict({"a": spaces.Discrete(5), "b": spaces.Box(-1, 1, (10, 10))})
    space = spaces.Dict({"action_mask": spaces.MultiBinary(4), "observation": inner})
    value = {
        "action_mask": np.array([0, 1, 1, 0], np.int8),
        "observation": {"a": 3, "b": np.arange(100.0).reshape(10, 10)},
    }

    class Nested(Spaces):
        def observe(self, agent):
            return value

    environment = adapt(Nested({"x": space}, {"x": spaces.Discrete(4)}))
    assert environment.spec["agents"].observation.shape == (105,)
    timestep = environment.reset(0)
    row = timestep.observation["agents"][0]
    assert row[:5].tolist() == [0, 0, 0, 1, 0]
    assert row[5:].tolist() == list(range(100))
    assert timestep.legal_actions["agents"].tolist() == [[False, True, True, False]]
    value["observation"] = {"a": 3}
    with pytest.raises(EnvironmentFault, match=r"observation\['observation'\]\['b'\] is missing"):
        environment.reset(0)


def test_f27_the_seed_reaches_environment_and_spaces():
    toy = Spaces({"a": BOX}, {"a": spaces.Discrete(2)})
    environment = adapt(toy, reset_kwargs={"options": {}})
    starts = [environment.reset(seed).observation["agents"] for seed in (5, 5, 6)]
    assert toy.seeds == [5, 5, 6]
    assert np.array_equal(starts[0], starts[1])
    assert not np.array_equal(starts[0], starts[2])


def test_f32_an_agent_that_is_absent_for_a_whole_episode():
    environment = adapt(Death([(2, 0, 3), (2, 2, 2)]))
    first, second = play_episode(environment), play_episode(environment)
    assert not any(step.alive["agents"][1] for step in first)
    assert not any(step.termination["agents"][1] for step in first)
    assert sum(step.reward["agents"][1] for step in first) == 0
    assert second[0].alive["agents"].all()


@pytest.mark.parametrize(
    ("observation", "action", "message"),
    [
        (spaces.Text(3), spaces.Discrete(2), "agent 'a' has an observation space .* Text"),
        (BOX, spaces.Tuple([spaces.Discrete(2)]), "agent 'a' has an action space .* Tuple"),
        (BOX, spaces.Box(0, 2**30, (1,), np.int64), "declare it float32"),
    ],
)
def test_spaces_without_a_form_are_refused(observation, action, message):
    with pytest.raises(ConfigurationError, match=message):
        adapt(Spaces({"a": observation}, {"a": action}))


def test_whole_numbers_in_a_box_are_choices():
    toy = Spaces({"a": BOX}, {"a": spaces.Box(-1, 1, (2,), np.int32)})
    environment = adapt(toy)
    assert environment.spec["agents"].actions == MultiDiscreteActions((3, 3), (-1, -1))
    environment.reset(0)
    environment.step({"agents": np.array([[0, 2]])})
    assert toy.actions[0]["a"].tolist() == [-1, 1]


def test_possible_agents_are_needed():
    toy = Echo()
    del toy.possible_agents
    with pytest.raises(ConfigurationError, match="no `possible_agents`"):
        adapt(toy)


def test_global_state():
    environment = make("mpe2/simple_spread_v3", global_state=True)
    assert environment.spec.state.shape == environment.reset(0).state.shape == (54,)
    with pytest.raises(ConfigurationError, match="global_state=True needs"):
        adapt(Echo(), global_state=True)


def test_actions_of_a_wrong_shape_are_refused():
    environment = adapt(Echo())
    environment.reset(0)
    with pytest.raises(ValueError, match=r"has shape \(3,\), needs \(2,\)"):
        environment.step({"agents": np.zeros(3, np.int32)})
