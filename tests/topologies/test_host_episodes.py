"""Whole episodes in environments stepped by the host."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mava.environments import make
from mava.environments.base import JaxEnvironment
from mava.errors import EnvironmentFault
from mava.launcher.policy import random_policy
from mava.topologies.host_episodes import HostEpisodes
from mava.types import EnvironmentSpec, PyTree, TimeStep


@dataclasses.dataclass(frozen=True)
class Breaks(JaxEnvironment):
    """``matrix/climbing``, whose second agent is paid NaN in step 3."""

    @property
    def spec(self) -> EnvironmentSpec:
        return make("matrix/climbing").spec

    def reset(self, key: jax.Array) -> tuple[PyTree, TimeStep]:
        state, timestep = make("matrix/climbing").reset(key)
        return (state, jnp.zeros((), jnp.int32)), timestep

    def step(self, state: PyTree, actions: Mapping[str, jax.Array]) -> tuple[PyTree, TimeStep]:
        inner, steps = state
        inner, timestep = make("matrix/climbing").step(inner, actions)
        broken = jnp.asarray([0.0, jnp.nan])
        reward = timestep.reward["agents"] + jnp.where(steps == 2, broken, 0.0)
        return (inner, steps + 1), timestep._replace(reward={"agents": reward})


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
