"""Any agent ids, and agents of different sizes."""

from __future__ import annotations

import functools
import json
import pathlib
from collections.abc import Hashable
from typing import Any

import numpy as np
import pytest

import mava
from mava.environments import make
from mava.testing.toys import Echo
from tests.faults.collecting import Kept, collected
from tests.topologies.running import ran, small, stored

ODD = ("red/1", "agent 2", "a_0_b")
IDS: list[tuple[Hashable, ...]] = [(0, 1, 2), ODD, tuple(f"agent_{i}" for i in range(12))]


@pytest.mark.parametrize("ids", IDS, ids=["integers", "odd names", "twelve"])
def test_f4_each_agent_sees_acts_and_is_stored_in_its_own_row(ids: tuple[Hashable, ...]) -> None:
    echo = Kept(Echo, ids=ids, num_actions=len(ids))
    runner = collected(small(echo, epsilon=1.0, num_environments=2), 60)
    (group,) = runner.program.spec.groups
    assert group.agents == ids
    held = stored(runner, 60)
    tags = held["observation"]["agents"][..., 2]
    assert (tags == np.arange(len(ids))).all()
    for index, toy in enumerate(echo.made[:2]):
        given = [[actions[agent] for agent in ids] for actions in toy.actions]
        assert held["action"]["agents"][index].tolist() == given


@pytest.mark.slow
@pytest.mark.parametrize("ids", IDS[:2], ids=["integers", "odd names"])
def test_f4_logs_and_checkpoints_take_any_name(
    ids: tuple[Hashable, ...], tmp_path: pathlib.Path
) -> None:
    system = small(functools.partial(Echo, ids=ids)).replace("evaluator", episodes=2, every=30)
    result = mava.launch(system, total_steps=60, run_dir=tmp_path / "a run", absolute_metric=False)
    text = (tmp_path / "a run" / "metrics.jsonl").read_text()
    records = [json.loads(line) for line in text.splitlines()]
    names = {"integers": ["0", "1", "2"], "odd names": ["red_1", "agent_2", "a_0_b"]}
    wanted = names["integers" if ids == IDS[0] else "odd names"]
    last = [record for record in records if record["kind"] == "evaluation"][-1]
    assert [last[f"agent_return/agents/{name}"] for name in wanted] == [28.0] * 3
    policy = mava.load_policy(result.run_dir)
    timestep = system.environment.build().reset(0)
    assert policy(timestep)["agents"].shape == (3,)


class Watched:
    """A parallel environment that checks each action against its agent's own space."""

    def __init__(self, name: str) -> None:
        self.env = make(name)._env
        self.taken: list[dict[Any, Any]] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["env"], name)

    def step(self, actions: dict[Any, Any]) -> Any:
        for agent, action in actions.items():
            assert 0 <= action < self.env.action_space(agent).n, (agent, action)
        self.taken.append(actions)
        return self.env.step(actions)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["simple_speaker_listener_v4", "simple_tag_v3"])
def test_f5_groups_of_different_sizes_train_and_stay_in_their_own_spaces(name: str) -> None:
    watched = Kept(Watched, f"mpe2/{name}")
    runner = ran(small(watched, capacity=2_000, update_every=10), 1_000)
    toy = watched.made[0]
    assert len(toy.taken) == 1_000
    assert runner.trainer_steps == 99
    held = stored(runner, 1_000)
    for group in runner.program.spec.groups:
        for row, agent in enumerate(group.agents):
            space = toy.observation_space(agent)
            assert held["observation"][group.name].shape[3:] == space.shape
            used = np.unique(held["action"][group.name][0, :, row])
            assert used.tolist() == list(range(toy.action_space(agent).n))


def test_f6_without_masks_every_action_of_each_agent_is_legal_wherever_it_is_stored() -> None:
    runner = collected(small("mpe2/simple_speaker_listener_v4"), 60)
    held = stored(runner, 60)
    for group in runner.program.spec.groups:
        legal = held["next_legal_actions"][group.name]
        assert legal.shape == (1, 60, group.num_agents, group.actions.num_choices)
        assert legal.all()  # also at the time limit, where the value goes on
        assert runner._environment.current.legal_actions[group.name].all()
