"""A runner that only counts, and components that only write down what they are told."""

import dataclasses
import os
import types
from collections.abc import Callable, Mapping
from typing import Any

import jax
import numpy as np

import mava
from mava.core.evaluation import ActFunction, Episodes, Evaluation
from mava.core.lifecycle import Evaluate, Observe, Refuse, Stop
from mava.core.observing import Observer, Progress, Run
from mava.core.system import System, build
from mava.errors import DivergenceError
from mava.launcher.checkpoints import Checkpoints
from mava.launcher.driver import Driver, Outcome
from mava.launcher.evaluating import Evaluator
from mava.launcher.schedule import Schedule
from mava.launcher.signals import Interruption
from mava.launcher.watching import Watchers
from mava.topologies.base import Report, Runner, RunnerState
from mava.types import ArraySpec, DiscreteActions, EnvironmentSpec, GroupSpec

SPEC = EnvironmentSpec(
    "fake", (GroupSpec("agents", ("a", "b"), ArraySpec((3,), np.float32), DiscreteActions(2)),)
)
EVENTS: list[tuple[Any, ...]] = []
SEEDS: list[tuple[int, int]] = []
MADE: list["FakeRunner"] = []


class Failure(Exception):
    pass


@dataclasses.dataclass(frozen=True)
class FakeEvaluate(Evaluate):
    """Returns that follow from the variables and the seed."""

    every: int | None = 10
    episodes: int = 2

    def evaluate(self, act: ActFunction, environment: Any, seed: int) -> Evaluation:
        SEEDS.append((self.episodes, seed))
        level = float(act.variables["w"][0]) if "w" in act.variables else 0.0
        returns = level + np.arange(2.0 * self.episodes).reshape(self.episodes, 2)
        return Evaluation.of(Episodes({"agents": returns}, np.full(self.episodes, 5), {}))


class Recorder(Observer):
    def __init__(self, name: str, fail_in: str | None) -> None:
        self._name = name
        self._fail_in = fail_in

    def _write(self, event: str, *values: Any) -> None:
        EVENTS.append((self._name, event, *values))
        if event == self._fail_in:
            raise Failure(f"disk of {self._name}")

    def on_message(self, text: str) -> None:
        self._write("message", text)

    def on_progress(self, progress: Progress) -> None:
        self._write("progress", progress)

    def on_metrics(self, metrics: Mapping[str, float], progress: Progress) -> None:
        place = (progress.environment_steps, progress.trainer_steps, progress.mean_return)
        self._write("metrics", dict(metrics), place)

    def on_evaluation(self, evaluation: Evaluation, progress: Progress) -> None:
        self._write("evaluation", evaluation.step)

    def on_absolute_metric(self, evaluation: Evaluation, progress: Progress) -> None:
        self._write("absolute_metric", evaluation.step, len(evaluation.returns))

    def on_end(self, reason: str, progress: Progress) -> None:
        self._write("end", reason)

    def close(self) -> None:
        self._write("close")


@dataclasses.dataclass(frozen=True)
class Recording(Observe):
    fail_in: str | None = None

    def open_observer(self, run: Run) -> Observer:
        EVENTS.append((self.name, "open", run.first_step))
        if self.fail_in == "open":
            raise Failure("no terminal")
        return Recorder(self.name, self.fail_in)


@dataclasses.dataclass(frozen=True)
class AlsoRecording(Recording):
    pass


@dataclasses.dataclass(frozen=True)
class StopAt(Stop):
    step: int

    def stop_reason(self, progress: Progress) -> str | None:
        return "far enough" if progress.environment_steps >= self.step else None


@dataclasses.dataclass(frozen=True)
class Judge(Refuse):
    """Refuses what its statistics call wrong, until they are decided."""

    def refusal(self, state: Any, spec: EnvironmentSpec) -> str | None:
        EVENTS.append((self.name, "asked", dict(state)))
        return "the run is wrong; make it right" if state["wrong"] else None

    def is_decided(self, state: Any) -> bool:
        return bool(state["decided"])


def fake_program(
    evaluator: Evaluate | None = None,
    observers: tuple[Observe, ...] = (),
    stops: tuple[Stop, ...] = (),
    environments: int = 1,
    refusers: tuple[Refuse, ...] = (),
) -> Any:
    return types.SimpleNamespace(
        spec=SPEC,
        evaluator=evaluator,
        observers=observers,
        stops=stops,
        refusers=refusers,
        num_environments=environments,
        init_memory=tuple,
        act=None,
    )


