"""Environments stepped together, and episodes that are opened again."""

import pickle

import jax
import numpy as np
import pytest
from gymnasium.utils import EzPickle

from mava.environments import Environment, VectorEnvironment, as_factory, episode_seed, episodes
from mava.environments.episodes import why_not_replayed
from mava.errors import ConfigurationError, EnvironmentFault
from mava.testing import builders
from mava.testing.environment_contract import equal, random_actions
from mava.testing.toys import Crash, Echo


def stepped(vector, steps, rng):
    """The outcomes of random actions, which do not look at masks."""
    outcomes = []
    for _ in range(steps):
        actions = {
            g.name: rng.integers(0, g.actions.num_choices, (vector.num_environments, g.num_agents))
            for g in vector.spec.groups
        }
        outcomes.append(vector.step({name: a.astype(np.int32) for name, a in actions.items()}))
    return outcomes


@pytest.mark.parametrize("count", [1, 3])
def test_outcomes_are_true_and_current_is_fresh(count):
    vector = VectorEnvironment(as_factory(Echo, length=2), count, seed=0)
    first = vector.reset()
    assert first.observation["agents"].shape == (count, 2, 3)
    assert first.start.tolist() == [True] * count
    (outcome, current), (last, fresh) = stepped(vector, 2, np.random.default_rng(0))
    assert outcome is current
    assert last.end.all()
    assert last.observation["agents"][:, :, 1].tolist() == [[2, 2]] * count
    assert last.reward["agents"].tolist() == [[2, 2]] * count
    assert fresh.start.all()
    assert not fresh.end.any()
    assert fresh.observation["agents"][:, :, 1].tolist() == [[0, 0]] * count
    assert fresh.reward["agents"].tolist() == [[0, 0]] * count
    assert vector.current is fresh


def test_returned_arrays_are_left_alone():
    vector = VectorEnvironment(as_factory("mpe2/simple_spread_v3", max_cycles=3), 2, seed=0)
    vector.reset()
    kept = [(o, jax.tree.map(np.copy, o)) for o in stepped(vector, 10, np.random.default_rng(0))]
    assert all(equal(outcome, copy) for outcome, copy in kept)


def test_f1_many_episodes_of_the_right_length():
    vector = VectorEnvironment(as_factory(Echo, length=7), 1, seed=0)
    vector.reset()
    ends = [bool(o.end[0]) for o, _ in stepped(vector, 70, np.random.default_rng(0))]
    assert [i for i, end in enumerate(ends) if end] == list(range(6, 70, 7))


def test_f20_episodes_of_length_zero_are_skipped():
    vector = VectorEnvironment(as_factory(Echo, length=(0, 1, 0, 0, 2)), 1, seed=0)
    assert vector.reset().start.all()
    ends = [bool(o.end[0]) for o, _ in stepped(vector, 6, np.random.default_rng(0))]
    assert ends == [True, False, True] * 2


def test_f20_episodes_that_are_always_over():
    vector = VectorEnvironment(as_factory(Echo, length=0), 2, seed=0)
    with pytest.raises(EnvironmentFault, match="environment 0 of echo: 5 episodes in a row"):
        vector.reset()


def test_faults_name_the_environment():
    vector = VectorEnvironment(as_factory(Crash, at=2, fault="nan_reward"), 3, seed=0)
    vector.reset()
    with pytest.raises(EnvironmentFault, match=r"environment 0, episode 0 \(seed \d+\): crash"):
        stepped(vector, 2, np.random.default_rng(0))


def test_f27_seeds():
    def seeds(seed, stream):
        vector = VectorEnvironment(as_factory(Echo, length=1), 2, seed, stream)
        vector.reset()
        stepped(vector, 2, np.random.default_rng(0))
        return [seed for env in vector._environments for seed in env._env.seeds]

    assert seeds(3, 0) == [episode_seed(3, 0, e, i) for e in range(2) for i in range(3)]
    every = seeds(3, 0) + seeds(4, 0) + seeds(3, 1)
    assert len(set(every)) == len(every)
    assert all(0 <= seed < 2**31 for seed in every)


def carry_on(vector, others, steps=12):
    """Whether vectors go on in the same way."""
    left = stepped(vector, steps, np.random.default_rng(9))
    return all(equal(left, stepped(other, steps, np.random.default_rng(9))) for other in others)


@pytest.mark.parametrize(
    "factory",
    [
        as_factory("mpe2/simple_spread_v3", max_cycles=10),
        as_factory("mpe2/simple_tag_v3"),
        as_factory("matrix/two_step"),
        as_factory("probe/hidden_cue"),
    ],
    ids=lambda factory: factory.name,
)
def test_restored_episodes_go_on_to_the_bit(factory):
    vector = VectorEnvironment(factory, 2, seed=1)
    vector.reset()
    stepped(vector, 13, np.random.default_rng(1))
    opened = pickle.loads(pickle.dumps(vector.open_episodes()))
    other, again = (VectorEnvironment(factory, 2, seed=1) for _ in range(2))
    assert other.restore(opened) == [True, True]
    assert equal(other.current, vector.current)
    assert again.restore(other.open_episodes()) == [True, True]
    assert carry_on(vector, [other, again])


