"""The driver: what happens when, and at every kind of end."""

import functools
import itertools
import signal
import threading
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from launcher_fakes import (
    EVENTS,
    SEEDS,
    AlsoRecording,
    FakeEvaluate,
    FakeRunner,
    Judge,
    Recording,
    StopAt,
    diverge,
    drive,
    events,
    fake_program,
    kill,
)

from mava.errors import ConfigurationError, DivergenceError, HookError
from mava.launcher.checkpoints import Checkpoints

in_main_thread = pytest.mark.skipif(
    threading.current_thread() is not threading.main_thread(), reason="signals need the main thread"
)


def recorded(**options: Any) -> Any:
    return fake_program(**{"evaluator": FakeEvaluate(), "observers": (Recording(),), **options})


def steps_of(outcome: Any) -> list[int]:
    return [evaluation.step for evaluation in outcome.evaluations]


@pytest.mark.parametrize(
    ("every", "total", "environments", "expected"),
    [
        (10, 30, 1, [0, 10, 20, 30]),
        (10, 25, 1, [0, 10, 20, 25]),
        (None, 30, 1, [0, 30]),
        (100, 30, 1, [0, 30]),
        (10, 30, 4, [0, 8, 20, 28]),
        (1, 9, 4, [0, 4, 8]),
    ],
)
def test_evaluates_first_last_and_on_schedule(every, total, environments, expected) -> None:
    program = fake_program(FakeEvaluate(every), environments=environments)
    assert steps_of(drive(FakeRunner(program), total)) == expected


@pytest.mark.parametrize(("total", "environments", "made"), [(30, 1, 30), (30, 4, 28), (4, 4, 4)])
def test_total_steps_is_never_exceeded(total: int, environments: int, made: int) -> None:
    runner = FakeRunner(fake_program(environments=environments))
    assert drive(runner, total).reason == "total_steps"
    assert runner.environment_steps == made
    assert max(runner.calls) <= total


def test_each_evaluation_has_a_seed_of_its_own_and_the_same_in_each_run() -> None:
    drive(FakeRunner(recorded()))
    first = SEEDS.copy()
    SEEDS.clear()
    drive(FakeRunner(recorded()))
    assert first == SEEDS
    assert len(set(first)) == len(first) == 7


def test_absolute_metric_is_the_best_policy_on_ten_times_the_episodes() -> None:
    outcome = drive(FakeRunner(recorded()))
    best = max(outcome.evaluations, key=lambda evaluation: evaluation.mean_return)
    assert outcome.absolute_metric is not None
    assert outcome.absolute_metric.step == best.step == outcome.step
    assert len(outcome.absolute_metric.returns) == 20
    # The fake's first return is the first weight of the variables that were evaluated.
    assert outcome.absolute_metric.returns[0] == best.returns[0]
    assert events("absolute_metric") == [("absolute_metric", best.step, 20)]


def test_absolute_metric_can_be_left_out() -> None:
    assert drive(FakeRunner(recorded()), absolute=False).absolute_metric is None
    assert events("absolute_metric") == []


def ticking(*ticks: float) -> Any:
    """A clock that goes on by each of ``ticks`` in turn."""
    return itertools.accumulate(itertools.cycle(ticks)).__next__


@pytest.mark.parametrize("clock", [ticking(0.15), ticking(0.02, 0.3, 0.001), ticking(10.0)])
def test_strides_follow_the_clock_and_change_nothing_else(clock: Any) -> None:
    reference, runner = FakeRunner(recorded()), FakeRunner(recorded())
    expected = drive(reference, 200, metrics=20)
    told = events("metrics", "evaluation", "absolute_metric", "end")
    outcome = drive(runner, 200, metrics=20, clock=clock)
    assert runner.calls != reference.calls
    assert events("metrics", "evaluation", "absolute_metric", "end")[len(told) :] == told
    assert outcome.evaluations == expected.evaluations
    np.testing.assert_array_equal(runner.variables()["w"], reference.variables()["w"])


