"""Evaluation is greedy, exact in number, and apart from training."""

from __future__ import annotations

import dataclasses
import functools
import json
import pathlib
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

import mava
from mava.core.contexts import GroupContext, Params
from mava.core.lifecycle import InitParams, Score
from mava.environments import as_factory
from mava.testing.toy import Toy
from mava.testing.toys import Death, Echo
from mava.topologies.host_episodes import HostEpisodes
from mava.types import Array, EnvironmentSpec, PyTree
from tests.faults.collecting import Kept, collected
from tests.systems.solving import evaluated
from tests.topologies.running import assert_equal, small


class Follow(Toy):
    """Pays 1 for the action that equals the first number shown, which changes in each step."""

    def wanted(self) -> int:
        seed = self.seeds[-1] or 0
        return (seed + 7 * self.time * self.time + self.time // 2) % self.num_actions

    def observe(self, agent: Any) -> Any:
        return np.array([self.wanted(), self.time, 0.0], np.float32)

    def step(self, actions: Any) -> Any:
        self.right = self.wanted()
        return super().step(actions)

    def pay(self, agent: Any, action: Any) -> float:
        return float(action == self.right)


@dataclasses.dataclass(frozen=True)
class Knows(InitParams, Score):
    """A fixed network: the best action is the first number observed."""

    def init_params(self, key: Any, spec: EnvironmentSpec) -> dict[str, PyTree]:
        return {"q_network": {"one": jnp.ones(())}}

    def score(
        self, params: Params, observation: Array, memory: PyTree, context: GroupContext
    ) -> tuple[Array, PyTree]:
        choices = jnp.arange(context.group.actions.num_choices)
        wanted = observation[..., :1]
        return -jnp.abs(choices - wanted) * params["q_network"]["one"], memory

    def unroll(
        self, params: Params, observation: Array, start: Array, memory: PyTree, context: Any
    ) -> tuple[Array, PyTree]:
        return self.score(params, observation, memory, context)


def test_f26_a_hundred_evaluation_episodes_all_return_the_optimum_while_training_explores() -> None:
    follow = Kept(Follow, num_actions=5, length=6)
    system = small(follow, epsilon=1.0, sharing="none").without("q_network").with_(Knows())
    runner = collected(system, 60)
    before = runner.state()
    evaluation = evaluated(system, runner, 100)
    assert evaluation.returns == (6.0,) * 100
    assert evaluation.lengths == (6,) * 100
    assert_equal(runner.state().arrays, before.arrays)
    assert (runner.environment_steps, runner.episodes) == (60, 10)
    training, *evaluating = follow.made
    assert len(training.actions) == 60
    assert not {id(training)} & {id(toy) for toy in evaluating}
    seeds = [seed for toy in evaluating for seed in toy.seeds]
    assert len(set(seeds)) == len(seeds) == 100
    assert not set(seeds) & set(training.seeds)
    share = np.mean([a["agent_0"] for a in training.actions][:60])
    assert 1.0 < share < 3.0  # training went on at random


@pytest.mark.parametrize("episodes", [1, 3, 7])
def test_f31_exactly_as_many_episodes_as_asked_for(episodes: int) -> None:
    echo = Kept(Echo, length=(2, 5, 3, 9))
    system = small(echo, num_environments=4).replace("evaluator", episodes=episodes)
    runner = collected(system, 8)
    four = HostEpisodes(system.environment.build, num_environments=4)
    for environments in (four, runner.episode_runner()):
        made = len(echo.made)
        found = system["evaluator"].evaluate(_policy(runner), environments, seed=1)
        assert len(found.returns) == len(found.lengths) == episodes
        assert [sum(range(1, n + 1)) for n in found.lengths] == list(found.returns)
        assert sum(len(toy.seeds) for toy in echo.made[made:]) == episodes
        assert sum(len(toy.actions) for toy in echo.made[made:]) == sum(found.lengths)


def _policy(runner: Any) -> Any:
    from mava.topologies.base import policy_of

    return policy_of(runner.program, runner.variables())


ABSENT = as_factory(Death, deaths=((2, 0, 3), (0, 0, 2)))


@pytest.mark.slow
def test_f32_an_agent_that_never_comes_leaves_only_numbers(tmp_path: pathlib.Path) -> None:
    system = small(ABSENT, num_environments=2).replace("evaluator", episodes=3, every=50)
    result = mava.launch(system, total_steps=100, run_dir=tmp_path / "run")
    assert result.trainer_steps > 0
    for evaluation in [*result.evaluations, result.absolute_metric]:
        assert evaluation.agent_returns["agents"][1] == 0.0
        assert np.isfinite(evaluation.returns).all()
    text = (tmp_path / "run" / "metrics.jsonl").read_text()
    records = [json.loads(line, parse_constant=pytest.fail) for line in text.splitlines()]
    numbers = [value for record in records for value in record.values()]
    assert None not in numbers  # which stands for what is not a number
    assert {"training", "evaluation", "absolute"} <= {record["kind"] for record in records}


def test_f32_an_episode_without_anybody_is_not_counted() -> None:
    nobody = functools.partial(Death, deaths=((0, 0, 0), (1, 2, 0)))
    runner = collected(small(nobody), 20)
    assert runner.episodes == 10
    assert all(np.isfinite(value) for value in runner.advance(21).returns)
