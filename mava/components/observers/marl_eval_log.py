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
    evaluation. Seeds that are trained together have a part each. The file is replaced whole at each
    evaluation. Without a ``run_dir`` nothing is written.
    """

    def open_observer(self, run: Run) -> Observer:
        if run.run_dir is None:
            return Observer()
        return _MarlEvalLog(run, run.run_dir / FILE)


class _MarlEvalLog(Observer):
    def __init__(self, run: Run, path: pathlib.Path) -> None:
        self._path = path
        environment, _, task = run.environment.rpartition("/")
        self._keys = (safe(environment or task), safe(task), safe(run.system))
        self._seed = run.seed
        self._runs = self._read(run.first_step) if run.resumed else {}
        self._absolute: dict[str, dict[str, Any]] = {}
        times = [step["elapsed_time"] for steps in self._runs.values() for step in steps.values()]
        self._offset = max(times) if times else None

    def _read(self, first_step: int) -> dict[str, Steps]:
        if not self._path.exists():
            return {}
        found: Any = json.loads(self._path.read_text(encoding="utf-8"))
        for key in self._keys:
            found = found.get(key, {})
        return {
            seed: {
                step["step_count"]: step
                for key, step in records.items()
                if key.startswith("step_") and step["step_count"] <= first_step
            }
            for seed, records in found.items()
        }

    def on_evaluation(self, evaluation: Evaluation, progress: Progress) -> None:
        for seed, one in self._by_seed(evaluation).items():
            steps = self._runs.setdefault(seed, {})
            if one.step not in steps:
                steps[one.step] = {"step_count": one.step, **self._record(one, progress)}
        self._write()

    def on_absolute_metric(self, evaluation: Evaluation, progress: Progress) -> None:
        for seed, one in self._by_seed(evaluation).items():
            self._runs.setdefault(seed, {})
            self._absolute[seed] = self._record(one, progress)
        self._write()

    def _by_seed(self, evaluation: Evaluation) -> dict[str, Evaluation]:
        seeds = evaluation.seeds or (evaluation,)
        return {f"seed_{self._seed + index}": one for index, one in enumerate(seeds)}

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
        whole: dict[str, Any] = {}
        for seed, steps in self._runs.items():
            whole[seed] = {f"step_{i}": steps[s] for i, s in enumerate(sorted(steps))}
            if seed in self._absolute:
                whole[seed]["absolute_metrics"] = self._absolute[seed]
        for key in reversed(self._keys):
            whole = {key: whole}
        write_atomically(self._path, dumps(whole, indent=1) + "\n")
