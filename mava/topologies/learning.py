"""One trainer step as topologies run it: sample, learn, check, tell the buffer."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import optax

from mava.core.keys import address
from mava.core.learner import LearnerState
from mava.core.plans import Sampling
from mava.core.program import Program
from mava.functional.devices import AllMean, identity
from mava.topologies.buffers import Buffer, Sample
from mava.types import Array, PyTree


class Learned(NamedTuple):
    """What one trainer step gives.

    Attributes:
        learner: the new state.
        metrics: by name.
        finite: bool ``[]``; whether all metrics, the losses among them, and all parameters are.
        buffer: the buffer's state with new priorities; ``None`` where priorities are not used.
    """

    learner: LearnerState
    metrics: dict[str, Array]
    finite: Array
    buffer: PyTree | None


class Trained(NamedTuple):
    """What one trainer step on a batch gives; fields as those of ``Learned``.

    Attributes:
        priorities: of the batch's items ``[B]``; ``None`` where no loss gives any.
    """

    learner: LearnerState
    metrics: dict[str, Array]
    finite: Array
    priorities: Array | None


def training(program: Program, all_mean: AllMean = identity) -> Callable[..., Trained]:
    """Learner, batch ``[B, T, ...]``, probability of each item ``[B]``, the run's key ->
    ``Trained``."""

    def train(learner: LearnerState, batch: PyTree, probability: Array, key: jax.Array) -> Trained:
        batch = {**batch, "probability": probability}
        learner, metrics, priorities = program.learn(
            learner, batch, address(key, "learn"), all_mean
        )
        numbers = [*metrics.values(), optax.tree.norm(learner.params)]
        finite = jnp.all(jnp.stack([jnp.all(jnp.isfinite(x)) for x in numbers]))
        return Trained(learner, metrics, finite, priorities)

    return train


def learning(
    program: Program,
    buffer: Buffer,
    sample: Callable[[PyTree, jax.Array], Sample],
    all_mean: AllMean = identity,
) -> Callable[..., Learned]:
    """Learner, buffer state, the run's key (, index of the device) -> ``Learned``.

    Args:
        program: the program.
        buffer: its buffer.
        sample: ``buffer.sample``, or that compiled.
        all_mean: averages over devices that train together.
    """
    prioritised = program.plan.sampling is Sampling.PRIORITISED
    train = training(program, all_mean)

    def learn(
        learner: LearnerState, state: PyTree, key: jax.Array, device: Array | None = None
    ) -> Learned:
        place = () if device is None else (device,)
        drawn = sample(state, address(key, "sample", learner.updates, *place))
        learner, metrics, finite, priorities = train(learner, drawn.batch, drawn.probability, key)
        new = None
        if prioritised:
            assert priorities is not None, "the dry run checks it"
            new = buffer.set_priorities(state, drawn.indices, priorities)
        return Learned(learner, metrics, finite, new)

    return learn
