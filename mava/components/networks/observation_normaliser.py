"""Observations of mean 0 and variance 1."""

from __future__ import annotations

import dataclasses
from typing import ClassVar

import jax.numpy as jnp

from mava.core.contexts import Batch, GroupContext, LearnContext, Params
from mava.core.lifecycle import PrepareBatch, TransformObservation
from mava.core.plans import check_positive
from mava.errors import WiringError
from mava.functional.moments import Moments, no_moments, updated
from mava.types import Array, EnvironmentSpec, PyTree


@dataclasses.dataclass(frozen=True)
class ObservationNormaliser(TransformObservation, PrepareBatch):
    """``clip((o - mean) / sqrt(variance + epsilon), -clip, clip)``, entry by entry, with running
    moments of each group.

    The moments are of the observations that living agents are trained on, each batch counted once,
    and each group's agents together. They are published with the parameters: acting and evaluating
    use those of the last trainer step and never change them. Before the first, the mean is 0 and
    the variance 1. Since observations are stored as they came, old ones are normalised by the
    moments of today. What a batch adds counts after the trainer step on it, so on policy it is
    trained on as it was acted on.

    Observations of whole numbers (images of bytes, which networks divide by 255) pass unchanged.
    Agent ids are not touched, because they are appended after this.

    Attributes:
        clip: bound on the result; ``None`` for none.
        epsilon: added to the variance.

    Raises:
        ConfigurationError: for a ``clip`` or ``epsilon`` that is not positive.
        WiringError: at build, where an earlier component has changed an observation's shape.
    """

    requires: ClassVar[frozenset[str]] = frozenset({"observation", "alive"})

    clip: float | None = 10.0
    epsilon: float = 1e-8

    def __post_init__(self) -> None:
        check_positive(f"{self.name}.epsilon", self.epsilon)
        if self.clip is not None:
            check_positive(f"{self.name}.clip", self.clip)

    def init_state(self, spec: EnvironmentSpec) -> PyTree:
        return {
            group.name: no_moments(group.observation.shape)
            for group in spec.groups
            if group.observation.dtype.kind == "f"
        }

    def prepare_batch(
        self, batch: Batch, state: PyTree, params: Params, context: LearnContext
    ) -> tuple[Batch, PyTree]:
        shown, alive = batch["observation"], batch["alive"]
        return batch, {
            name: updated(moments, shown[name], alive[name], context.all_mean)
            for name, moments in state.items()
        }

    def transform_observation(self, observation: Array, context: GroupContext) -> Array:
        moments: Moments | None = context.state.get(context.group.name)
        if moments is None:
            return observation
        shape = context.group.observation.shape
        if moments.mean.shape != shape:
            raise WiringError(
                f"{self.name} keeps the moments of observations {list(moments.mean.shape)}, as the "
                f"environment gives them, and meets {list(shape)}; put it before the component "
                "that changes them"
            )
        lead = (1,) * (observation.ndim - len(shape))
        mean, variance = (x.reshape(*lead, *shape) for x in (moments.mean, moments.variance))
        result = (observation - mean) / jnp.sqrt(variance + self.epsilon)
        if self.clip is not None:
            result = jnp.clip(result, -self.clip, self.clip)
        return result.astype(observation.dtype)
