"""Payoffs of the matrix games, and the right values of the probes."""

import itertools

import jax
import numpy as np
import pytest

from mava.environments import make, to_host


def episode(name, policy, seed=0, **kwargs):
    """Rewards ``[T]`` of each group's first agent, and the last timestep."""
    environment = to_host(make(name, **kwargs))
    timestep = environment.reset(seed)
    rewards = []
    while not timestep.end:
        timestep = environment.step(policy(timestep.observation))
        rewards.append({name: reward.tolist() for name, reward in timestep.reward.items()})
    return rewards, timestep


def fixed(first, second):
    return lambda _: {"agents": np.array([first, second], np.int32)}


@pytest.mark.parametrize(
    ("name", "kwargs", "payoff"),
    [
        ("matrix/climbing", {}, [[11, -30, 0], [-30, 7, 0], [0, 6, 5]]),
        ("matrix/penalty", {"k": -100}, [[-100, 0, 10], [0, 2, 0], [10, 0, -100]]),
        ("matrix/penalty", {"k": 0}, [[0, 0, 10], [0, 2, 0], [10, 0, 0]]),
    ],
)
def test_repeated_games(name, kwargs, payoff):
    environment = make(name, **kwargs)
    step = jax.jit(environment.step)
    state, _ = environment.reset(jax.random.key(0))
    for first, second in itertools.product(range(3), range(3)):
        _, timestep = step(state, fixed(first, second)(None))
        assert timestep.reward["agents"].tolist() == [payoff[first][second]] * 2


@pytest.mark.parametrize(
    ("name", "joint", "best"), [("matrix/climbing", (0, 0), 275), ("matrix/penalty", (0, 2), 250)]
)
def test_best_returns(name, joint, best):
    rewards, last = episode(name, fixed(*joint))
    assert len(rewards) == 25
    assert sum(reward["agents"][0] for reward in rewards) == best
    assert last.truncation["agents"].all()
    assert not last.termination["agents"].any()
    assert last.observation["agents"].tolist() == [[1], [1]]


def test_two_step():
    environment = make("matrix/two_step")
    step = jax.jit(environment.step)
    start, first = environment.reset(jax.random.key(0))
    assert first.observation["agents"].tolist() == [[1, 0, 0]] * 2
    for choice, other in itertools.product(range(2), range(2)):
        state, second = step(start, fixed(choice, other)(None))
        assert second.reward["agents"].tolist() == [0, 0]
        assert second.state.tolist() == [0, 1 - choice, choice]
        for i, j in itertools.product(range(2), range(2)):
            _, last = step(state, fixed(i, j)(None))
            assert last.reward["agents"][0] == ([[0, 1], [1, 8]][i][j] if choice else 7)
            assert last.termination["agents"].all()


CUE = {
    "probe/observation_decides": lambda seen: {"agents": (seen["agents"][:, 0] > 0)},
    "probe/delayed_reward": lambda seen: {"agents": np.ones(2)},
    "probe/own_action_decides": lambda seen: {"agents": seen["agents"].argmax(-1)},
    "probe/agreement": lambda seen: {"agents": np.ones(2)},
    "probe/two_groups": lambda seen: {
        "scouts": seen["scouts"].argmax(-1),
        "carriers": seen["carriers"].argmax(-1) + 1,
    },
    "probe/choices": lambda seen: {"agents": np.asarray([[2, 1, 4]] * 2)},
    "probe/image_cue": lambda seen: {"agents": seen["agents"][:, 0, 7, 0] == 255},
}


@pytest.mark.parametrize("name", CUE)
def test_probes_are_solved_by_their_rule_and_not_otherwise(name):
    def right(seen):
        return {group: np.asarray(a, np.int32) for group, a in CUE[name](seen).items()}

    def wrong(seen):
        return {group: np.concatenate([(a[:1] + 1) % 2, a[1:]]) for group, a in right(seen).items()}

    for seed in range(4):
        rewards, last = episode(name, right, seed)
        assert all(np.all(np.equal(reward, 1)) for reward in rewards[-1].values())
        assert all(flags.all() for flags in last.termination.values())
        rewards, _ = episode(name, wrong, seed)
        assert not all(np.all(np.equal(reward, 1)) for reward in rewards[-1].values())


def test_cues_vary_by_agent_and_seed():
    environment = to_host(make("probe/observation_decides"))
    cues = np.array([environment.reset(seed).observation["agents"][:, 0] for seed in range(64)])
    assert set(map(tuple, cues)) == {(-1, -1), (-1, 1), (1, -1), (1, 1)}


def test_hidden_cue_needs_memory():
    environment = to_host(make("probe/hidden_cue", delay=2))
    for seed in range(4):
        timestep = environment.reset(seed)
        cue = timestep.observation["agents"][:, :2].argmax(-1)
        for time in range(4):
            blank = [[0, 0, float(time == 3)]] * 2
            assert time == 0 or timestep.observation["agents"].tolist() == blank
            timestep = environment.step({"agents": cue.astype(np.int32)})
            assert timestep.reward["agents"].tolist() == [float(time == 3)] * 2
        assert timestep.end


def test_continuous_target():
    best, _ = episode(
        "probe/continuous_target", lambda _: {"agents": np.array([[-1.75, 4]] * 2, np.float32)}
    )
    middle, _ = episode(
        "probe/continuous_target", lambda _: {"agents": np.array([[-1.5, 2.5]] * 2, np.float32)}
    )
    assert best == [{"agents": [0, 0]}]
    assert middle == [{"agents": [-2.3125, -2.3125]}]


@pytest.mark.parametrize("length", [1, 3])
@pytest.mark.parametrize("kind", ["termination", "truncation"])
def test_constant_probes_end_as_they_say(kind, length):
    rewards, last = episode(f"probe/{kind}", fixed(0, 1), length=length)
    assert rewards == [{"agents": [1, 1]}] * length
    assert last.truncation["agents"].tolist() == [kind == "truncation"] * 2
    assert last.termination["agents"].tolist() == [kind == "termination"] * 2
    assert last.legal_actions["agents"].tolist() == [[kind == "truncation"] * 2] * 2
    assert not last.alive["agents"].any()
