"""Exploration by noise that is added to the actions of a deterministic policy."""

from __future__ import annotations

import abc
import dataclasses

import jax
import jax.numpy as jnp

from mava.components.exploration.gumbel_sampling import sample_choice
from mava.core.contexts import ActContext, Selection
from mava.core.keys import address
from mava.core.lifecycle import SelectAction
from mava.core.plans import check_count
from mava.functional.actions import clip_to_bounds, half_range, squash, uniform_in_bounds
from mava.functional.schedules import Schedule, as_schedule, check_range
from mava.types import Array, ContinuousActions, GroupSpec, PyTree


@dataclasses.dataclass(frozen=True)
class ActionNoise(SelectAction):
    """What strategies that add noise share.

    Scores are squashed into the bounds. Noise is relative: 1 is half the distance between the
    bounds of a dimension. Actions are clipped to the bounds. Groups with a choice to make sample
    it, as ``GumbelSampling`` does.

    Attributes:
        scale: of the noise, a number or a schedule over the exact index of the transition, counted
            over all environments.
        random_steps: the first transitions, over all environments, in which actions are uniform
            over the bounds.

    Raises:
        ConfigurationError: for a negative scale or number of steps.
    """

    scale: float | Schedule = 0.1
    random_steps: int = 0

    def __post_init__(self) -> None:
        check_range(self.name, "scale", self.scale, 0.0, float("inf"))
        check_count(f"{self.name}.random_steps", self.random_steps, least=0)

    @abc.abstractmethod
    def _noise(
        self, memory: PyTree, key: jax.Array, shape: tuple[int, ...]
    ) -> tuple[Array, PyTree]:
        """Noise of scale 1, ``[N, *actions.shape]``, and the memory after it."""

    def select_action(
        self, scores: Array, legal_actions: Array, memory: PyTree, context: ActContext
    ) -> tuple[Selection, PyTree]:
        actions = context.group.actions
        if not isinstance(actions, ContinuousActions):
            return sample_choice(scores, legal_actions, context, self.random_steps), memory
        action = squash(scores, actions)
        if context.explore:
            noise, memory = self._noise(memory, address(context.key, "noise"), action.shape)
            reach = half_range(actions)[None] * as_schedule(self.scale)(context.clock)
            action = action + noise * reach
            if self.random_steps:
                drawn = uniform_in_bounds(
                    address(context.key, "uniform"), action.shape[:1], actions
                )
                action = jnp.where(context.clock < self.random_steps, drawn, action)
        return Selection(clip_to_bounds(action, actions), {}), memory


@dataclasses.dataclass(frozen=True)
class GaussianNoise(ActionNoise):
    """Adds independent normal noise to each dimension (Fujimoto et al., 2018)."""

    def _noise(
        self, memory: PyTree, key: jax.Array, shape: tuple[int, ...]
    ) -> tuple[Array, PyTree]:
        return jax.random.normal(key, shape), memory


@dataclasses.dataclass(frozen=True)
class OrnsteinUhlenbeckNoise(ActionNoise):
    """Adds noise that is correlated over the steps of an episode (Uhlenbeck and Ornstein, 1930;
    Lillicrap et al., 2016).

    ``x' = x - theta * x * dt + sigma * sqrt(dt) * g``, with ``g`` standard normal. The memory is
    ``x``, ``[N, *actions.shape]``, zeros at the start of an episode. Far from the start its
    standard deviation is ``sigma * sqrt(dt / (1 - (1 - theta * dt) ** 2))``.

    Attributes:
        theta: how fast noise returns to 0.
        sigma: how much is added.
        dt: the time of one step.

    Raises:
        ConfigurationError: for a negative number, or ``theta * dt`` of 2 or more, with which noise
            would grow without end.
    """

    scale: float | Schedule = 1.0
    theta: float = 0.15
    sigma: float = 0.2
    dt: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        for field in ("theta", "sigma", "dt"):
            check_range(self.name, field, getattr(self, field), 0.0, float("inf"))
        check_range(self.name, "theta * dt", self.theta * self.dt, 0.0, 1.999)

    def init_memory(self, group: GroupSpec) -> PyTree:
        if not isinstance(group.actions, ContinuousActions):
            return ()
        return jnp.zeros((group.num_agents, *group.actions.shape))

    def _noise(
        self, memory: PyTree, key: jax.Array, shape: tuple[int, ...]
    ) -> tuple[Array, PyTree]:
        added = self.sigma * self.dt**0.5 * jax.random.normal(key, shape)
        after = memory * (1.0 - self.theta * self.dt) + added
        return after, after
