"""The trainer of on-policy learning: several epochs of minibatches over one batch."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from mava.core.contexts import Batch, LearnHooks
from mava.core.learner import LearnerState
from mava.core.lifecycle import Update
from mava.core.plans import check_count, check_positive
from mava.errors import ConfigurationError
from mava.functional.loops import cond, scan, shapes_of, vmap, where_tree
from mava.types import Array

KL = "/approx_kl"


class _Carry(NamedTuple):
    """The trainer's state, whether it goes on, and how many gradient steps it made."""

    learner: LearnerState
    going: Array
    made: Array


@dataclasses.dataclass(frozen=True)
class EpochTrainer(Update):
    """Uses a batch ``epochs`` times, each time in a new order and ``minibatches`` gradient steps.

    What is shuffled are sequences of ``sequence_length`` steps: single transitions where neither
    the actor nor the critic has memory, and else whole rollouts, unless it is said. Sequences of a
    recurrent network begin with the memory that they were acted with. Every sequence is used
    exactly once in each epoch.

    Metrics are means over the gradient steps made, whose number is
    ``epoch_trainer/gradient_steps``.

    Attributes:
        epochs: times that every sequence is used.
        minibatches: gradient steps in an epoch; must divide the number of sequences in a batch.
        sequence_length: steps in a sequence; must divide the steps in a batch.
        max_kl: skips what is left of the trainer step once a loss's ``approx_kl`` is above it, that
            gradient step included; ``None`` for never.
        update_every: must be ``None``: trains whenever the buffer is full.
        updates: must be 1: a batch is used in one trainer step.

    Raises:
        ConfigurationError: at construction, for a number below 1 or a ``max_kl`` that is not
            positive; at build, for numbers that do not divide the batch, shorter sequences after a
            burn-in, or a ``max_kl`` where no loss gives ``approx_kl``.
    """

    epochs: int = 10
    minibatches: int = 4
    sequence_length: int | None = None
    max_kl: float | None = None
    update_every: int | None = None
    updates: int = 1

    def __post_init__(self) -> None:
        check_count(f"{self.name}.epochs", self.epochs)
        check_count(f"{self.name}.minibatches", self.minibatches)
        if self.sequence_length is not None:
            check_count(f"{self.name}.sequence_length", self.sequence_length)
        if self.max_kl is not None:
            check_positive(f"{self.name}.max_kl", self.max_kl)

    def update(
        self, learner: LearnerState, batch: Batch, hooks: LearnHooks
    ) -> tuple[LearnerState, dict[str, Array], Array | None]:
        learner, batch = hooks.prepare(learner, batch)
        batch = self._sequences(batch, hooks.recurrent)
        count, keys = len(batch["start"]), jax.random.split(hooks.key, self.epochs)
        orders = vmap(lambda key: jax.random.permutation(key, count))(keys)
        rows = orders.reshape(self.epochs * self.minibatches, -1)
        step = self._step(learner, jax.tree.map(lambda x: x[rows[0]], batch), hooks)

        def on_rows(carry: _Carry, rows: Array) -> tuple[_Carry, tuple[dict[str, Array], Array]]:
            return step(carry, jax.tree.map(lambda x: x[rows], batch))

        carry = _Carry(learner, jnp.asarray(True), jnp.zeros(()))
        carry, (metrics, measured) = scan(on_rows, carry, rows)
        weight = measured.astype(jnp.float32)
        means = {name: jnp.tensordot(weight, x, 1) / weight.sum() for name, x in metrics.items()}
        return carry.learner, {**means, f"{self.name}/gradient_steps": carry.made}, None

    def _sequences(self, batch: Batch, recurrent: bool) -> Batch:
        """Fields ``[B, T, ...]`` cut into ``[B * T / L, L, ...]``; those ``[B]`` repeated."""
        size, steps = batch["start"].shape
        length = self.sequence_length or (steps if recurrent else 1)
        if steps % length:
            raise ConfigurationError(
                f"{self.name}.sequence_length is {length}, which does not divide the {steps} steps "
                f"that each environment collects for a batch; change one of them"
            )
        count = size * steps // length
        if count % self.minibatches:
            raise ConfigurationError(
                f"{self.name}.minibatches is {self.minibatches}, which does not divide the {count} "
                f"sequences of {length} steps in a batch ({size} environments, {steps} steps "
                f"each); change one of these numbers"
            )
        if length == steps:
            return batch
        if "burn_in" in batch:
            raise ConfigurationError(
                f"{self.name}.sequence_length is {length} of {steps} steps, but memory is burnt in "
                f"for whole rollouts; leave out BurnIn, or set sequence_length to None"
            )

        def cut(x: Array) -> Array:
            if x.ndim < 2:
                return jnp.repeat(x, steps // length, axis=0)
            return x.reshape(count, length, *x.shape[2:])

        return {name: jax.tree.map(cut, field) for name, field in batch.items()}

    def _step(
        self, learner: LearnerState, part: Batch, hooks: LearnHooks
    ) -> Callable[[_Carry, Batch], tuple[_Carry, tuple[dict[str, Array], Array]]]:
        """One gradient step on a minibatch: the carry, the metrics, and whether they were measured.
        ``learner`` and ``part`` are there for their shapes."""
        limit = self.max_kl
        if limit is None:

            def always(carry: _Carry, part: Batch) -> Any:
                gradients, metrics, _ = hooks.gradients(carry.learner, part)
                after = hooks.apply(carry.learner, gradients)
                return _Carry(after, carry.going, carry.made + 1.0), (metrics, carry.going)

            return always
        _, shapes, _ = shapes_of(hooks.gradients, learner, part)
        if not any(name.endswith(KL) for name in shapes):
            raise ConfigurationError(
                f"{self.name}.max_kl is {limit}, but no loss gives the metric {KL[1:]!r}; use "
                f"a loss that does, such as PPOLoss, or set max_kl to None"
            )

        def go(carry: _Carry, part: Batch) -> Any:
            gradients, metrics, _ = hooks.gradients(carry.learner, part)
            found = jnp.stack([x for name, x in metrics.items() if name.endswith(KL)])
            near = jnp.max(found) <= limit
            after = where_tree(near, hooks.apply(carry.learner, gradients), carry.learner)
            return _Carry(after, near, carry.made + near.astype(jnp.float32)), metrics

        def skip(carry: _Carry, part: Batch) -> Any:
            return carry, {name: jnp.zeros(x.shape, x.dtype) for name, x in shapes.items()}

        def unless_stopped(carry: _Carry, part: Batch) -> Any:
            after, metrics = cond(carry.going, go, skip, carry, part)
            return after, (metrics, carry.going)

        return unless_stopped
