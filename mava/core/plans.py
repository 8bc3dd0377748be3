"""What a buffer should do, as data. Each topology realises it in its own way."""

from __future__ import annotations

import dataclasses
import enum
import math
from typing import NamedTuple

from mava.errors import ConfigurationError


class Sampling(enum.Enum):
    """How items leave the buffer."""

    UNIFORM = "uniform"
    PRIORITISED = "prioritised"
    ON_POLICY = "on-policy"
    """Everything that was collected, once, in order."""


@dataclasses.dataclass(frozen=True)
class BufferPlan:
    """A buffer. An item is a sequence of ``sequence_length`` consecutive transitions of one
    environment.

    Attributes:
        sampling: how items are chosen.
        capacity: transitions held, over all environments.
        min_size: transitions that must be there before the first sample.
        batch_size: items in one batch.
        sequence_length: transitions in one item; sequences run across the ends of episodes.
        period: transitions between the starts of consecutive items, at most ``sequence_length``.
        priority_exponent: the power that turns priorities into probabilities (0 is uniform).

    Raises:
        ConfigurationError: for a plan under which training could never begin, or sizes that are not
            whole numbers.
    """

    sampling: Sampling
    capacity: int
    min_size: int
    batch_size: int
    sequence_length: int = 1
    period: int = 1
    priority_exponent: float = 0.0

    def __post_init__(self) -> None:
        for field in ("capacity", "min_size", "batch_size", "sequence_length", "period"):
            check_count(f"the buffer's {field}", getattr(self, field))
        if self.min_size > self.capacity:
            raise ConfigurationError(
                f"the buffer's min_size ({self.min_size}) is above its capacity ({self.capacity}), "
                f"so training would never begin; lower min_size or raise capacity"
            )
        if self.batch_size > self.capacity:
            raise ConfigurationError(
                f"a batch ({self.batch_size}) is larger than the buffer's capacity "
                f"({self.capacity}); lower batch_size or raise capacity"
            )
        if self.sequence_length > self.capacity:
            raise ConfigurationError(
                f"one sequence ({self.sequence_length} transitions) does not fit the buffer's "
                f"capacity ({self.capacity}); raise capacity"
            )
        if self.period > self.sequence_length:
            raise ConfigurationError(
                f"items of {self.sequence_length} transitions begin every {self.period}, so some "
                f"transitions would never be sampled; lower period to {self.sequence_length} or "
                "raise sequence_length"
            )
        if not 0.0 <= self.priority_exponent <= 1.0:
            raise ConfigurationError(
                f"priority_exponent is {self.priority_exponent}; it must lie in [0, 1]"
            )

    @classmethod
    def on_policy(cls, sequence_length: int) -> BufferPlan:
        """A buffer that holds one rollout of ``sequence_length`` steps of every environment, which
        is one batch and is used once. ``placed`` fills in how many environments there are."""
        return cls(Sampling.ON_POLICY, sequence_length, sequence_length, 1, sequence_length)

    def placed(self, num_environments: int, more_steps: int = 0) -> BufferPlan:
        """The plan for this many environments, its items longer by ``more_steps`` transitions.

        Raises:
            ConfigurationError: when these environments could never fill it for a first sample.
        """
        length = self.sequence_length + more_steps
        if self.sampling is Sampling.ON_POLICY:
            size = length * num_environments
            return dataclasses.replace(
                self,
                capacity=size,
                min_size=size,
                batch_size=num_environments,
                sequence_length=length,
            )
        row = self.capacity // num_environments
        if self.min_size > row * num_environments:
            raise ConfigurationError(
                f"{num_environments} environments share a buffer of {self.capacity} transitions, "
                f"which holds {row * num_environments} in equal rows, fewer than min_size "
                f"({self.min_size}); raise capacity"
            )
        if length > -(-self.min_size // num_environments):
            raise ConfigurationError(
                f"training begins at min_size ({self.min_size}) transitions of {num_environments} "
                f"environments, but one item needs {length} of one environment in a row; raise "
                f"min_size to {length * num_environments}"
            )
        return dataclasses.replace(self, sequence_length=length)


def check_count(what: str, value: int, least: int = 1) -> None:
    """Refuses what is not a whole number of at least ``least``.

    Raises:
        ConfigurationError: naming ``what``.
    """
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ConfigurationError(f"{what} is {value!r}; it must be at least {least}, and whole")


def check_positive(what: str, value: float) -> None:
    """Refuses what is not a finite number above 0.

    Raises:
        ConfigurationError: naming ``what``.
    """
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < math.inf:
        raise ConfigurationError(f"{what} is {value!r}; it must be a finite number above 0")


class Rounds(NamedTuple):
    """When trainer steps run: a pure function of the environment steps made.

    Attributes:
        first: environment steps before the first round.
        every: environment steps between rounds.
        updates: trainer steps in a round.
    """

    first: int
    every: int
    updates: int

    def due(self, steps: int) -> int:
        """Trainer steps that should have run after ``steps`` environment steps. The count does not
        depend on how many environments made the steps.

        >>> rounds = Rounds(first=10, every=4, updates=2)
        >>> [rounds.due(steps) for steps in (9, 10, 13, 14, 18)]
        [0, 2, 2, 4, 6]
        """
        if steps < self.first:
            return 0
        return self.updates * ((steps - self.first) // self.every + 1)


def rounds_of(plan: BufferPlan, update_every: int | None, updates: int) -> Rounds:
    """The rounds of a trainer over a buffer: an on-policy one trains whenever it is full, another
    from ``min_size`` on, every ``update_every`` steps.

    Raises:
        ConfigurationError: a period or a number of updates that does not go with the buffer.
    """
    check_count("the trainer's updates", updates)
    if plan.sampling is Sampling.ON_POLICY:
        if update_every is not None:
            raise ConfigurationError(
                f"the trainer's update_every is {update_every}, but an on-policy buffer decides "
                "when to train: whenever it is full; set update_every to None"
            )
        if updates != 1:
            raise ConfigurationError(
                f"the trainer's updates is {updates}, but an on-policy batch is used in one "
                f"trainer step, or statistics would count it {updates} times; set updates to 1, "
                "and use EpochTrainer's epochs to go over a batch several times"
            )
        return Rounds(plan.capacity, plan.capacity, 1)
    if update_every is None:
        raise ConfigurationError(
            "the trainer's update_every is None; give the environment steps between rounds of "
            "updates"
        )
    check_count("the trainer's update_every", update_every)
    return Rounds(plan.min_size, update_every, updates)
