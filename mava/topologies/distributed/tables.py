"""A buffer plan as one Reverb table.

What is stored is a transition packed into one row of bytes, so that the table has one signature
whatever the system: uint8 ``[sequence_length, num_bytes]``.
"""

from __future__ import annotations

import math

import reverb
import tensorflow as tf

from mava.core.plans import BufferPlan, Rounds, Sampling, check_count, check_positive
from mava.errors import ConfigurationError

TABLE = "transitions"
"""The only table of a server."""

QUEUE_BATCHES = 2
"""Batches that an on-policy queue holds, beside ``QUEUE_ROLLOUTS``."""

QUEUE_ROLLOUTS = 5
"""Rollouts of each environment that an on-policy queue holds: the one that is being written, so
that every executor can always finish its own, one more, and those that three executors in its place
left there when they were killed. How many wait to be trained on is for the coordinator."""

MAX_CHUNK_BYTES = 2**30
"""Reverb sends a chunk as one protobuf message, which must stay below 2 GiB, all told."""


def period_of(plan: BufferPlan) -> int:
    """Transitions between the starts of consecutive items. On policy each transition is used once,
    so items follow each other without overlap."""
    return plan.sequence_length if plan.sampling is Sampling.ON_POLICY else plan.period


def chunk_length(plan: BufferPlan) -> int:
    """Transitions that Reverb compresses and sends together: as many as divide items evenly, so
    that a whole item never waits for the transition after it, and nothing is sent that is not
    part of it."""
    return math.gcd(plan.sequence_length, period_of(plan))


def samples_per_insert(plan: BufferPlan, rounds: Rounds) -> float:
    """Items sampled per item inserted in the long run, as ``rounds`` has it; 1 on policy.

    An item begins every ``plan.period`` transitions, and ``rounds.every`` transitions are worth
    ``rounds.updates`` batches.

    >>> plan = BufferPlan(Sampling.UNIFORM, 1000, 100, batch_size=32, sequence_length=4, period=2)
    >>> samples_per_insert(plan, Rounds(first=100, every=8, updates=1))
    8.0
    """
    if plan.sampling is Sampling.ON_POLICY:
        return 1.0
    return rounds.updates * plan.batch_size * plan.period / rounds.every


def items_in(plan: BufferPlan, transitions: int, num_environments: int) -> int:
    """Items that begin and end in ``transitions`` transitions, divided evenly among environments;
    what a buffer in one process would hold of them.

    >>> plan = BufferPlan(Sampling.UNIFORM, 1000, 100, batch_size=32, sequence_length=4, period=2)
    >>> items_in(plan, 20, num_environments=2)  # of 10 each, beginning at 0, 2, 4 and 6
    8
    """
    row = transitions // num_environments
    if row < plan.sequence_length:
        return 0
    return num_environments * ((row - plan.sequence_length) // period_of(plan) + 1)


def make_table(
    plan: BufferPlan,
    rounds: Rounds,
    num_bytes: int,
    tolerance: float,
    num_environments: int,
    lease: int = 1,
) -> reverb.Table:
    """The table of a plan.

    Replay: uniform or prioritised selection; the oldest item makes room for a new one; sampling
    begins when there are as many items as ``plan.min_size`` transitions make, and from then on
    keeps in step with insertion: see ``error_buffer``. On policy: a queue of ``QUEUE_BATCHES``
    batches and ``QUEUE_ROLLOUTS`` rollouts, which gives each item once, in the order of insertion,
    and is waited for where it is full.

    Args:
        plan: the program's.
        rounds: the program's.
        num_bytes: in one packed transition.
        tolerance: by how much sampling may run ahead or behind, as a share of the samples that
            ``plan.min_size`` is worth; 0.1 is common.
        num_environments: of all executors together.
        lease: vectorised steps that an executor writes before it reports them.

    Raises:
        ConfigurationError: a plan that these environments could never fill, or with items too
            large for Reverb.
    """
    check_count("the replay's num_environments", num_environments)
    check_count("the replay's num_bytes", num_bytes)
    check_positive("the replay's tolerance", tolerance)
    _check_size(plan, num_bytes)
    signature = tf.TensorSpec((plan.sequence_length, num_bytes), tf.uint8)
    if plan.sampling is Sampling.ON_POLICY:
        size = QUEUE_BATCHES * plan.batch_size + QUEUE_ROLLOUTS * num_environments
        return reverb.Table.queue(TABLE, size, signature=signature)
    plan = plan.placed(num_environments)
    ratio = samples_per_insert(plan, rounds)
    # Rounded up, since min_size need not be a multiple of the environments.
    least = items_in(
        plan, -(-plan.min_size // num_environments) * num_environments, num_environments
    )
    return reverb.Table(
        TABLE,
        sampler=_selector(plan),
        remover=reverb.selectors.Fifo(),
        max_size=items_in(plan, plan.capacity, num_environments),
        rate_limiter=reverb.rate_limiters.SampleToInsertRatio(
            samples_per_insert=ratio,
            min_size_to_sample=least,
            error_buffer=error_buffer(plan, rounds, tolerance, num_environments, least, lease),
        ),
        signature=signature,
    )


def error_buffer(
    plan: BufferPlan,
    rounds: Rounds,
    tolerance: float,
    num_environments: int,
    least: int,
    lease: int = 1,
) -> float:
    """How many samples sampling may be ahead of, or behind, ``samples_per_insert`` times the items
    inserted after the first ``least``.

    It is ``tolerance`` of what the first ``least`` items are worth, and never so little that both
    ends could wait for each other:

    - Reverb counts single items. An insertion and a sample can both be refused only if twice the
      buffer is below ``samples_per_insert + 1``; it is above, for it holds two batches and one
      item's worth.
    - A trainer that does all that ``rounds`` says is due, and nothing more, is as much as one
      round ahead of the ratio; with it one batch is on its way and one in the trainer's hands. So
      a round and two batches may always be sampled.
    - Executors write a whole lease before they report it, and training waits for the report; and
      when all of them are restarted, each environment begins its sequences anew, which costs the
      items of one sequence. So that much may be missing.
    """
    ratio = samples_per_insert(plan, rounds)
    ahead = (rounds.updates + 2) * plan.batch_size
    missing = num_environments * -(-(plan.sequence_length + lease - 1) // plan.period)
    return max(tolerance * ratio * least, ahead + ratio * missing)


def _selector(plan: BufferPlan) -> reverb.selectors.Prioritized | reverb.selectors.Uniform:
    if plan.sampling is Sampling.PRIORITISED:
        return reverb.selectors.Prioritized(plan.priority_exponent)
    return reverb.selectors.Uniform()


def _check_size(plan: BufferPlan, num_bytes: int) -> None:
    size = chunk_length(plan) * num_bytes
    if size > MAX_CHUNK_BYTES:
        raise ConfigurationError(
            f"the replay would send {chunk_length(plan)} transitions of {num_bytes} bytes in one "
            f"message of {size} bytes, and Reverb takes at most {MAX_CHUNK_BYTES}; lower the "
            f"buffer's sequence_length ({plan.sequence_length}), or run the system with "
            "topology='single_process'"
        )