class Unseeded(Echo):
    """Shows numbers that no seed decides, but pickles."""

    def __init__(self):
        super().__init__(length=5)
        self.rng = np.random.default_rng()

    def observe(self, agent):
        return self.rng.random(3, np.float32)


class Unrepeatable(Unseeded):
    """Nor does it pickle."""

    def __reduce__(self):
        raise TypeError("no")


def test_pickling_where_playing_again_does_not_do():
    vector = VectorEnvironment(as_factory(Unseeded), 1, seed=0)
    vector.reset()
    stepped(vector, 3, np.random.default_rng(0))
    other = VectorEnvironment(as_factory(Unseeded), 1, seed=0)
    assert other.restore(vector.open_episodes()) == [True]
    assert equal(other.current, vector.current)
    assert carry_on(vector, [other])


def test_a_new_episode_where_nothing_does():
    vector = VectorEnvironment(as_factory(Unrepeatable), 2, seed=0)
    vector.reset()
    stepped(vector, 3, np.random.default_rng(0))
    other = VectorEnvironment(as_factory(Unrepeatable), 2, seed=0)
    outcomes = other.restore(vector.open_episodes())
    assert all("starts a new episode" in outcome for outcome in outcomes)
    assert "environment 1 of unrepeatable" in outcomes[1]
    assert other.current.start.all()


class Hidden(Echo):
    """Its own generator, seeded when it is made and never again, shows only in the last reward."""

    def __init__(self):
        super().__init__(length=5)
        self.rng = np.random.default_rng(0)

    def reset(self, seed=None, options=None):
        self.episode = -1
        return super().reset(seed, options)

    def pay(self, agent, action):
        return self.rng.random() if self.time == self.length else 0.0


class HiddenAway(Hidden, EzPickle):
    """What pickling brings back is a new environment."""

    def __init__(self):
        Hidden.__init__(self)
        EzPickle.__init__(self)


def test_state_that_a_timestep_hides_comes_back_with_the_pickle():
    vector = VectorEnvironment(as_factory(Hidden), 1, seed=0)
    vector.reset()
    stepped(vector, 8, np.random.default_rng(0))
    other = VectorEnvironment(as_factory(Hidden), 1, seed=0)
    assert other.restore(pickle.loads(pickle.dumps(vector.open_episodes()))) == [True]
    assert carry_on(vector, [other])


def test_an_environment_that_makes_itself_anew_is_played_again():
    vector = VectorEnvironment(as_factory(HiddenAway), 1, seed=0)
    vector.reset()
    stepped(vector, 3, np.random.default_rng(0))  # in the first episode nothing is hidden yet
    (opened,) = vector.open_episodes()
    assert opened.pickled is None
    other = VectorEnvironment(as_factory(HiddenAway), 1, seed=0)
    assert other.restore([opened]) == [True]
    assert carry_on(vector, [other])


@pytest.mark.parametrize("name", ["matrix/climbing", "probe/hidden_cue"])
def test_jax_environments_are_played_again_to_the_same_pickle(name):
    vector = VectorEnvironment(as_factory(name), 1, seed=0)
    vector.reset()
    stepped(vector, 2, np.random.default_rng(0))
    (opened,) = vector.open_episodes()
    other = VectorEnvironment(as_factory(name), 1, seed=0)
    assert opened.pickled is not None
    assert why_not_replayed(other._environments[0], opened) is None


@pytest.mark.parametrize("pickles", [True, False])
def test_actions_are_recorded_up_to_a_limit(monkeypatch, pickles):
    monkeypatch.setattr(episodes, "MOST_STEPS", 100)
    monkeypatch.setattr(episodes.ActionRecord.__init__, "__defaults__", (100,))
    kind = Echo if pickles else Unrepeatable

    def made():
        vector = VectorEnvironment(as_factory(kind), 1, seed=0)
        for environment in vector._environments:
            environment._env.lengths = (10_000,)
        return vector

    vector = made()
    vector.reset()
    stepped(vector, 100, np.random.default_rng(0))
    (opened,) = vector.open_episodes()
    assert (opened.steps, len(opened.actions["agents"])) == (100, 100)
    stepped(vector, 250, np.random.default_rng(0))
    (opened,) = vector.open_episodes()
    assert (opened.steps, len(opened.actions["agents"])) == (350, 0)
    assert all(len(buffer) == 64 for buffer in vector._records[0]._buffers.values())
    other = made()
    (outcome,) = other.restore([opened])
    if pickles:
        assert outcome is True
        assert carry_on(vector, [other])
        assert other.open_episodes()[0].steps == 362
    else:
        assert "starts a new episode: it has 350 steps, and actions are recorded" in outcome
        assert other.current.start.all()


