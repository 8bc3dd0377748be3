"""All numbers of a run in one file that any tool can read."""

from __future__ import annotations

import dataclasses
import json
import math
import pathlib
from collections.abc import Mapping
from typing import Any, TextIO

from mava.components.observers.records import (
    dumps,
    evaluation_numbers,
    finite,
    training_numbers,
    write_atomically,
)
from mava.core.evaluation import Evaluation
from mava.core.lifecycle import Observe
from mava.core.observing import REPORTS, Observer, Progress, Run
from mava.errors import ConfigurationError

FILE = "metrics.jsonl"


@dataclasses.dataclass(frozen=True)
class MetricsLog(Observe):
    """Writes ``run_dir/metrics.jsonl``: one JSON object a line, readable while the run goes on.

    The first line (``"kind": "run"``) names the run. Each other line has ``step`` (environment
    steps), ``kind`` (``training``, ``evaluation`` or ``absolute``), numbers by name, and
    ``wall_seconds`` of training before it, over all processes of a resumed run. Evaluations also
    list ``returns`` and ``lengths`` by episode, and ``seed_returns`` by episode of each seed where
    several are trained together. What is not a finite number is ``null``.

    A resumed run drops what was written after the step it resumed from, so its file is that of a
    run that was never interrupted, but for ``wall_seconds``. Without a ``run_dir`` nothing is
    written.

    Attributes:
        lines: training lines of a whole run at most; evaluations come on top. There are never more
            than a run reports (``mava.core.observing.REPORTS``).

    Raises:
        ConfigurationError: for fewer than one line.
    """

    lines: int = REPORTS

    def __post_init__(self) -> None:
        if self.lines < 1:
            raise ConfigurationError(f"metrics_log.lines is {self.lines}; it must be at least 1")

    def open_observer(self, run: Run) -> Observer:
        if run.run_dir is None:
            return Observer()
        return _MetricsLog(run, run.run_dir / FILE, self.lines)


class _MetricsLog(Observer):
    def __init__(self, run: Run, path: pathlib.Path, lines: int) -> None:
        self._run = run
        self._interval = math.ceil(max(run.total_steps, 1) / lines)
        kept = [r for r in _records(path) if _kept(r, run.first_step)] if run.resumed else []
        training = [r["step"] for r in kept if r["kind"] == "training"]
        self._next = self._after(max(training, default=0))
        self._known = {(r["kind"], r["step"]) for r in kept}
        self._earlier_seconds = max((r["wall_seconds"] for r in kept), default=0.0)
        self._path = path
        self._start = "".join(dumps(r) + "\n" for r in [_header(run), *kept])
        self._file: TextIO | None = None
        if not run.resumed:
            self._open()

    def _open(self) -> TextIO:
        # A resumed run opens its file when it has something to write: one that turns out to be
        # finished leaves the file as it is.
        write_atomically(self._path, self._start)
        self._file = self._path.open("a", encoding="utf-8")
        return self._file

    def _after(self, step: int) -> int:
        return (step // self._interval + 1) * self._interval

    def on_metrics(self, metrics: Mapping[str, float], progress: Progress) -> None:
        # The report that reaches a mark is written as it is: a mean over reports would depend on
        # where a run was interrupted.
        step = progress.environment_steps
        if step >= self._next:
            self._next = self._after(step)
            self._write("training", step, training_numbers(metrics, progress), progress)

    def on_evaluation(self, evaluation: Evaluation, progress: Progress) -> None:
        self._write_evaluation("evaluation", evaluation, progress)

    def on_absolute_metric(self, evaluation: Evaluation, progress: Progress) -> None:
        self._write_evaluation("absolute", evaluation, progress)

    def _write_evaluation(self, kind: str, evaluation: Evaluation, progress: Progress) -> None:
        numbers = evaluation_numbers(evaluation, self._run.spec)
        returns = [finite(value) for value in evaluation.returns]
        episodes: dict[str, Any] = {"returns": returns, "lengths": list(evaluation.lengths)}
        if evaluation.seeds:
            seeds = [[finite(value) for value in one.returns] for one in evaluation.seeds]
            episodes["seed_returns"] = seeds
        self._write(kind, evaluation.step, numbers, progress, episodes)

    def _write(
        self,
        kind: str,
        step: int,
        numbers: Mapping[str, float],
        progress: Progress,
        episodes: Mapping[str, Any] | None = None,
    ) -> None:
        if (kind, step) in self._known:
            return
        record = {
            "step": step,
            "kind": kind,
            **{name: finite(value) for name, value in numbers.items()},
            **(episodes or {}),
            "wall_seconds": round(self._earlier_seconds + progress.wall_seconds, 3),
        }
        file = self._file or self._open()
        file.write(dumps(record) + "\n")
        file.flush()

    def close(self) -> None:
        if self._file is not None:
            self._file.close()


def _header(run: Run) -> dict[str, Any]:
    return {
        "step": 0,
        "kind": "run",
        "system": run.system,
        "environment": run.environment,
        "topology": run.topology,
        "seed": run.seed,
        "total_steps": run.total_steps,
    }


def _records(path: pathlib.Path) -> list[dict[str, Any]]:
    """The whole lines of a file; a killed process may have left a part of one at the end."""
    if not path.exists():
        return []
    records = []
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            records.append(json.loads(line))
        except json.JSONDecodeError:
            break
    return records


def _kept(record: dict[str, Any], first_step: int) -> bool:
    return record["kind"] in ("training", "evaluation") and record["step"] <= first_step
