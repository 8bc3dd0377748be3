"""Probe environments: each is solved at once by a right system, and shows one kind of fault.

All are pure JAX, all agents stay until the end, and every episode ends by itself. Those of several
groups of agents are in ``group_probes``.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import jax
import jax.numpy as jnp
import numpy as np

from mava.testing.probe import ByGroup, Probe, ProbeState, group_spec, probe_spec
from mava.types import (
    ArraySpec,
    ContinuousActions,
    DiscreteActions,
    EnvironmentSpec,
    MultiDiscreteActions,
)


@dataclasses.dataclass(frozen=True)
class _Constant(Probe):
    """Constant observation 1, reward 1 for each agent in each step, two actions that do nothing."""

    length: int = 1
    num_agents: int = 2
    _name = ""

    @property
    def spec(self) -> EnvironmentSpec:
        return probe_spec(
            self._name, self.length, group_spec(self.num_agents, (1,), DiscreteActions(2))
        )

    def begin(self, key: jax.Array) -> jax.Array:
        return jnp.zeros(())

    def observe(self, state: ProbeState) -> ByGroup:
        return {"agents": jnp.ones((self.num_agents, 1))}

    def pay(self, state: ProbeState, actions: Mapping[str, jax.Array]) -> ByGroup:
        return {"agents": jnp.ones(self.num_agents)}


@dataclasses.dataclass(frozen=True)
class ConstantReward(_Constant):
    """Isolates the loss and the optimiser: reward 1, then the end. Every value is 1."""

    _name = "constant_reward"


@dataclasses.dataclass(frozen=True)
class Termination(_Constant):
    """Isolates bootstrapping past a terminal state. Values are 1 with ``length=1``, for any
    discount; a system that ignores termination goes to ``1 / (1 - discount)``."""

    _name = "termination"


@dataclasses.dataclass(frozen=True)
class Truncation(_Constant):
    """Isolates bootstrapping at a time limit. Values are ``1 / (1 - discount)``; a system that
    takes truncation for termination stays at 1."""

    _name = "truncation"
    truncates = True


@dataclasses.dataclass(frozen=True)
class ObservationDecides(Probe):
    """Isolates the way from observation to action. Each agent draws its own cue, -1 or 1, and is
    paid 1 for action 0 or 1 accordingly, else -1. The best return is 1; without the agent's own
    observation it is 0."""

    num_agents: int = 2
    length: int = dataclasses.field(default=1, init=False)

    @property
    def spec(self) -> EnvironmentSpec:
        group = group_spec(self.num_agents, (1,), DiscreteActions(2))
        return probe_spec("observation_decides", self.length, group)

    def begin(self, key: jax.Array) -> jax.Array:
        return jax.random.bernoulli(key, shape=(self.num_agents,)).astype(jnp.int32)

    def observe(self, state: ProbeState) -> ByGroup:
        return {"agents": 2.0 * state.memory[:, None] - 1.0}

    def pay(self, state: ProbeState, actions: Mapping[str, jax.Array]) -> ByGroup:
        return {"agents": jnp.where(actions["agents"] == state.memory, 1.0, -1.0)}


@dataclasses.dataclass(frozen=True)
class DelayedReward(Probe):
    """Isolates discounting and credit over time. Action 1 in the first of two steps is paid 1 after
    the second. The observation is ``[first step, action 1 was taken]``. The best return is 1; the
    value of the first observation is the discount."""

    num_agents: int = 2
    length: int = dataclasses.field(default=2, init=False)

    @property
    def spec(self) -> EnvironmentSpec:
        group = group_spec(self.num_agents, (2,), DiscreteActions(2))
        return probe_spec("delayed_reward", self.length, group)

    def begin(self, key: jax.Array) -> jax.Array:
        return jnp.zeros(self.num_agents, jnp.int32)

    def observe(self, state: ProbeState) -> ByGroup:
        first = jnp.broadcast_to(state.time == 0, self.num_agents)
        return {"agents": jnp.stack([first, state.memory], axis=-1)}

    def remember(self, state: ProbeState, actions: Mapping[str, jax.Array]) -> jax.Array:
        return jnp.where(state.time == 0, actions["agents"], state.memory).astype(jnp.int32)

    def pay(self, state: ProbeState, actions: Mapping[str, jax.Array]) -> ByGroup:
        return {"agents": jnp.where(state.time == 1, state.memory, 0)}


@dataclasses.dataclass(frozen=True)
class OwnActionDecides(Probe):
    """Isolates mixed-up agents. Each sees its own index, one-hot, and is paid 1 for the action that
    equals it, else 0, whatever the others do. The best return is 1 for each; agents whose rows are
    swapped anywhere get 0."""

    num_agents: int = 3
    length: int = dataclasses.field(default=1, init=False)

    @property
    def spec(self) -> EnvironmentSpec:
        group = group_spec(self.num_agents, (self.num_agents,), DiscreteActions(self.num_agents))
        return probe_spec("own_action_decides", self.length, group)

    def begin(self, key: jax.Array) -> jax.Array:
        return jnp.zeros(())

    def observe(self, state: ProbeState) -> ByGroup:
        return {"agents": jnp.eye(self.num_agents)}

    def pay(self, state: ProbeState, actions: Mapping[str, jax.Array]) -> ByGroup:
        return {"agents": actions["agents"] == jnp.arange(self.num_agents)}


@dataclasses.dataclass(frozen=True)
class Agreement(Probe):
    """Isolates the joint action. Two agents with a constant observation are both paid 1 when their
    actions are equal, else 0. The best return is 1 for each; agents that do not adapt to each other
    get 1/2."""

    num_actions: int = 2
    length: int = dataclasses.field(default=1, init=False)

    @property
    def spec(self) -> EnvironmentSpec:
        group = group_spec(2, (1,), DiscreteActions(self.num_actions))
        return probe_spec("agreement", self.length, group)

    def begin(self, key: jax.Array) -> jax.Array:
        return jnp.zeros(())

    def observe(self, state: ProbeState) -> ByGroup:
        return {"agents": jnp.ones((2, 1))}

    def pay(self, state: ProbeState, actions: Mapping[str, jax.Array]) -> ByGroup:
        first, second = actions["agents"]
        return {"agents": jnp.broadcast_to(first == second, 2)}


@dataclasses.dataclass(frozen=True)
class ContinuousTarget(Probe):
    """Isolates the scaling of continuous actions. Bounds are ``[-2, -1] x [0, 5]``, the reward is
    minus the squared distance to ``(-1.75, 4)``. The best return is 0; the middle of the bounds
    gets -2.3125."""

    num_agents: int = 2
    length: int = dataclasses.field(default=1, init=False)

    @property
    def spec(self) -> EnvironmentSpec:
        actions = ContinuousActions((2,), (-2.0, 0.0), (-1.0, 5.0))
        return probe_spec(
            "continuous_target", self.length, group_spec(self.num_agents, (1,), actions)
        )

    def begin(self, key: jax.Array) -> jax.Array:
        return jnp.zeros(())

    def observe(self, state: ProbeState) -> ByGroup:
        return {"agents": jnp.ones((self.num_agents, 1))}

    def pay(self, state: ProbeState, actions: Mapping[str, jax.Array]) -> ByGroup:
        away = actions["agents"] - jnp.asarray([[-1.75, 4.0]])
        return {"agents": -jnp.sum(away**2, axis=-1)}


@dataclasses.dataclass(frozen=True)
class Choices(Probe):
    """Isolates several choices at once. Two agents make three, of 3, 2 and 5 options, and are paid
    a third for each that is the last of its range. The best return is 1; a mix-up of the choices
    shows as actions out of range."""

    num_agents: int = 2
    length: int = dataclasses.field(default=1, init=False)

    @property
    def spec(self) -> EnvironmentSpec:
        group = group_spec(self.num_agents, (1,), MultiDiscreteActions((3, 2, 5)))
        return probe_spec("choices", self.length, group)

    def begin(self, key: jax.Array) -> jax.Array:
        return jnp.zeros(())

    def observe(self, state: ProbeState) -> ByGroup:
        return {"agents": jnp.ones((self.num_agents, 1))}

    def pay(self, state: ProbeState, actions: Mapping[str, jax.Array]) -> ByGroup:
        right = actions["agents"] == jnp.asarray([[2, 1, 4]])
        return {"agents": right.mean(axis=-1)}


@dataclasses.dataclass(frozen=True)
class ImageCue(Probe):
    """Isolates images. The left or the right half of a uint8 ``[8, 8, 1]`` image is 255, and action
    0 or 1 names the half for a reward of 1, else 0. The best return is 1."""

    num_agents: int = 2
    length: int = dataclasses.field(default=1, init=False)

    @property
    def spec(self) -> EnvironmentSpec:
        group = group_spec(self.num_agents, (8, 8, 1), DiscreteActions(2))
        image = ArraySpec((8, 8, 1), np.dtype(np.uint8))
        return probe_spec("image_cue", self.length, dataclasses.replace(group, observation=image))

    def begin(self, key: jax.Array) -> jax.Array:
        return jax.random.bernoulli(key, shape=(self.num_agents,)).astype(jnp.int32)

    def observe(self, state: ProbeState) -> ByGroup:
        lit = (jnp.arange(8) >= 4)[None, :] == state.memory[:, None]
        image = jnp.broadcast_to(lit[:, None, :, None], (self.num_agents, 8, 8, 1))
        return {"agents": jnp.where(image, 255, 0)}

    def pay(self, state: ProbeState, actions: Mapping[str, jax.Array]) -> ByGroup:
        return {"agents": actions["agents"] == state.memory}


@dataclasses.dataclass(frozen=True)
class HiddenCue(Probe):
    """Isolates memory. A cue among 2 is shown, one-hot, at the first timestep only; after ``delay``
    blank steps the third input is 1 and the action that equals the cue is paid 1, else 0. The best
    return is 1; without memory it is 1/2, and so it is with a memory that is reset at the wrong
    step."""

    delay: int = 2
    num_agents: int = 2

    @property
    def length(self) -> int:  # type: ignore[override]
        return self.delay + 2

    @property
    def spec(self) -> EnvironmentSpec:
        group = group_spec(self.num_agents, (3,), DiscreteActions(2))
        return probe_spec("hidden_cue", self.length, group)

    def begin(self, key: jax.Array) -> jax.Array:
        return jax.random.randint(key, (self.num_agents,), 0, 2)

    def observe(self, state: ProbeState) -> ByGroup:
        cue = jnp.where(state.time == 0, jax.nn.one_hot(state.memory, 2), 0.0)
        asked = jnp.broadcast_to(state.time == self.delay + 1, (self.num_agents, 1))
        return {"agents": jnp.concatenate([cue, asked], axis=-1)}

    def pay(self, state: ProbeState, actions: Mapping[str, jax.Array]) -> ByGroup:
        right = actions["agents"] == state.memory
        return {"agents": right & (state.time == self.delay + 1)}
