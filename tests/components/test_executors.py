"""The executor, what is recorded, and the evaluator."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mava.components.evaluators.evaluator import Evaluator
from mava.components.executors.executor import Executor, RecordTransition
from mava.core.contexts import ActHooks, Selection
from mava.core.evaluation import ActFunction, Episodes
from mava.errors import ConfigurationError
from mava.testing import builders

SPEC = builders.environment_spec(builders.group_spec(2, (1,), 3), state=2)


def test_the_executor_transforms_scores_and_selects() -> None:
    timestep = builders.timestep(SPEC)

    def transform_observation(observation: Any) -> Any:
        assert observation is timestep.observation
        return "transformed"

    def score(observation: Any, memory: Any) -> Any:
        assert (observation, memory) == ("transformed", "before")
        return "scores", "between"

    def select_action(scores: Any, legal_actions: Any, memory: Any) -> Any:
        assert (scores, memory) == ("scores", "between")
        assert legal_actions is timestep.legal_actions
        return {"agents": Selection("action", {})}, "after"  # type: ignore[arg-type]

    hooks = ActHooks(transform_observation, score, select_action)
    found: Any = Executor().act(hooks, timestep, "before")  # type: ignore[arg-type]
    assert found == ({"agents": ("action", {})}, "after")


def test_a_transition_is_stored_with_its_true_outcome() -> None:
    made = builders.transition(SPEC, seed=3)
    after = made.next_timestep._replace(end=np.asarray(True))
    made = made._replace(
        timestep=made.timestep._replace(start=np.asarray(True)), next_timestep=after
    )
    item = RecordTransition().record(made)
    now = {"observation": made.timestep.observation, "alive": made.timestep.alive}
    then = {"reward": after.reward, "termination": after.termination}
    then |= {"truncation": after.truncation, "next_observation": after.observation}
    then |= {"next_legal_actions": after.legal_actions, "action": made.action}
    for name, value in {**now, **then}.items():
        np.testing.assert_array_equal(item.pop(name)["agents"], value["agents"])
    assert item == {"start": np.asarray(True), "end": np.asarray(True)}


def test_observations_are_stored_in_their_own_dtype() -> None:
    spec = builders.environment_spec(builders.group_spec(2, (4, 4, 3), dtype=np.uint8))
    item = RecordTransition().record(builders.transition(spec))
    for name in ("observation", "next_observation"):
        assert item[name]["agents"].dtype == np.uint8
        assert item[name]["agents"].nbytes == 2 * 4 * 4 * 3


def test_the_mask_of_the_true_outcome_is_stored() -> None:
    """Also of a truncated agent, whose value goes on from its last observation."""
    made = builders.transition(SPEC)
    before, last = np.asarray([[True, False, True]] * 2), np.asarray([[False, True, True]] * 2)
    cut = {"agents": np.asarray([True, False])}
    made = made._replace(
        timestep=made.timestep._replace(legal_actions={"agents": before}),
        next_timestep=made.next_timestep._replace(legal_actions={"agents": last}, truncation=cut),
    )
    stored = np.asarray(RecordTransition().record(made)["next_legal_actions"]["agents"])
    assert stored.tolist() == last.tolist()


class Runner:
    """Episode i returns i to the first agent and 3 i to the second."""

    def __init__(self) -> None:
        self.calls: list[tuple[int, int]] = []

    def run(self, act: ActFunction, episodes: int, seed: int) -> Episodes:
        self.calls.append((episodes, seed))
        returns = np.arange(episodes)[:, None] * np.asarray([1.0, 3.0])
        return Episodes({"agents": returns}, np.arange(episodes) + 5, {"won": np.ones(episodes)})


def test_the_evaluator_counts_episodes_exactly() -> None:
    act = ActFunction(lambda *args: ({}, ()))
    for episodes in (1, 3, 7):
        runner = Runner()
        found = Evaluator(episodes=episodes).evaluate(act, runner, 11)
        assert runner.calls == [(episodes, 11)]
        assert found.returns == tuple(2.0 * i for i in range(episodes))
        assert found.lengths == tuple(i + 5 for i in range(episodes))
        assert found.mean_return == episodes - 1
        mean = (episodes - 1) / 2
        assert found.agent_returns == {"agents": (mean, 3 * mean)}
        assert found.metrics == {"won": 1.0}


@pytest.mark.parametrize("fields", [{"episodes": 0}, {"every": 0}])
def test_an_evaluation_has_episodes(fields: Any) -> None:
    with pytest.raises(ConfigurationError, match="both must be at least 1"):
        Evaluator(**fields)
    assert Evaluator(every=None).every is None
