"""Evaluations as the marl-eval tools read them."""

from __future__ import annotations

import dataclasses
import json
import math
import pathlib
from typing import Any

from mava.components.observers.records import dumps, finite, safe, unique, write_atomically
from mava.core.evaluation import Evaluation
from mava.core.lifecycle import Observe
from mava.core.observing import Observer, Progress, Run

FILE = "marl_eval.json"
Steps = dict[int, dict[str, Any]]


@dataclasses.dataclass(frozen=True)
class MarlEvalLog(Observe):
    """Writes evaluations to ``run_dir/marl_eval.json``, for the marl-eval tools.

    The schema is that of https://github.com/instadeepai/marl-eval::

        {"mpe2": {"simple_spread_v3": {"madqn": {"seed_0": {
            "step_0": {"step_count": 0, "elapsed_time": 0.0, "return": [...], ...},
            ...,
            "absolute_metrics": {"elapsed_time": 61.2, "return": [...], ...}}}}}}

    ``return`` and ``episode_length`` have one number per episode, the environment's own metrics one
    number each, left out where it is not finite; a return that is not finite is ``null``.
    ``elapsed_time`` is in seconds since the first
    evaluation. The file is replaced whole at each evaluation. Without a ``run_dir`` nothing is
    written.
    """

    def open_observer(self, run: Run) -> Observer:
        if run.run_dir is None:
            return Observer()
        return _MarlEvalLog(run, run.run_dir / FILE)


class _MarlEvalLog(Observer):
    def __init__(self, run: Run, path: pathlib.Path) -> None:
        self._path = path
        environment, _, task = run.environment.rpartition("/")
        self._keys = (
            safe(environment or task),
            safe(task),
            safe(run.system),
            f"seed_{run.seed}",
        )
        self._steps = self._read(run.first_step) if run.resumed else {}
        self._absolute: dict[str, Any] | None = None
        times = [step["elapsed_time"] for step in self._steps.values()]
        self._offset = max(times) if times else None

    def _read(self, first_step: int) -> Steps:
        if not self._path.exists():
            return {}
        found: Any = json.loads(self._path.read_text(encoding="utf-8"))
        for key in self._keys:
            found = found.get(key, {})
        steps = [step for key, step in found.items() if key.startswith("step_")]
        return {s["step_count"]: s for s in steps if s["step_count"] <= first_step}

    def on_evaluation(self, evaluation: Evaluation, progress: Progress) -> None:
        if evaluation.step not in self._steps:
            record = self._record(evaluation, progress)
            self._steps[evaluation.step] = {"step_count": evaluation.step, **record}
            self._write()

    def on_absolute_metric(self, evaluation: Evaluation, progress: Progress) -> None:
        self._absolute = self._record(evaluation, progress)
        self._write()

    def _record(self, evaluation: Evaluation, progress: Progress) -> dict[str, Any]:
        if self._offset is None:
            self._offset = -progress.wall_seconds
        names = unique(evaluation.metrics)
        metrics = dict(zip(names, evaluation.metrics.values(), strict=True))
        return {
            "elapsed_time": round(self._offset + progress.wall_seconds, 3),
            **{name: [value] for name, value in metrics.items() if math.isfinite(value)},
            "return": [finite(value) for value in evaluation.returns],
            "episode_length": list(evaluation.lengths),
        }

    def _write(self) -> None:
        run: dict[str, Any] = {
            f"step_{i}": self._steps[s] for i, s in enumerate(sorted(self._steps))
        }
        if self._absolute is not None:
            run["absolute_metrics"] = self._absolute
        for key in reversed(self._keys):
            run = {key: run}
        write_atomically(self._path, dumps(run, indent=1) + "\n")
