"""Rewards as losses see them. What is stored, and every return that is reported, stays the
environment's own."""

from __future__ import annotations

import abc
import dataclasses
import math
from typing import ClassVar

import jax.numpy as jnp

from mava.core.contexts import Batch, LearnContext, Params
from mava.core.lifecycle import PrepareBatch
from mava.core.plans import check_positive
from mava.errors import ConfigurationError
from mava.functional.moments import Moments, no_moments, updated
from mava.types import Array, EnvironmentSpec, PyTree


class ChangeReward(PrepareBatch):
    """Changes ``reward``. What sums rewards names this class in its ``after``, so that nothing is
    made of rewards before they are changed: ``system.with_(RewardScaling(0.1),
    before="n_step_return")``."""

    requires: ClassVar[frozenset[str]] = frozenset({"reward", "alive"})

    def prepare_batch(
        self, batch: Batch, state: PyTree, params: Params, context: LearnContext
    ) -> tuple[Batch, PyTree]:
        state = self._observed(batch, state, context)
        reward = {name: self._changed(x, state.get(name)) for name, x in batch["reward"].items()}
        return {**batch, "reward": reward}, state

    def _observed(self, batch: Batch, state: PyTree, context: LearnContext) -> PyTree:
        """The statistics after this batch, by group."""
        return state

    def init_state(self, spec: EnvironmentSpec) -> PyTree:
        return {}

    @abc.abstractmethod
    def _changed(self, reward: Array, state: PyTree) -> Array:
        """Rewards ``[B, T, N]`` of one group, and its statistics -> rewards."""


@dataclasses.dataclass(frozen=True)
class RewardScaling(ChangeReward):
    """Multiplies every reward.

    Attributes:
        scale: the factor.

    Raises:
        ConfigurationError: for a scale that is not a positive number.
        WiringError: at build, where it comes after a component that sums rewards.
    """

    scale: float = 1.0

    def __post_init__(self) -> None:
        check_positive(f"{self.name}.scale", self.scale)

    def _changed(self, reward: Array, state: PyTree) -> Array:
        return reward * self.scale


@dataclasses.dataclass(frozen=True)
class RewardClipping(ChangeReward):
    """Bounds every reward (Mnih et al., 2015), before several steps are summed. What is best may
    change with it.

    Attributes:
        low, high: the bounds.

    Raises:
        ConfigurationError: for bounds that are not in order.
        WiringError: at build, where it comes after a component that sums rewards.
    """

    low: float = -1.0
    high: float = 1.0

    def __post_init__(self) -> None:
        if not self.low < self.high or math.isnan(self.low + self.high):
            raise ConfigurationError(
                f"{self.name} has the bounds {self.low} and {self.high}; low must be below high"
            )

    def _changed(self, reward: Array, state: PyTree) -> Array:
        return jnp.clip(reward, self.low, self.high)


@dataclasses.dataclass(frozen=True)
class RewardNormaliser(ChangeReward):
    """Divides rewards by their running standard deviation, then bounds them.

    The deviation is of the rewards that agents of a group were paid for acting, over all batches
    trained on; it is published with the parameters. The mean stays, since taking it away changes
    what is best where an episode may end early. (Engstrom et al., 2020, divide by the deviation of
    a discounted sum that runs over consecutive steps; sampled sequences have no such sum, and the
    deviation of single rewards serves replay and rollouts alike.) Rewards that have not varied yet
    stay as they are.

    Attributes:
        clip: bound on the result; ``None`` for none.

    Raises:
        ConfigurationError: for a ``clip`` that is not positive.
        WiringError: at build, where it comes after a component that sums rewards.
    """

    clip: float | None = 10.0

    def __post_init__(self) -> None:
        if self.clip is not None:
            check_positive(f"{self.name}.clip", self.clip)

    def init_state(self, spec: EnvironmentSpec) -> PyTree:
        return {group.name: no_moments(()) for group in spec.groups}

    def _observed(self, batch: Batch, state: PyTree, context: LearnContext) -> PyTree:
        return {
            name: updated(moments, batch["reward"][name], batch["alive"][name], context.all_mean)
            for name, moments in state.items()
        }

    def _changed(self, reward: Array, state: PyTree) -> Array:
        moments: Moments = state
        deviation = jnp.sqrt(moments.variance)
        varied = deviation > 1e-5 * jnp.abs(moments.mean)
        result = jnp.asarray(reward) / jnp.where(varied, deviation, 1.0)
        return result if self.clip is None else jnp.clip(result, -self.clip, self.clip)
