"""When things are due, in environment steps; and how far to go between two looks at the clock."""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True)
class Schedule:
    """What is due when. Everything is due at ``total`` too.

    Attributes:
        total: the last environment step.
        metrics: environment steps between reports of metrics.
        evaluation: between evaluations; ``None`` for the first and the last moment only.
        checkpoint: between checkpoints; there is none at step 0.
    """

    total: int
    metrics: int
    evaluation: int | None
    checkpoint: int

    def after(self, position: int) -> int:
        """The first step after ``position`` at which anything is due.

        >>> schedule = Schedule(total=25, metrics=4, evaluation=10, checkpoint=7)
        >>> [schedule.after(step) for step in (0, 4, 8, 9, 24)]
        [4, 7, 10, 10, 25]
        """
        periods = [self.metrics, self.checkpoint]
        if self.evaluation is not None:
            periods.append(self.evaluation)
        return min([self.total, *((position // period + 1) * period for period in periods)])

    def rests_after(self, position: int) -> int:
        """The first step after ``position`` at which the run must be at rest: to be evaluated or
        saved. Metrics can be reported in passing.

        >>> schedule = Schedule(total=25, metrics=4, evaluation=10, checkpoint=7)
        >>> [schedule.rests_after(step) for step in (0, 7, 21)]
        [7, 10, 25]
        """
        return dataclasses.replace(self, metrics=self.total).after(position)

    def evaluates(self, step: int) -> bool:
        return step in (0, self.total) or _due(step, self.evaluation)

    def saves(self, step: int) -> bool:
        return step == self.total or _due(step, self.checkpoint)

    def reports(self, step: int) -> bool:
        return step == self.total or _due(step, self.metrics)


def _due(step: int, period: int | None) -> bool:
    return period is not None and step > 0 and step % period == 0


class Stride:
    """Environment steps to take before looking at the clock again: about ``seconds`` of them."""

    def __init__(self, smallest: int, seconds: float = 0.2) -> None:
        self._smallest = smallest
        self._seconds = seconds
        self.steps = smallest

    def took(self, steps: int, seconds: float) -> None:
        """Learns from a stride of ``steps`` that took ``seconds``; never more than doubles."""
        wanted = int(steps * self._seconds / max(seconds, 1e-6))
        self.steps = max(self._smallest, min(wanted, 2 * self.steps))
