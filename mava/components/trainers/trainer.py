"""Trainers, optimisers and target updates."""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax

from mava.core.contexts import Batch, LearnContext, LearnHooks, Params
from mava.core.learner import LearnerState
from mava.core.lifecycle import Measure, Optimise, Update, UpdateTargets
from mava.core.plans import check_count, check_positive
from mava.errors import ConfigurationError
from mava.functional.loops import where_tree
from mava.functional.schedules import Schedule, as_schedule, check_range
from mava.types import Array


@dataclasses.dataclass(frozen=True)
class Trainer(Update):
    """One gradient step on each sampled batch.

    Attributes:
        update_every: environment steps between rounds of updates, counted over all environments;
            the first round follows the buffer's ``min_size``.
        updates: trainer steps in a round.
    """

    update_every: int | None = 10
    updates: int = 1

    def update(
        self, learner: LearnerState, batch: Batch, hooks: LearnHooks
    ) -> tuple[LearnerState, dict[str, Array], Array | None]:
        learner, batch = hooks.prepare(learner, batch)
        gradients, metrics, priorities = hooks.gradients(learner, batch)
        return hooks.apply(learner, gradients), metrics, priorities


@dataclasses.dataclass(frozen=True)
class Adam(Optimise):
    """Adam (Kingma and Ba, 2015), with the global norm of the gradients clipped before it.

    Attributes:
        learning_rate: a number or a schedule over gradient steps.
        max_gradient_norm: of all sets together; ``None`` for no clipping.
        epsilon: added to the root of the second moment.
        optimises: names of sets of parameters; ``None`` for all of them.
        every: gradient steps between its updates; those in between change nothing that it
            optimises or remembers, and their gradients are dropped (delayed policy updates,
            Fujimoto et al., 2018). Schedules count its updates.

    Raises:
        ConfigurationError: for a negative rate, a norm or epsilon that is not positive, or an
            ``every`` below 1.
    """

    learning_rate: float | Schedule = 5e-4
    max_gradient_norm: float | None = 10.0
    epsilon: float = 1e-8
    optimises: tuple[str, ...] | None = None
    every: int = 1

    def __post_init__(self) -> None:
        check_count(f"{self.name}.every", self.every)
        check_range(self.name, "learning_rate", self.learning_rate, 0.0, float("inf"))
        check_positive(f"{self.name}.epsilon", self.epsilon)
        if self.max_gradient_norm is not None:
            check_positive(f"{self.name}.max_gradient_norm", self.max_gradient_norm)

    def optimiser(self) -> optax.GradientTransformation:
        clip = (
            optax.identity()
            if self.max_gradient_norm is None
            else optax.clip_by_global_norm(self.max_gradient_norm)
        )
        adam = optax.chain(clip, optax.adam(as_schedule(self.learning_rate), eps=self.epsilon))
        return adam if self.every == 1 else every_nth(adam, self.every)


class EveryNth(NamedTuple):
    """State of ``every_nth``: int32 ``[]`` updates seen, and the optimiser's own."""

    seen: Array
    inner: Any


def every_nth(optimiser: optax.GradientTransformation, every: int) -> optax.GradientTransformation:
    """Lets every ``every``-th update through, the first of them update number ``every``; the others
    are zero and leave the optimiser's state as it is."""

    def init(params: Any) -> EveryNth:
        return EveryNth(jnp.zeros((), jnp.int32), optimiser.init(params))

    def update(updates: Any, state: EveryNth, params: Any = None) -> tuple[Any, EveryNth]:
        seen = state.seen + 1
        changes, inner = optimiser.update(updates, state.inner, params)
        due = seen % every == 0
        changes = where_tree(due, changes, jax.tree.map(jnp.zeros_like, changes))
        return changes, EveryNth(seen, where_tree(due, inner, state.inner))

    return optax.GradientTransformation(init, update)


@dataclasses.dataclass(frozen=True)
class HardTargetUpdate(UpdateTargets):
    """Copies parameters to their targets every ``period`` gradient steps (Mnih et al., 2015).

    Attributes:
        period: gradient steps between two copies.
        targets: the sets that have targets; ``None`` for all of them.

    Raises:
        ConfigurationError: for a period below 1.
    """

    period: int = 200
    targets: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        check_count(f"{self.name}.period", self.period)

    def update_targets(self, params: Params, target_params: Params, updates: Array) -> Params:
        due = updates % self.period == 0
        return where_tree(due, params, target_params)  # type: ignore[no-any-return]


@dataclasses.dataclass(frozen=True)
class SoftTargetUpdate(UpdateTargets):
    """Moves targets by ``rate`` of the way to their parameters at each gradient step (Lillicrap et
    al., 2016), or at every ``every``-th one (Fujimoto et al., 2018).

    Attributes:
        rate: the share of the way.
        targets: the sets that have targets; ``None`` for all of them.
        every: gradient steps between two moves.

    Raises:
        ConfigurationError: for a rate outside ``(0, 1]``, or an ``every`` below 1.
    """

    rate: float = 0.005
    targets: tuple[str, ...] | None = None
    every: int = 1

    def __post_init__(self) -> None:
        check_count(f"{self.name}.every", self.every)
        check_positive(f"{self.name}.rate", self.rate)
        if self.rate > 1.0:
            raise ConfigurationError(f"{self.name}.rate is {self.rate}; it must lie in (0, 1]")

    def update_targets(self, params: Params, target_params: Params, updates: Array) -> Params:
        moved: Params = optax.incremental_update(params, target_params, self.rate)
        if self.every == 1:
            return moved
        return where_tree(updates % self.every == 0, moved, target_params)  # type: ignore[no-any-return]


@dataclasses.dataclass(frozen=True)
class GradientNorm(Measure):
    """The global norm of each trained set's gradients, before clipping."""

    def measure(self, gradients: Params, batch: Batch, context: LearnContext) -> dict[str, Array]:
        return {name: optax.tree.norm(tree) for name, tree in gradients.items()}