def test_a_slow_clock_gives_short_strides_and_a_fast_one_long_strides() -> None:
    slow, fast = FakeRunner(fake_program()), FakeRunner(fake_program())
    drive(slow, 100, metrics=100, checkpoint=100, clock=ticking(10.0))
    drive(fast, 100, metrics=100, checkpoint=100, clock=ticking(1e-6))
    assert len(slow.calls) == 100
    assert len(fast.calls) <= 8


def test_metrics_are_means_over_trainer_steps_at_fixed_steps() -> None:
    drive(FakeRunner(recorded()), 30, metrics=10)
    rows = events("metrics")
    assert [row[2][0] for row in rows] == [10, 20, 30]
    weights, losses = np.zeros(3, np.float32), []
    for step in range(1, 31):
        weights = np.float32(0.9) * weights + np.sin(np.float32(step + np.arange(3)))
        losses += [weights[0]] * (step % 3 == 0)
    for (_, metrics, _), expected in zip(rows, (losses[:3], losses[3:6], losses[6:]), strict=True):
        assert metrics["loss"] == pytest.approx(np.mean(expected), rel=1e-5)


def refusing(state: dict[str, bool], changes: dict[int, dict[str, bool]]) -> FakeRunner:
    """A runner that is judged by statistics that change at environment steps."""
    at = {step: functools.partial(state.update, change) for step, change in changes.items()}
    real = types.SimpleNamespace(components={"judge": state})
    return FakeRunner(fake_program(refusers=(Judge(),)), at, real)  # type: ignore[arg-type]


def test_a_run_whose_statistics_are_wrong_ends_with_an_error() -> None:
    runner = refusing({"wrong": False, "decided": False}, {20: {"wrong": True, "decided": True}})
    with pytest.raises(ConfigurationError, match="judge: the run is wrong; make it right"):
        drive(runner, clock=ticking(10.0))
    assert runner.environment_steps == 20


def test_what_is_decided_is_never_asked_again() -> None:
    runner = refusing(
        {"wrong": False, "decided": False}, {5: {"decided": True}, 6: {"wrong": True}}
    )
    assert drive(runner, clock=ticking(10.0)).reason == "total_steps"
    assert len(events("asked")) == 5


def test_a_stop_condition_ends_the_run_in_good_order() -> None:
    runner = FakeRunner(recorded(stops=(StopAt(13),)))
    outcome = drive(runner, clock=ticking(10.0))
    assert outcome.reason == "far enough"
    assert steps_of(outcome) == [0, 10, 13]
    assert outcome.absolute_metric is not None
    assert events("end", "close") == [("end", "far enough"), ("close",)]


