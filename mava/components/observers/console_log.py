"""What a run is doing, in words."""

from __future__ import annotations

import dataclasses

from mava.components.observers.terminal import duration, number, say
from mava.core.evaluation import Evaluation
from mava.core.lifecycle import Observe
from mava.core.observing import Observer, Progress, Run


@dataclasses.dataclass(frozen=True)
class ConsoleLog(Observe):
    """Writes messages, evaluations and the end of the run to standard error, a line each.

    Attributes:
        evaluations: whether evaluations are written too.
    """

    evaluations: bool = True

    def open_observer(self, run: Run) -> Observer:
        return _ConsoleLog(run, self.evaluations)


class _ConsoleLog(Observer):
    def __init__(self, run: Run, evaluations: bool) -> None:
        self._evaluations = evaluations
        kept = "without a run_dir nothing is kept"
        if run.run_dir is not None:
            kept = f"results go to {run.run_dir}"
        say(f"{run.total_steps:,} environment steps on {run.topology}; {kept}")

    def on_message(self, text: str) -> None:
        say(text)

    def on_evaluation(self, evaluation: Evaluation, progress: Progress) -> None:
        if self._evaluations:
            say(f"evaluation at {evaluation.step:,} steps: {_outcome(evaluation)}")

    def on_absolute_metric(self, evaluation: Evaluation, progress: Progress) -> None:
        if self._evaluations:
            say(f"best policy, from step {evaluation.step:,}: {_outcome(evaluation)}")

    def on_end(self, reason: str, progress: Progress) -> None:
        say(
            f"ended after {progress.environment_steps:,} environment and "
            f"{progress.trainer_steps:,} trainer steps "
            f"in {duration(progress.wall_seconds)}: {reason}"
        )


def _outcome(evaluation: Evaluation) -> str:
    episodes = len(evaluation.returns)
    plural = "" if episodes == 1 else "s"
    shown = [f"mean return {number(evaluation.mean_return)} over {episodes} episode{plural}"]
    shown += [f"{name} {number(value)}" for name, value in evaluation.metrics.items()]
    return ", ".join(shown)
