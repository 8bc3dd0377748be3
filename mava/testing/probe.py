"""What probe environments share."""

from __future__ import annotations

import abc
from collections.abc import Mapping
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from mava.environments.base import JaxEnvironment
from mava.environments.joint import joint_timestep
from mava.types import ActionSpec, ArraySpec, EnvironmentSpec, GroupSpec, TimeStep

ByGroup = dict[str, jax.Array]
FLOAT = np.dtype(np.float32)


class ProbeState(NamedTuple):
    """``memory``: what the episode must not forget; ``time``: int32 ``[]``, steps taken."""

    memory: jax.Array
    time: jax.Array


class Probe(JaxEnvironment):
    """Base of the probes: episodes of ``length`` steps over a small memory."""

    length: int
    truncates = False

    @abc.abstractmethod
    def begin(self, key: jax.Array) -> jax.Array:
        """The memory at first."""

    @abc.abstractmethod
    def observe(self, state: ProbeState) -> ByGroup: ...

    @abc.abstractmethod
    def pay(self, state: ProbeState, actions: Mapping[str, jax.Array]) -> ByGroup:
        """The rewards of a step taken in ``state``."""

    def remember(self, state: ProbeState, actions: Mapping[str, jax.Array]) -> jax.Array:
        """The memory after a step taken in ``state``."""
        return state.memory

    def reset(self, key: jax.Array) -> tuple[ProbeState, TimeStep]:
        state = ProbeState(self.begin(key), jnp.zeros((), jnp.int32))
        return state, joint_timestep(self.spec, self.observe(state))

    def step(
        self, state: ProbeState, actions: Mapping[str, jax.Array]
    ) -> tuple[ProbeState, TimeStep]:
        reward = self.pay(state, actions)
        state = ProbeState(self.remember(state, actions), state.time + 1)
        over = state.time >= self.length
        return state, joint_timestep(
            self.spec,
            self.observe(state),
            reward,
            terminated=over & (not self.truncates),
            truncated=over & self.truncates,
        )


def group_spec(
    count: int, observation: tuple[int, ...], actions: ActionSpec, name: str = "agents"
) -> GroupSpec:
    stem = "agent" if name == "agents" else name
    ids = tuple(f"{stem}_{index}" for index in range(count))
    return GroupSpec(name, ids, ArraySpec(observation, FLOAT), actions)


def probe_spec(name: str, length: int, *groups: GroupSpec) -> EnvironmentSpec:
    return EnvironmentSpec(f"probe/{name}", groups, episode_limit=length)
