"""Epsilon-greedy exploration."""

from __future__ import annotations

import dataclasses

import jax
import jax.numpy as jnp

from mava.core.contexts import ActContext, Selection
from mava.core.lifecycle import SelectAction
from mava.functional.schedules import Linear, Schedule, as_schedule, check_range
from mava.functional.td import masked_argmax
from mava.types import Array, PyTree


@dataclasses.dataclass(frozen=True)
class EpsilonGreedy(SelectAction):
    """With probability epsilon a uniformly drawn legal action, else the best legal one; each agent
    draws for itself.

    Attributes:
        epsilon: a number or a schedule over the exact index of the transition, counted over all
            environments, so 1 and 16 environments see the same schedule.

    Raises:
        ConfigurationError: for an epsilon outside ``[0, 1]``.
    """

    epsilon: float | Schedule = Linear(1.0, 0.05, 50_000)

    def __post_init__(self) -> None:
        check_range(self.name, "epsilon", self.epsilon, 0.0, 1.0)

    def select_action(
        self, scores: Array, legal_actions: Array, memory: PyTree, context: ActContext
    ) -> tuple[Selection, PyTree]:
        greedy = masked_argmax(scores, legal_actions)
        if not context.explore:
            return Selection(greedy, {}), memory
        epsilon = as_schedule(self.epsilon)(context.clock)
        # One draw serves both: a column decides whether to explore, the others rank the actions.
        draws = jax.random.uniform(context.key, (scores.shape[0], scores.shape[1] + 1))
        random = masked_argmax(draws[:, 1:], legal_actions)
        action = jnp.where(draws[:, 0] < epsilon, random, greedy)
        return Selection(action, {}), memory
