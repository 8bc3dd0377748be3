"""Drives a runner through a run: the same for every topology."""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Callable

import numpy as np

from mava.core.evaluation import Evaluation
from mava.core.learner import Variables
from mava.core.observing import Progress
from mava.errors import ConfigurationError
from mava.launcher.checkpoints import Checkpoints
from mava.launcher.evaluating import Best, Evaluator
from mava.launcher.schedule import Schedule, Stride
from mava.launcher.signals import Interruption
from mava.launcher.watching import Tally, Watchers
from mava.topologies.base import Runner, of_seed
from mava.topologies.host_episodes import Interrupted

TOTAL_STEPS = "total_steps"
INTERRUPTED = "interrupted"
_PROGRESS_SECONDS = 0.1


@dataclasses.dataclass
class Memo:
    """What the driver itself remembers; saved with each checkpoint.

    Attributes:
        position: everything due at or before this environment step has been done.
        evaluations: so far.
        best_step: environment steps at the best of them.
        tally: metrics and returns not yet reported.
        training_seconds: in the runner's ``advance``, over all processes.
    """

    position: int = -1
    evaluations: list[Evaluation] = dataclasses.field(default_factory=list)
    best_step: int | None = None
    tally: Tally = dataclasses.field(default_factory=Tally)
    training_seconds: float = 0.0


@dataclasses.dataclass(frozen=True)
class Outcome:
    """How a run ended. ``variables`` are the best ones, after ``step`` environment steps."""

    reason: str
    evaluations: tuple[Evaluation, ...]
    absolute_metric: Evaluation | None
    variables: Variables
    step: int
    wall_seconds: float
    steps_per_second: float