class FakeRunner(Runner):
    """Every step changes ``w``; every third step trains; an episode is five vectorised steps.

    Args:
        program: what the driver looks at.
        at: what to do right after an environment step, by step.
        real_variables: what to show to policies in place of ``w``.
    """

    def __init__(
        self,
        program: Any,
        at: dict[int, Callable[[], None]] | None = None,
        real_variables: Any = None,
    ) -> None:
        self.program = program
        self._at = at or {}
        self._real = real_variables
        self._steps = self._trained = self._episodes = 0
        self._w = np.zeros(3, np.float32)
        self.calls: list[int] = []
        self.closed = 0

    environment_steps = property(lambda self: self._steps)
    trainer_steps = property(lambda self: self._trained)
    episodes = property(lambda self: self._episodes)

    def memory_estimate(self) -> dict[str, int]:
        return {"buffer": 1000, "parameters": 12}

    def start(self, say: Callable[[str], None]) -> None:
        say("compiling")

    def advance(self, until: int) -> Report:
        self.calls.append(until)
        losses, returns = [], []
        size = self.program.num_environments
        while self._steps + size <= until:
            self._steps += size
            self._w = np.float32(0.9) * self._w + np.sin(np.float32(self._steps + np.arange(3)))
            if self._steps // size % 3 == 0:
                self._trained += 1
                losses.append(np.float32(self._w[0]))
            if self._steps // size % 5 == 0:
                self._episodes += 1
                returns.append(float(self._w[1]))
            self._at.get(self._steps, lambda: None)()
        metrics = {"loss": tuple(float(loss) for loss in losses)} if losses else {}
        return Report(metrics, tuple(returns), (5,) * len(returns))

    def variables(self) -> Any:
        return {"w": self._w} if self._real is None else self._real

    def episode_runner(self) -> Any:
        return types.SimpleNamespace(should_stop=lambda: False)

    def state(self) -> RunnerState:
        arrays = {"w": self._w, "none": (), "empty": {}, "nothing": np.zeros((0, 2), np.uint8)}
        counters = {"steps": self._steps, "trained": self._trained, "episodes": self._episodes}
        return RunnerState(arrays, counters)

    def restore(self, state: RunnerState) -> list[str]:
        self._w = state.arrays["w"]
        self._steps, self._trained = state.extra["steps"], state.extra["trained"]
        self._episodes = state.extra["episodes"]
        return ["environment 0 starts a new episode"]

    def close(self) -> None:
        self.closed += 1


def diverge() -> None:
    raise DivergenceError("loss is not finite")


def kill(number: int) -> Callable[[], None]:
    return lambda: os.kill(os.getpid(), number)


def drive(
    runner: FakeRunner,
    total: int = 50,
    checkpoints: Checkpoints | None = None,
    *,
    metrics: int = 10,
    checkpoint: int | None = None,
    resume: bool = False,
    absolute: bool = True,
    clock: Callable[[], float] = lambda: 0.0,
) -> Outcome:
    program = runner.program
    evaluation = None if program.evaluator is None else program.evaluator.every
    schedule = Schedule(total, metrics, evaluation, checkpoint or max(1, total // 10))
    evaluator = None if program.evaluator is None else Evaluator(program.evaluator, runner, seed=0)
    run = Run("fake", "fake", "fake", 0, total, SPEC)
    with Interruption() as interruption:
        watchers = Watchers(program.observers, run)
        try:
            driver = Driver(
                runner, schedule, evaluator, watchers, interruption, checkpoints, clock=clock
            )
            return driver.run(resume, absolute)
        finally:
            watchers.close(quietly=True)


def events(*kinds: str) -> list[tuple[Any, ...]]:
    """What observers were told, of these kinds, without their names."""
    return [event[1:] for event in EVENTS if event[1] in kinds]


def make_runner(
    system: System, seed: int, jit: bool = True, at: dict[int, Callable[[], None]] | None = None
) -> Runner:
    """A topology's: counts in place of training, under the real program and real variables."""
    program = build(system)
    variables = program.publish(program.init_learner(jax.random.key(seed)))
    MADE.append(FakeRunner(program, at, variables))
    return MADE[-1]


def launch(system: Any, topology: str = "fake", total_steps: Any = 20, **options: Any) -> Any:
    return mava.launch(system, topology, total_steps=total_steps, **options)
