"""Matrix games: small cooperative games whose best joint action is hard to find, or easy to
lose."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from mava.environments.base import JaxEnvironment
from mava.environments.joint import joint_timestep
from mava.types import ArraySpec, DiscreteActions, EnvironmentSpec, GroupSpec, TimeStep

_AGENTS = ("agent_0", "agent_1")
_GROUP = "agents"


def _spec(name: str, observation: int, actions: int, limit: int) -> EnvironmentSpec:
    shown = ArraySpec((observation,), np.dtype(np.float32))
    group = GroupSpec(_GROUP, _AGENTS, shown, DiscreteActions(actions))
    return EnvironmentSpec(name, (group,), state=shown, episode_limit=limit)


@dataclasses.dataclass(frozen=True)
class RepeatedGame(JaxEnvironment):
    """One payoff matrix, played ``length`` times; both agents are paid ``payoff[first][second]``.

    The observation, and the global state, is a constant 1. It does not tell the time, so the last
    step is a truncation: the value of the constant goes on.
    """

    name: str
    payoff: tuple[tuple[float, ...], ...]
    length: int = 25

    @property
    def spec(self) -> EnvironmentSpec:
        return _spec(self.name, 1, len(self.payoff), self.length)

    def reset(self, key: jax.Array) -> tuple[jax.Array, TimeStep]:
        return jnp.zeros((), jnp.int32), self._timestep()

    def step(
        self, state: jax.Array, actions: Mapping[str, jax.Array]
    ) -> tuple[jax.Array, TimeStep]:
        first, second = actions[_GROUP]
        reward = jnp.broadcast_to(jnp.asarray(self.payoff, jnp.float32)[first, second], 2)
        state = state + 1
        return state, self._timestep(reward, state >= self.length)

    def _timestep(
        self, reward: jax.Array | None = None, truncated: jax.Array | bool = False
    ) -> TimeStep:
        return joint_timestep(
            self.spec,
            {_GROUP: jnp.ones((2, 1))},
            None if reward is None else {_GROUP: reward},
            truncated=truncated,
            state=jnp.ones(1),
        )


def climbing(length: int = 25) -> RepeatedGame:
    """Claus and Boutilier's climbing game (1998): the best joint action, worth 11 a step, is next
    to the worst. Best return 275 for 25 steps."""
    payoff = ((11.0, -30.0, 0.0), (-30.0, 7.0, 0.0), (0.0, 6.0, 5.0))
    return RepeatedGame("matrix/climbing", payoff, length)


def penalty(k: float = -25.0, length: int = 25) -> RepeatedGame:
    """Claus and Boutilier's penalty game (1998): two best joint actions, worth 10 a step, and ``k``
    for mixing them up. Best return 250 for 25 steps."""
    payoff = ((float(k), 0.0, 10.0), (0.0, 2.0, 0.0), (10.0, 0.0, float(k)))
    return RepeatedGame("matrix/penalty", payoff, length)


class TwoStepState(NamedTuple):
    """``place``: int32 ``[]``; 0 at first, 1 in state 2A, 2 in state 2B, 3 at the end."""

    place: jax.Array


@dataclasses.dataclass(frozen=True)
class TwoStep(JaxEnvironment):
    """The two-step game of Rashid et al. (QMIX, 2018).

    In the first step, unpaid, the first agent's action leads to state 2A (0) or 2B (1). In the
    second, 2A pays 7 for every joint action and 2B pays ``[[0, 1], [1, 8]]``; then the game
    terminates. The best return is 8; a team value that is a sum of the agents' values prefers the
    7.

    The observation of both agents, and the global state, is the one-hot place; zeros at the end.
    """

    name: str = dataclasses.field(default="matrix/two_step", init=False)

    @property
    def spec(self) -> EnvironmentSpec:
        return _spec(self.name, 3, 2, 2)

    def reset(self, key: jax.Array) -> tuple[TwoStepState, TimeStep]:
        state = TwoStepState(jnp.zeros((), jnp.int32))
        return state, self._timestep(state)

    def step(
        self, state: TwoStepState, actions: Mapping[str, jax.Array]
    ) -> tuple[TwoStepState, TimeStep]:
        first, second = actions[_GROUP]
        payoff = jnp.asarray([[[0, 0], [0, 0]], [[7, 7], [7, 7]], [[0, 1], [1, 8]]], jnp.float32)
        reward = jnp.broadcast_to(payoff[state.place, first, second], 2)
        place = jnp.where(state.place == 0, 1 + first, 3)
        state = TwoStepState(place.astype(jnp.int32))
        return state, self._timestep(state, reward)

    def _timestep(self, state: TwoStepState, reward: jax.Array | None = None) -> TimeStep:
        shown = jax.nn.one_hot(state.place, 3)
        return joint_timestep(
            self.spec,
            {_GROUP: jnp.broadcast_to(shown, (2, 3))},
            None if reward is None else {_GROUP: reward},
            terminated=state.place == 3,
            state=shown,
        )
