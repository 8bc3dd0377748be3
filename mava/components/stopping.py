"""Reasons to end a run before its last step."""

from __future__ import annotations

import dataclasses

from mava.core.lifecycle import Stop
from mava.core.observing import Progress
from mava.errors import ConfigurationError


@dataclasses.dataclass(frozen=True)
class StopOnReturn(Stop):
    """Ends the run once an evaluation is good enough.

    Attributes:
        mean_return: over episodes, of the mean over agents of undiscounted returns.
    """

    mean_return: float

    def stop_reason(self, progress: Progress) -> str | None:
        evaluation = progress.evaluation
        if evaluation is not None and evaluation.mean_return >= self.mean_return:
            return f"evaluation return {evaluation.mean_return:.6g} reached {self.mean_return:g}"
        return None


@dataclasses.dataclass(frozen=True)
class StopAfter(Stop):
    """Ends the run after a time of training.

    Attributes:
        seconds: of training alone, without compiling and evaluating, and over all processes of a
            resumed run: how often a run was interrupted changes nothing.

    Raises:
        ConfigurationError: unless ``seconds`` is positive.
    """

    seconds: float

    def __post_init__(self) -> None:
        if not self.seconds > 0:
            raise ConfigurationError(f"stop_after.seconds is {self.seconds}; it must be positive")

    def stop_reason(self, progress: Progress) -> str | None:
        if progress.training_seconds >= self.seconds:
            return f"{self.seconds:g} seconds of training passed"
        return None
