"""Whole episodes in environments stepped by the host."""

from __future__ import annotations

import numpy as np
import pytest

from mava.environments import make
from mava.errors import EnvironmentFault
from mava.launcher.policy import random_policy
from mava.topologies.host_episodes import HostEpisodes
from tests.topologies.breaking import Breaks


def test_a_number_that_is_none_stops_an_evaluation_with_agent_and_step() -> None:
    episodes = HostEpisodes(Breaks, num_environments=2)
    act = random_policy(Breaks().spec)
    with pytest.raises(EnvironmentFault, match=r"evaluation, step 3.*agent_1.*reward.*nan"):
        episodes.run(act, 2, seed=0)


def test_the_number_of_environments_changes_nothing() -> None:
    def run(environments: int) -> np.ndarray:
        episodes = HostEpisodes(lambda: make("matrix/climbing"), environments)
        return episodes.run(random_policy(make("matrix/climbing").spec), 5, seed=3).returns

    alone = run(1)
    assert len(set(alone.tolist())) > 1
    for environments in (2, 4, 8):
        np.testing.assert_array_equal(run(environments), alone)
