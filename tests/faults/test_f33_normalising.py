"""Normalised observations and rewards: masks, ids, stored numbers and reported returns stay as they
are."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

from mava.components.batches.n_step import NStepReturn
from mava.components.batches.rewards import RewardScaling
from mava.components.networks.agent_ids import AgentIds
from mava.components.networks.observation_normaliser import ObservationNormaliser
from mava.core.system import System, build
from mava.environments import as_factory
from mava.errors import WiringError
from mava.testing import builders
from mava.testing.toys import Masked
from tests.systems.solving import evaluated
from tests.topologies.running import assert_equal, params, ran, small, started, stored


def normalised(environment: Any, **options: Any) -> System:
    return small(environment, **options).with_(ObservationNormaliser(), before="agent_ids")


def test_it_stands_before_what_changes_the_shape() -> None:
    system = small("mpe2/simple_spread_v3").with_(ObservationNormaliser(), after="agent_ids")
    with pytest.raises(WiringError, match="put it before the component that changes them"):
        build(system)


@pytest.mark.slow
def test_f33_ids_and_masks_are_untouched_and_what_is_stored_is_raw() -> None:
    masked = functools.partial(Masked, "info", num_actions=5)
    system = normalised(as_factory(masked), epsilon=0.5)
    plain = small(as_factory(masked), epsilon=0.5)
    runner, other = ran(system, 60), ran(plain, 60)
    assert runner.trainer_steps > 0
    held = stored(runner, 60)
    np.testing.assert_array_equal(
        held["next_legal_actions"]["agents"], stored(other, 60)["next_legal_actions"]["agents"]
    )
    (group,) = runner.program.spec.groups
    state = runner.variables().components["observation_normaliser"]
    shown = held["observation"]["agents"][0]
    context = builders.group_context(group, state)
    seen = AgentIds().transform_observation(
        ObservationNormaliser().transform_observation(shown, context), context
    )
    ids = np.asarray(seen)[..., shown.shape[-1] :]
    np.testing.assert_array_equal(ids, np.broadcast_to(np.eye(group.num_agents), ids.shape))
    # Raw: the toy shows the number of its episode, its time and the agent.
    np.testing.assert_array_equal(shown, stored(other, 60)["observation"]["agents"][0])
    assert shown.max() == 8.0


@pytest.mark.slow
def test_f33_statistics_are_published_and_frozen_in_evaluation() -> None:
    system = normalised("mpe2/simple_spread_v3")
    runner = started(system)
    runner.advance(12)
    before = runner.variables().components["observation_normaliser"]
    assert before["agents"].seen == 0
    runner.advance(40)
    moments = runner.variables().components["observation_normaliser"]["agents"]
    assert moments.seen == runner.trainer_steps * 8 * 3
    state = runner.state()
    evaluated(system, runner, episodes=3)
    assert_equal(state.arrays, runner.state().arrays)


@pytest.mark.slow
def test_reported_returns_and_stored_rewards_stay_the_environments_own() -> None:
    plain = small("probe/constant_reward", n_step=1)
    scaled = plain.with_(RewardScaling(100.0), before=NStepReturn)
    one, other = ran(plain, 60), ran(scaled, 60)
    assert set(stored(other, 60)["reward"]["agents"].ravel()) == {1.0}
    assert set(other.advance(64).returns) == {1.0}
    assert not np.array_equal(
        params(one)["q_network"]["agents"]["params"]["Dense_0"]["kernel"],
        params(other)["q_network"]["agents"]["params"]["Dense_0"]["kernel"],
    )