class Bad(Environment):
    """Three agents; what is shown at each step is set from outside."""

    spec = builders.environment_spec(builders.group_spec(3, (2,), 2), state=1)

    def __init__(self):
        self.script = []

    def reset(self, seed):
        self.time = 0
        return self.shown()

    def step(self, actions):
        self.time += 1
        return self.shown()

    def shown(self):
        timestep = self.spec.zero_timestep()._replace(start=np.asarray(self.time == 0))
        for time, change in self.script:
            if time == self.time:
                timestep = change(timestep)
        return timestep


def at(field, index, value=np.nan, alive=(True, True, True)):
    """A timestep with one number changed, and these agents alive."""

    def change(timestep):
        array = getattr(timestep, field)["agents"].copy()
        array[index] = value
        return timestep._replace(
            **{field: {"agents": array}}, alive={"agents": np.array(alive, bool)}
        )

    return change


def begun(vector, steps):
    vector.reset()
    return stepped(vector, steps, np.random.default_rng(0))


def scripted(*script):
    vector = VectorEnvironment(as_factory(Bad), 2, seed=0)
    vector._environments[1].script = list(script)
    return vector


@pytest.mark.parametrize(
    ("script", "message"),
    [
        (
            [(0, at("observation", (2, 1)))],
            r"step 0: agent 'agents_2': observation\[1\] has .* nan",
        ),
        ([(2, at("observation", (0, 0), np.inf))], r"step 2: agent 'agents_0': observation\[0\]"),
        ([(2, at("reward", 1, -np.inf))], "step 2: agent 'agents_1': reward has the value -inf"),
        # The last observation of an agent that ends in this step counts.
        ([(1, at("observation", (1, 0), alive=(True, False, True)))], "step 1: agent 'agents_1'"),
        ([(1, at("reward", 1, alive=(True, False, True)))], "step 1: agent 'agents_1': reward"),
        ([(1, lambda t: t._replace(state=np.full(1, np.nan, np.float32)))], "the global state"),
    ],
)
def test_numbers_that_are_not_finite_stop_any_environment(script, message):
    vector = scripted(*script)
    with pytest.raises(
        EnvironmentFault, match=rf"environment 1, episode 0 .*test/made_up, .*{message}"
    ):
        begun(vector, 2)


def test_what_is_shown_of_the_dead_is_not_checked():
    gone = (True, False, True)
    dead = [(1, at("reward", 0, 1.0, alive=gone))]
    dead += [(2, at("observation", (1, 0), alive=gone)), (3, at("reward", 1, alive=gone))]
    vector = scripted(*dead)
    vector.reset()
    for outcome, _ in stepped(vector, 3, np.random.default_rng(0)):
        assert np.isfinite(outcome.observation["agents"]).all()
        assert np.isfinite(outcome.reward["agents"]).all()


def test_numbers_of_a_jax_environment_are_checked():
    vector = VectorEnvironment(as_factory("matrix/penalty", k=float("nan")), 1, seed=0)
    vector.reset()
    with pytest.raises(EnvironmentFault, match="matrix/penalty, step 1: agent 'agent_0': reward"):
        vector.step({"agents": np.zeros((1, 2), np.int32)})


def test_large_numbers_are_finite_and_integers_are_not_looked_at():
    large = scripted((1, at("reward", 0, 3e38)))
    large.reset()
    (outcome, _), *_ = stepped(large, 1, np.random.default_rng(0))
    assert outcome.reward["agents"][1, 0] == np.float32(3e38)
    images = VectorEnvironment(as_factory("probe/image_cue"), 1, seed=0)
    assert images.reset().observation["agents"].dtype == np.uint8


def test_long_episodes_are_recorded():
    vector = VectorEnvironment(as_factory("matrix/climbing", length=150), 1, seed=0)
    timestep = vector.reset()
    rng = np.random.default_rng(0)
    taken = []
    for _ in range(140):
        actions = random_actions(vector.spec, jax.tree.map(lambda x: x[0], timestep), rng)
        taken.append(actions["agents"])
        _, timestep = vector.step({"agents": actions["agents"][None]})
    (opened,) = vector.open_episodes()
    assert np.array_equal(opened.actions["agents"], taken)
    assert opened.actions["agents"].dtype == np.int32


def test_reset_comes_first():
    vector = VectorEnvironment(as_factory("matrix/climbing"), 1, seed=0)
    with pytest.raises(ValueError, match="reset comes first"):
        _ = vector.current
    with pytest.raises(ConfigurationError, match="num_environments is 0; it must be at least 1"):
        VectorEnvironment(as_factory("matrix/climbing"), 0, seed=0)
    assert vector.render() is None
