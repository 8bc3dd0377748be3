"""Curves for TensorBoard."""

from __future__ import annotations

import dataclasses
import math
import pathlib
from collections.abc import Mapping
from typing import Any

from mava.components.observers.records import evaluation_numbers, training_numbers
from mava.core.evaluation import Evaluation
from mava.core.lifecycle import Observe
from mava.core.observing import Observer, Progress, Run


@dataclasses.dataclass(frozen=True)
class TensorBoardLog(Observe):
    """Writes metrics over environment steps to ``run_dir/tensorboard``, under ``training/``,
    ``evaluation/`` and ``absolute/``. A resumed run hides what was written after the step it
    resumed from. What is not a finite number is left out. Without a ``run_dir`` nothing is
    written."""

    def open_observer(self, run: Run) -> Observer:
        if run.run_dir is None:
            return Observer()
        return _TensorBoardLog(run, run.run_dir / "tensorboard")


class _TensorBoardLog(Observer):
    def __init__(self, run: Run, directory: pathlib.Path) -> None:
        self._run = run
        self._directory = directory
        self._writer: Any = None
        if not run.resumed:
            self._open()

    def _open(self) -> Any:
        # A resumed run opens its file when it has something to write: one that turns out to be
        # finished leaves the files as they are.
        if self._writer is None:
            from tensorboardX import SummaryWriter

            purge_step = self._run.first_step + 1 if self._run.resumed else None
            self._writer = SummaryWriter(str(self._directory), purge_step=purge_step)
        return self._writer

    def on_metrics(self, metrics: Mapping[str, float], progress: Progress) -> None:
        numbers = training_numbers(metrics, progress)
        if progress.wall_seconds > 0:
            done = progress.environment_steps - self._run.first_step
            numbers["steps_per_second"] = done / progress.wall_seconds
        self._write("training", numbers, progress.environment_steps)

    def on_evaluation(self, evaluation: Evaluation, progress: Progress) -> None:
        self._write_evaluation("evaluation", evaluation, evaluation.step)

    def on_absolute_metric(self, evaluation: Evaluation, progress: Progress) -> None:
        self._write_evaluation("absolute", evaluation, progress.environment_steps)

    def _write_evaluation(self, kind: str, evaluation: Evaluation, step: int) -> None:
        self._write(kind, evaluation_numbers(evaluation, self._run.spec), step)
        self._open().flush()

    def _write(self, kind: str, numbers: Mapping[str, float], step: int) -> None:
        for name, value in numbers.items():
            if math.isfinite(value):
                self._open().add_scalar(f"{kind}/{name}", value, step)

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()
