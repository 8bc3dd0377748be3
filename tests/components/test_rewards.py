"""Rewards as losses see them, and returns as people do."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

from mava.components.batches.rewards import (
    ChangeReward,
    RewardClipping,
    RewardNormaliser,
    RewardScaling,
)
from mava.core.system import build
from mava.errors import ConfigurationError, WiringError
from mava.testing import builders
from tests.components.test_contract import COMPONENTS
from tests.topologies.running import small

SPEC = builders.environment_spec(builders.group_spec(2, (1,), 3))
REWARD = np.asarray([[[1.0, -4.0], [0.25, 100.0]]], np.float32)
ALIVE = np.asarray([[[True, True], [True, False]]])


def changed(component: Any, *rewards: Any, alive: Any = ALIVE) -> np.ndarray:
    """The last of the rewards, after batches of all of them."""
    state = component.init_state(SPEC)
    for reward in rewards:
        batch = {"reward": {"agents": jnp.asarray(reward)}, "alive": {"agents": alive}}
        batch, state = component.prepare_batch(batch, state, {}, builders.learn_context(SPEC))
    return np.asarray(batch["reward"]["agents"])


def test_scaling_and_clipping() -> None:
    np.testing.assert_allclose(changed(RewardScaling(0.5), REWARD), REWARD / 2)
    clipped = changed(RewardClipping(-2.0, 0.5), REWARD)
    np.testing.assert_allclose(clipped, [[[0.5, -2.0], [0.25, 0.5]]])


def test_normalising_divides_by_the_deviation_of_what_the_living_were_paid() -> None:
    first, second = REWARD, np.asarray([[[2.0, 6.0], [1.0, np.nan]]], np.float32)
    paid = np.asarray([1.0, -4.0, 0.25, 2.0, 6.0, 1.0])
    found = changed(RewardNormaliser(clip=None), first, second)
    np.testing.assert_allclose(found[ALIVE], second[ALIVE] / paid.std(), rtol=1e-6)


def test_f33_rewards_times_a_thousand_look_the_same() -> None:
    component = RewardNormaliser()
    np.testing.assert_allclose(
        changed(component, REWARD), changed(component, 1000.0 * REWARD), rtol=1e-5
    )


def test_rewards_that_never_varied_stay_as_they_are() -> None:
    same = np.full((1, 2, 2), 7.3, np.float32)
    np.testing.assert_allclose(changed(RewardNormaliser(), same, same), same)
    np.testing.assert_allclose(changed(RewardNormaliser(), 0.0 * same), 0.0 * same)


def test_normalised_rewards_are_bounded() -> None:
    rare = np.zeros((50, 50, 2), np.float32)
    rare[3, 4, 0] = -1.0
    found = changed(RewardNormaliser(clip=3.0), rare, alive=np.ones(rare.shape, bool))
    assert found.min() == -3.0


@pytest.mark.parametrize(
    "make",
    [
        lambda: RewardScaling(0.0),
        lambda: RewardScaling(float("inf")),
        lambda: RewardClipping(1.0, 1.0),
        lambda: RewardClipping(low=float("nan")),
        lambda: RewardNormaliser(clip=-1.0),
    ],
)
def test_numbers_that_could_not_work_are_refused(make: Any) -> None:
    with pytest.raises(ConfigurationError, match=r"reward_(scaling|clipping|normaliser)"):
        make()


def test_what_sums_rewards_comes_after() -> None:
    with pytest.raises(WiringError, match="n_step_return must come after reward_scaling"):
        build(small("probe/agreement").with_(RewardScaling(0.1)))
    summing = {"discount", "advantage", "target"}
    for component in COMPONENTS:
        if summing & getattr(component, "provides", frozenset()):
            assert ChangeReward in component.after, component.name