class Driver:
    """One run of one runner.

    Attributes:
        runner: not yet started.
        schedule: when things are due.
        evaluator: ``None`` for a system without one.
        watchers: the observers.
        interruption: asked between strides.
        checkpoints: ``None`` to write nothing.
        clock: seconds, from anywhere; decides how often observers hear of progress, and no more.
    """

    def __init__(
        self,
        runner: Runner,
        schedule: Schedule,
        evaluator: Evaluator | None,
        watchers: Watchers,
        interruption: Interruption,
        checkpoints: Checkpoints | None = None,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self.runner = runner
        self.schedule = schedule
        self.evaluator = evaluator
        self.watchers = watchers
        self.interruption = interruption
        self.checkpoints = checkpoints
        self._clock = clock
        self._began = clock()
        self._training_seconds = 0.0
        self._first_step = 0
        self._memo = Memo()
        self._best: Best | None = None
        self._told = -math.inf
        self._unheard: list[float] = []
        self._stride = Stride(runner.step_size)
        self._saved: int | None = None
        self._said = False
        self._refusers = runner.program.refusers
        if evaluator is not None:
            evaluator.should_stop = lambda: interruption.requested is not None

    def run(
        self, resume: bool, absolute_metric: bool, ready: Callable[[], None] = lambda: None
    ) -> Outcome:
        """Runs to the end.

        Args:
            resume: go on from the last checkpoint.
            absolute_metric: evaluate the best policy at length when the run is over.
            ready: called before the first step, once all is compiled and restored.

        Raises:
            MavaError: of the runner, the evaluator or an observer. The last checkpoint is then the
                last good one: nothing is written after an error.
        """
        self.runner.start(self.watchers.say)
        if resume:
            self._restore()
        ready()
        absolute = None
        try:
            reason = self._train()
            self._save()  # before anything long: another interruption would lose it
            if reason != INTERRUPTED:
                self._evaluate()
                self._save()
                if self._is_interrupted():
                    reason = INTERRUPTED
                elif absolute_metric:
                    absolute = self._absolute_metric()
        except Interrupted:
            self._is_interrupted()
            reason = INTERRUPTED
            self._save()
        self.watchers.tell("end", reason, self._progress())
        return self._outcome(reason, absolute)

    def _is_interrupted(self) -> bool:
        """Whether the run is to end now; says so once."""
        requested = self.interruption.requested
        if requested and not self._said:
            self._said = True
            self.watchers.say(f"stopping after {requested}; Ctrl-C again to quit at once")
        return requested is not None

    def _train(self) -> str:
        """Returns why it ended."""
        reason = self._reach(0) if self._memo.position < 0 else None
        while reason is None:
            if self._memo.position >= self.schedule.total:
                return TOTAL_STEPS
            reason = self._reach(self.schedule.after(self._memo.position))
        return reason

    def _reach(self, target: int) -> str | None:
        """Trains up to ``target`` and does what is due there; returns why to end, or ``None``."""
        while not self._is_reached(target):
            if reason := self._stop_reason():
                return reason
            self._advance(target)
        if self._is_interrupted():
            return INTERRUPTED
        mean_return = self._report() if self.schedule.reports(target) else None
        if self.schedule.evaluates(target):
            if target >= self.schedule.total:
                self._save()
            self._evaluate()
        self._memo.position = target  # not before: an evaluation that was given up stays due
        reason = self._stop_reason(mean_return)
        if self.schedule.saves(target) and reason is None and target < self.schedule.total:
            self._save()
        return None if target >= self.schedule.total and reason != INTERRUPTED else reason

    def _is_reached(self, target: int) -> bool:
        if self.schedule.evaluates(target) or self.schedule.saves(target):
            return self.runner.reached(target)
        return self.runner.environment_steps + self.runner.step_size > target

    def _advance(self, target: int) -> None:
        steps = self.runner.environment_steps
        began = self._clock()
        if self.runner.is_asynchronous:
            until = self.schedule.rests_after(self._memo.position)
        else:
            until = min(target, steps + self._stride.steps)
        report = self.runner.advance(until)
        seconds = self._clock() - began
        steps = self.runner.environment_steps - steps
        self._stride.took(steps, seconds)
        self._ask_refusers()
        self._training_seconds += seconds
        self._memo.training_seconds += seconds
        self._memo.tally.add(report)
        # What is due at the target stays due until it is done, also if the run stops before it.
        reached = min(self.runner.environment_steps, target - 1)
        self._memo.position = max(self._memo.position, reached)
        self._unheard.extend(report.returns)
        self._tell_progress()

    def _ask_refusers(self) -> None:
        """Raises:
        ConfigurationError: a component's statistics show that the run makes no sense.
        """
        seeds = self.runner.num_seeds
        for component in self._refusers:
            kept = self.runner.variables().components.get(component.name, ())
            statistics = [of_seed(kept, index, seeds) for index in range(seeds)]
            for one in statistics:
                reason = component.refusal(one, self.runner.program.spec)
                if reason is not None:
                    raise ConfigurationError(f"{component.name}: {reason}")
            if all(component.is_decided(one) for one in statistics):
                self._refusers = tuple(x for x in self._refusers if x is not component)

    def _tell_progress(self) -> None:
        if self._clock() - self._told < _PROGRESS_SECONDS:
            return
        mean_return = float(np.mean(self._unheard)) if self._unheard else None
        self._unheard.clear()
        self.watchers.tell("progress", self._progress(mean_return))
        self._told = self._clock()

    def _stop_reason(self, mean_return: float | None = None) -> str | None:
        if self._is_interrupted():
            return INTERRUPTED
        progress = self._progress(mean_return)
        reasons = (stop.stop_reason(progress) for stop in self.runner.program.stops)
        return next((reason for reason in reasons if reason is not None), None)

    def _report(self) -> float | None:
        """Tells observers the metrics; returns the mean return of the same episodes."""
        metrics, mean_return = self._memo.tally.take()
        if metrics or mean_return is not None:
            self.watchers.tell("metrics", metrics, self._progress(mean_return))
        return mean_return

    def _evaluate(self) -> None:
        """Evaluates the policy as it is now, unless that has been done."""
        self.runner.pause()
        step = self.runner.environment_steps
        done = self._memo.evaluations
        if self.evaluator is None or (done and done[-1].step == step):
            return
        variables = self.runner.variables()
        evaluation = self.evaluator.evaluate(variables, step)
        done.append(evaluation)
        self.watchers.tell("evaluation", evaluation, self._progress())
        if self._best is None or self._best.is_beaten_by(evaluation):
            self._best = Best.of(variables, evaluation)
            self._memo.best_step = step
            if self.checkpoints is not None:
                self.checkpoints.save_best(step, self._best.variables)

    def _absolute_metric(self) -> Evaluation | None:
        if self.evaluator is None or self._best is None:
            return None
        self.watchers.say(
            f"evaluating the best policy, of environment step {self._best.step:,}, at length"
        )
        evaluation = self.evaluator.absolute_metric(self._best)
        if evaluation is not None:
            self.watchers.tell("absolute_metric", evaluation, self._progress())
        return evaluation

    def _save(self) -> None:
        """The whole state; or, where that is saved as it is now, the memo alone."""
        if self.checkpoints is None:
            return
        self.runner.pause()
        step, best_step = self.runner.environment_steps, self._memo.best_step
        if self._saved == step:
            self.checkpoints.save_driver(self._memo, best_step)
            return
        state, variables = self.runner.state(), self.runner.variables()
        self.checkpoints.save_last(step, state, variables, self._memo, best_step)
        self._saved = step

    def _restore(self) -> None:
        assert self.checkpoints is not None
        self._memo = self.checkpoints.load_driver()
        for note in self.runner.restore(self.checkpoints.load_last(self.runner.state().arrays)):
            self.watchers.say(note)
        self._first_step = self.runner.environment_steps
        best_step = self._memo.best_step
        for evaluation in self._memo.evaluations:
            if evaluation.step == best_step:
                like = self.runner.variables()
                variables = self.checkpoints.load_variables("best", like, best_step)
                self._best = Best.of(variables, evaluation)
        self.checkpoints.discard_best_after(best_step)
        self.watchers.say(f"resumed at environment step {self._first_step:,}")

    def _progress(self, mean_return: float | None = None) -> Progress:
        evaluations = self._memo.evaluations
        return Progress(
            environment_steps=self.runner.environment_steps,
            trainer_steps=self.runner.trainer_steps,
            episodes=self.runner.episodes,
            total_steps=self.schedule.total,
            wall_seconds=self._clock() - self._began,
            mean_return=mean_return,
            evaluation=evaluations[-1] if evaluations else None,
            training_seconds=self._memo.training_seconds,
        )

    def _outcome(self, reason: str, absolute: Evaluation | None) -> Outcome:
        steps = self.runner.environment_steps
        best = self._best
        speed = (
            (steps - self._first_step) / self._training_seconds if self._training_seconds else 0.0
        )
        return Outcome(
            reason=reason,
            evaluations=tuple(self._memo.evaluations),
            absolute_metric=absolute,
            variables=self.runner.variables() if best is None else best.variables,
            step=steps if best is None else best.step,
            wall_seconds=self._clock() - self._began,
            steps_per_second=speed,
        )