def test_observers_hear_everything_in_the_order_of_the_system() -> None:
    drive(FakeRunner(recorded(observers=(Recording(), AlsoRecording()))), 10)
    told = [event[:2] for event in EVENTS if event[1] != "progress"]
    names = [name for name, event in told if event != "close"]
    assert names == ["recording", "also_recording"] * (len(names) // 2)
    kinds = [event for name, event in told if name == "recording"]
    assert kinds == [
        *("open", "message", "evaluation", "metrics", "evaluation"),
        *("message", "absolute_metric", "end", "close"),
    ]


@pytest.mark.parametrize("method", ["message", "progress", "metrics", "evaluation", "end"])
def test_a_failing_observer_is_named_and_all_are_closed(method: str) -> None:
    program = recorded(observers=(Recording(), AlsoRecording(method)))
    text = rf"also_recording\.on_{method}\(\) failed: Failure: disk of also_recording"
    with pytest.raises(HookError, match=text):
        drive(FakeRunner(program))
    assert len(events("close")) == 2


def test_an_observer_that_does_not_open_closes_those_before_it() -> None:
    program = recorded(observers=(Recording(), AlsoRecording("open")))
    with pytest.raises(HookError, match=r"also_recording\.open_observer\(\) failed: Failure"):
        drive(FakeRunner(program))
    assert len(events("close")) == 1


def test_divergence_keeps_the_last_good_checkpoint(tmp_path: Path) -> None:
    checkpoints = Checkpoints(tmp_path)
    with pytest.raises(DivergenceError, match="loss is not finite"):
        drive(FakeRunner(recorded(), {27: diverge}), checkpoints=checkpoints)
    assert checkpoints.last_step == 25
    assert events("end", "close") == [("close",)]


@in_main_thread
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_saves_and_ends_in_good_order(tmp_path: Path, number: signal.Signals) -> None:
    before = signal.getsignal(number)
    checkpoints = Checkpoints(tmp_path)
    runner = FakeRunner(recorded(), {23: kill(number)})
    outcome = drive(runner, checkpoints=checkpoints, clock=ticking(10.0))
    assert outcome.reason == "interrupted"
    assert outcome.absolute_metric is None
    assert runner.environment_steps == checkpoints.last_step == 23
    assert events("end", "close") == [("end", "interrupted"), ("close",)]
    assert signal.getsignal(number) is before


@in_main_thread
def test_a_second_signal_raises_at_once() -> None:
    before = signal.getsignal(signal.SIGINT)

    def twice() -> None:
        kill(signal.SIGTERM)()
        kill(signal.SIGINT)()

    with pytest.raises(KeyboardInterrupt):
        drive(FakeRunner(recorded(), {23: twice}))
    assert len(events("close")) == 1
    assert signal.getsignal(signal.SIGINT) is before


def test_signals_are_left_alone_outside_the_main_thread() -> None:
    found: list[Any] = []
    before = signal.getsignal(signal.SIGINT)
    look = lambda: found.append(signal.getsignal(signal.SIGINT))  # noqa: E731
    thread = threading.Thread(target=drive, args=(FakeRunner(fake_program(), {5: look}),))
    thread.start()
    thread.join()
    assert found == [before]


@in_main_thread
@pytest.mark.parametrize(
    ("stop", "checkpoint"), [(1, None), (10, None), (29, None), (47, 7), (50, None)]
)
def test_a_resumed_run_gives_what_the_uninterrupted_one_gives(
    tmp_path: Path, stop: int, checkpoint: int | None
) -> None:
    def run(folder: str, runner: FakeRunner, resume: bool = False) -> Any:
        checkpoints = Checkpoints(tmp_path / folder)
        return drive(runner, 50, checkpoints, checkpoint=checkpoint, resume=resume)

    whole = FakeRunner(recorded())
    expected = run("whole", whole)
    told = events("metrics", "evaluation", "absolute_metric")
    first = run("parts", FakeRunner(recorded(), {stop: kill(signal.SIGINT)}))
    assert first.reason == "interrupted"
    parts = FakeRunner(recorded())
    outcome = run("parts", parts, resume=True)
    assert ("message", "environment 0 starts a new episode") in events("message")
    assert events("metrics", "evaluation", "absolute_metric")[len(told) :] == told
    assert outcome.evaluations == expected.evaluations
    assert outcome.absolute_metric == expected.absolute_metric
    assert parts.state().extra == whole.state().extra
    np.testing.assert_array_equal(parts.variables()["w"], whole.variables()["w"])
    for folder in ("whole", "parts"):
        assert Checkpoints(tmp_path / folder).best_step == expected.step
        assert len(list((tmp_path / folder / "last").iterdir())) == 1
        assert len(list((tmp_path / folder / "best").iterdir())) == 1


def test_a_run_killed_between_checkpoints_makes_its_best_again(tmp_path: Path) -> None:
    checkpoints = Checkpoints(tmp_path)
    expected = drive(FakeRunner(recorded()))
    with pytest.raises(DivergenceError):
        drive(FakeRunner(recorded(), {45: diverge}), checkpoints=checkpoints, checkpoint=15)
    assert checkpoints.last_step == 30
    outcome = drive(FakeRunner(recorded()), checkpoints=checkpoints, checkpoint=15, resume=True)
    assert outcome.evaluations == expected.evaluations
    assert outcome.absolute_metric == expected.absolute_metric
    assert checkpoints.best_step == expected.step
