"""F34: opposed rewards are never made one team's reward in silence."""

from __future__ import annotations

import functools
from collections.abc import Hashable
from typing import Any

import numpy as np
import pytest

import mava
from mava.components.batches.opposition import first_moments, most_opposed, seen
from mava.core.lifecycle import Observe
from mava.core.system import System
from mava.environments import as_factory
from mava.errors import ConfigurationError
from mava.systems import qmix, vdn
from mava.testing.toy import Toy

slow = functools.partial(pytest.param, marks=pytest.mark.slow)

SMALL: dict[str, Any] = {
    "num_environments": 4,
    "hidden_sizes": (8,),
    "min_size": 200,
    "batch_size": 1_024,
    "update_every": 8,
}
STEPS = 1_200
"""Enough for 100,000 transitions in batches, on which opposition is decided."""


class ZeroSum(Toy):
    """Pays the first agent what it takes from the second."""

    def pay(self, agent: Hashable, action: Any) -> Any:
        stake = float((7 * self.time + 3 * self.episode) % 5 - 2)
        return stake if agent == self.possible_agents[0] else -stake


def quiet(make: Any, environment: Any, **options: Any) -> System:
    return make(environment, **{**SMALL, **options}).without(Observe, "evaluator")


@pytest.mark.slow
@pytest.mark.parametrize("make", [vdn, qmix])
def test_a_run_on_opposed_rewards_ends_with_what_to_do(make: Any) -> None:
    system = quiet(make, as_factory(ZeroSum))
    message = (
        r"team_reward: the rewards of agent_0 and agent_1 are opposed \(correlation -1\.00\).*"
        r"madqn.*team_reward\.opposed='allow'"
    )
    with pytest.raises(ConfigurationError, match=message):
        mava.launch(system, total_steps=STEPS)


@pytest.mark.slow
def test_by_name_they_are_joined() -> None:
    system = quiet(vdn, as_factory(ZeroSum)).replace("team_reward", opposed="allow")
    assert mava.launch(system, total_steps=STEPS).reason == "total_steps"


def random_rewards(name: str, steps: int = 1_200) -> np.ndarray:
    """Of all agents, ``[steps, N]``, under random legal actions."""
    environment = as_factory(name).build()
    rng, found = np.random.default_rng(0), []
    timestep = environment.reset(seed=0)
    for step in range(steps):
        if timestep.end:
            timestep = environment.reset(seed=step)
        actions = {
            group: np.asarray([rng.choice(np.flatnonzero(row)) for row in legal], np.int32)
            for group, legal in timestep.legal_actions.items()
        }
        timestep = environment.step(actions)
        found.append(np.concatenate(list(timestep.reward.values())))
    environment.close()
    return np.asarray(found)


@pytest.mark.parametrize(
    ("name", "opposed"),
    [
        ("mpe2/simple_adversary_v3", True),
        slow("mpe2/simple_tag_v3", True),
        slow("mpe2/simple_push_v3", True),
        slow("mpe2/simple_spread_v3", False),
        ("mpe2/simple_speaker_listener_v4", False),
        slow("mpe2/simple_reference_v3", False),
        ("lbforaging/Foraging-8x8-2p-2f-coop-v3", False),
        slow("lbforaging/Foraging-10x10-3p-3f-v3", False),
    ],
)
def test_what_random_play_shows(name: str, opposed: bool) -> None:
    """Each transition sampled 16 times, as in training."""
    if name.startswith("lbforaging"):
        pytest.importorskip("lbforaging")
    rewards = random_rewards(name)
    moments = first_moments(rewards.shape[1])
    alive = np.ones((128, 1, rewards.shape[1]), bool)
    rng = np.random.default_rng(0)
    for _ in range(16 * len(rewards) // 128):
        batch = rewards[rng.integers(len(rewards), size=128)][:, None]
        moments = seen(moments, batch, alive, lambda tree: tree)
    assert (most_opposed(moments) is not None) == opposed
