"""MADQN solves the probe environments, each of which shows one kind of fault."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest
from gymnasium import spaces

from mava.core.system import build
from mava.environments import as_factory
from mava.errors import WiringError
from mava.systems import madqn
from mava.testing.toys import Const, Spaces
from tests.systems.solving import evaluated, q_values, trained

MAPPED = {"agent_0": "odd", "agent_1": "even", "agent_2": "odd"}
slow = functools.partial(pytest.param, marks=pytest.mark.slow)


@pytest.mark.parametrize(
    ("probe", "options"),
    [
        ("observation_decides", {}),
        slow("constant_reward", {}),
        slow("delayed_reward", {}),
        slow("own_action_decides", {}),
        slow("agreement", {"hidden_sizes": (32, 32)}),
        slow("image_cue", {}),
        slow("two_groups", {}),
        slow("delayed_reward", {"n_step": 3, "num_environments": 1}),
        slow("own_action_decides", {"n_step": 3}),
        slow("observation_decides", {"prioritised": True}),
        slow("own_action_decides", {"sharing": "none"}),
        slow("own_action_decides", {"sharing": MAPPED, "n_step": 3, "prioritised": True}),
    ],
)
def test_every_greedy_episode_is_the_best_there_is(probe: str, options: dict[str, Any]) -> None:
    system, runner = trained(f"probe/{probe}", **options)
    evaluation = evaluated(system, runner)
    assert evaluation.returns == (1.0,) * 16
    assert set(sum(evaluation.agent_returns.values(), ())) == {1.0}


@pytest.mark.parametrize(
    ("environment", "value", "options"),
    [
        ("probe/truncation", 10.0, {}),
        slow("probe/termination", 1.0, {}),
        slow(functools.partial(Const, True), 10.0, {}),
        slow(functools.partial(Const, False), 1.0, {}),
        slow(functools.partial(Const, True, length=2), 10.0, {"n_step": 3}),
        # Two steps that look alike, worth 1.9 and 1.
        slow(functools.partial(Const, False, length=2), 1.45, {"n_step": 3}),
    ],
)
def test_f15_a_truncated_step_is_worth_what_follows_and_a_terminal_one_its_reward(
    environment: Any, value: float, options: dict[str, Any]
) -> None:
    fast = {"updates": 4, "target_period": 10, "learning_rate": 5e-3, **options}
    system, runner = trained(environment, 1_200, **fast)
    assert np.abs(q_values(system, runner) - value).max() < 0.5


def test_f10_continuous_actions_are_refused_at_build() -> None:
    message = r"q_network values Discrete actions.*agent_0, agent_1.*ContinuousActions.*-2\.0"
    with pytest.raises(WiringError, match=message):
        build(madqn("probe/continuous_target"))


def test_f10_multi_discrete_is_refused_with_part_agent_and_space() -> None:
    box = spaces.Box(-1.0, 1.0, (2,))
    actions = {"left": spaces.Discrete(3), "right": spaces.MultiDiscrete([3, 2, 5])}
    factory = as_factory(Spaces, observations=dict.fromkeys(actions, box), actions=actions)
    message = r"q_network values Discrete.*agents right\).*MultiDiscreteActions.*\(3, 2, 5\)"
    with pytest.raises(WiringError, match=message):
        build(madqn(factory))


@pytest.mark.slow
@pytest.mark.parametrize("game", ["climbing", "penalty"])
def test_a_repeated_matrix_game_pays_the_sum_of_its_25_steps(game: str) -> None:
    system, runner = trained(f"matrix/{game}", 500)
    environment = system.environment.build()
    payoff = np.asarray(environment.payoff)
    evaluation = evaluated(system, runner, episodes=3)
    assert evaluation.lengths == (25, 25, 25)
    actions = q_values(system, runner).argmax(-1)
    assert evaluation.returns == pytest.approx([25 * payoff[tuple(actions)]] * 3)
    assert runner.episodes == 500 // 25
