"""What observers of a run see. An observer reads; nothing it does comes back into training."""

from __future__ import annotations

import dataclasses
import difflib
import inspect
import pathlib
from collections.abc import Mapping
from typing import Any

from mava.core.evaluation import Evaluation
from mava.errors import WiringError
from mava.types import EnvironmentSpec

REPORTS = 200
"""Times that training metrics are reported over a whole run, at most."""


@dataclasses.dataclass(frozen=True)
class Run:
    """The facts of a run that never change.

    ``first_step`` is where this process began: 0, or the step of the checkpoint that it resumed
    from, which may be 0 too: ``resumed`` tells.
    """

    system: str
    environment: str
    topology: str
    seed: int
    total_steps: int
    spec: EnvironmentSpec
    run_dir: pathlib.Path | None = None
    first_step: int = 0
    resumed: bool = False


@dataclasses.dataclass(frozen=True)
class Progress:
    """Where a run stands.

    Attributes:
        environment_steps: transitions of all environments together.
        trainer_steps: trainer steps done.
        episodes: training episodes ended.
        total_steps: what was asked for.
        wall_seconds: since the start of this process's run.
        mean_return: of the training episodes that ended since the last report; ``None`` when none
            did.
        evaluation: the latest one.
        training_seconds: of training alone, without compiling and evaluating, over all processes
            of a resumed run.
    """

    environment_steps: int
    trainer_steps: int
    episodes: int
    total_steps: int
    wall_seconds: float
    mean_return: float | None = None
    evaluation: Evaluation | None = None
    training_seconds: float = 0.0


class Observer:
    """Watches one run; override what is of interest. ``close`` is called at every kind of end.

    Raises:
        WiringError: when a subclass defines an ``on_*`` method that nothing calls.
    """

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        known = [name for name in vars(Observer) if name.startswith("on_")]
        for name, function in vars(cls).items():
            if name.startswith("on_") and inspect.isfunction(function) and name not in known:
                close = difflib.get_close_matches(name, known, n=1, cutoff=0.0)
                raise WiringError(
                    f"{cls.__name__}.{name}() is never called; did you mean {close[0]}()?"
                )

    def on_message(self, text: str) -> None:
        """A sentence about what the run is doing now: compiling, restoring, stopping."""

    def on_progress(self, progress: Progress) -> None:
        """Several times a second at most."""

    def on_metrics(self, metrics: Mapping[str, float], progress: Progress) -> None:
        """Means of the training metrics since the last report."""

    def on_evaluation(self, evaluation: Evaluation, progress: Progress) -> None:
        """An evaluation ended; also the one before training."""

    def on_absolute_metric(self, evaluation: Evaluation, progress: Progress) -> None:
        """The best policy's final, longer evaluation."""

    def on_end(self, reason: str, progress: Progress) -> None:
        """The run ended in good order, for this reason."""

    def close(self) -> None:
        """Frees files and the terminal."""
