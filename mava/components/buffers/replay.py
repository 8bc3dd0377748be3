"""Replay buffers, as plans."""

from __future__ import annotations

import dataclasses
from typing import ClassVar

import jax.numpy as jnp

from mava.core.contexts import Batch, LearnContext, Params
from mava.core.lifecycle import Plan, PrepareBatch
from mava.core.plans import BufferPlan, Sampling
from mava.functional.schedules import Linear, Schedule, as_schedule, check_range
from mava.types import PyTree


@dataclasses.dataclass(frozen=True)
class UniformReplay(Plan):
    """Keeps the latest transitions and samples uniformly.

    Attributes:
        capacity: transitions kept, over all environments.
        min_size: transitions before the first trainer step.
        batch_size: items in a batch.
        sequence_length: consecutive transitions in an item, beside what n-step returns add.
        period: transitions between the starts of items.

    Raises:
        ConfigurationError: for sizes under which training could never begin.
    """

    capacity: int = 100_000
    min_size: int = 1_000
    batch_size: int = 128
    sequence_length: int = 1
    period: int = 1

    def __post_init__(self) -> None:
        self.plan()

    def plan(self) -> BufferPlan:
        return BufferPlan(
            sampling=Sampling.UNIFORM,
            capacity=self.capacity,
            min_size=self.min_size,
            batch_size=self.batch_size,
            sequence_length=self.sequence_length,
            period=self.period,
        )


@dataclasses.dataclass(frozen=True)
class PrioritisedReplay(Plan, PrepareBatch):
    """Samples by priority, and weighs the samples back (Schaul et al., 2016).

    Provides ``importance_weight`` ``[B]``: ``p ** -beta``, divided by its maximum over the batch;
    over several devices by the mean of their maxima, so that all are weighed alike.

    Attributes:
        capacity, min_size, batch_size, sequence_length, period: as in ``UniformReplay``.
        priority_exponent: the paper's alpha.
        importance_exponent: the paper's beta, a number or a schedule over gradient steps.

    Raises:
        ConfigurationError: for sizes under which training could never begin, or exponents outside
            ``[0, 1]``.
    """

    provides: ClassVar[frozenset[str]] = frozenset({"importance_weight"})
    requires: ClassVar[frozenset[str]] = frozenset({"probability"})

    capacity: int = 100_000
    min_size: int = 1_000
    batch_size: int = 128
    sequence_length: int = 1
    period: int = 1
    priority_exponent: float = 0.6
    importance_exponent: float | Schedule = Linear(0.4, 1.0, 100_000)

    def __post_init__(self) -> None:
        check_range(self.name, "importance_exponent", self.importance_exponent, 0.0, 1.0)
        self.plan()

    def plan(self) -> BufferPlan:
        return BufferPlan(
            sampling=Sampling.PRIORITISED,
            capacity=self.capacity,
            min_size=self.min_size,
            batch_size=self.batch_size,
            sequence_length=self.sequence_length,
            period=self.period,
            priority_exponent=self.priority_exponent,
        )

    def prepare_batch(
        self, batch: Batch, state: PyTree, params: Params, context: LearnContext
    ) -> tuple[Batch, PyTree]:
        beta = as_schedule(self.importance_exponent)(context.updates)
        weight = jnp.maximum(batch["probability"], 1e-12) ** -beta
        return {**batch, "importance_weight": weight / context.all_mean(weight.max())}, state
