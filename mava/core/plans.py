"""What a buffer should do, as data. Each topology realises it in its own way."""

from __future__ import annotations

import dataclasses
import enum

from mava.errors import ConfigurationError


class Sampling(enum.Enum):
    """How items leave the buffer."""

    UNIFORM = "uniform"
    PRIORITISED = "prioritised"
    ON_POLICY = "on-policy"
    """Everything that was collected, once, in order."""


@dataclasses.dataclass(frozen=True)
class BufferPlan:
    """A buffer. An item is a sequence of ``sequence_length`` consecutive transitions of one environment.

    Attributes:
        sampling: how items are chosen.
        capacity: transitions held, over all environments.
        min_size: transitions that must be there before the first sample.
        batch_size: items in one batch.
        sequence_length: transitions in one item; sequences run across the ends of episodes.
        period: transitions between the starts of consecutive items.
        priority_exponent: the power that turns priorities into probabilities (0 is uniform).

    Raises:
        ConfigurationError: for a plan under which training could never begin.
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
            if getattr(self, field) < 1:
                raise ConfigurationError(f"the buffer's {field} is {getattr(self, field)}; it must be at least 1")
        if self.min_size > self.capacity:
            raise ConfigurationError(
                f"the buffer's min_size ({self.min_size}) is above its capacity ({self.capacity}), so training "
                f"would never begin; lower min_size or raise capacity"
            )
        items = self.batch_size * (self.sequence_length if self.sampling is Sampling.ON_POLICY else 1)
        if items > self.capacity:
            raise ConfigurationError(
                f"a batch ({self.batch_size} x {self.sequence_length}) is larger than the buffer's capacity "
                f"({self.capacity} transitions); lower batch_size or raise capacity"
            )
        if self.sequence_length > self.capacity:
            raise ConfigurationError(
                f"one sequence ({self.sequence_length} transitions) does not fit the buffer's capacity "
                f"({self.capacity}); raise capacity"
            )
        if not 0.0 <= self.priority_exponent <= 1.0:
            raise ConfigurationError(f"priority_exponent is {self.priority_exponent}; it must lie in [0, 1]")


def updates_due(steps: int, min_size: int, every: int, updates: int) -> int:
    """Trainer steps that should have run after ``steps`` environment steps.

    The first round follows environment step ``min_size``, then one every ``every`` steps; a round is
    ``updates`` trainer steps. The count does not depend on how many environments made the steps.

    >>> [updates_due(s, min_size=10, every=4, updates=2) for s in (9, 10, 13, 14, 18)]
    [0, 2, 2, 4, 6]
    """
    return 0 if steps < min_size else updates * ((steps - min_size) // every + 1)
