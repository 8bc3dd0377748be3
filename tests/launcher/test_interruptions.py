"""Interruptions: at whatever moment, nothing that was learned is lost, and nothing runs on."""

import itertools
import os
import signal
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from launcher_fakes import (
    SEEDS,
    FakeEvaluate,
    FakeRunner,
    Recording,
    StopAt,
    drive,
    events,
    fake_program,
)

from mava.components.stopping import StopAfter
from mava.core.evaluation import ActFunction, Evaluation
from mava.environments import as_factory
from mava.errors import EnvironmentFault
from mava.launcher.checkpoints import Checkpoints
from mava.launcher.policy import random_policy
from mava.testing.toys import Echo
from mava.topologies.host_episodes import HostEpisodes, Interrupted

pytestmark = pytest.mark.skipif(
    threading.current_thread() is not threading.main_thread(), reason="signals need the main thread"
)
ECHO = as_factory(Echo, length=5)


class Hosting(FakeRunner):
    """Has real environments to evaluate in, which count their steps."""

    def __init__(self, program: Any, at_look: dict[int, Callable[[], None]] | None = None) -> None:
        super().__init__(program)
        self.host = HostEpisodes(ECHO.build, num_environments=2)
        self.looks = 0
        self._at_look = at_look or {}

    def episode_runner(self) -> Any:
        return _Looking(self)

    def close(self) -> None:
        self.host.close()


class _Looking(HostEpisodes):
    """Counts how often it is asked whether to stop, over all evaluations."""

    def __init__(self, runner: Hosting) -> None:
        super().__init__(ECHO.build, num_environments=2)
        self._runner = runner

    def _check(self, spec: Any, t: int) -> None:
        self._runner.looks += 1
        self._runner._at_look.get(self._runner.looks, lambda: None)()
        super()._check(spec, t)


class RealEvaluate(FakeEvaluate):
    """Five looks an evaluation of two episodes; then the fake's returns."""

    def evaluate(self, act: ActFunction, environment: Any, seed: int) -> Evaluation:
        environment.run(random_policy(ECHO.build().spec), self.episodes, seed)
        return super().evaluate(act, environment, seed)


def program() -> Any:
    return fake_program(RealEvaluate(), (Recording(),))


def interrupt() -> None:
    os.kill(os.getpid(), signal.SIGINT)


# Evaluations at 0, 10, 20 and 30; then the absolute metric on twenty episodes in ten waves.
@pytest.mark.slow
@pytest.mark.parametrize(
    ("look", "done", "last_step"),
    [(3, [], 0), (8, [0], 10), (18, [0, 10, 20], 30), (24, [0, 10, 20, 30], 30)],
)
def test_an_evaluation_is_given_up_and_made_when_resumed(
    tmp_path: Path, look: int, done: list[int], last_step: int
) -> None:
    expected = drive(Hosting(program()), 30)
    told = events("metrics", "evaluation", "absolute_metric")
    checkpoints = Checkpoints(tmp_path)
    runner = Hosting(program(), {look: interrupt})
    cut = drive(runner, 30, checkpoints)
    assert cut.reason == "interrupted"
    assert runner.looks == look
    assert cut.absolute_metric is None
    assert [evaluation.step for evaluation in cut.evaluations] == done
    assert checkpoints.last_step == last_step
    said = [text for _, text in events("message") if text.startswith("stopping")]
    assert said == ["stopping after SIGINT; Ctrl-C again to quit at once"]
    resumed = drive(Hosting(program()), 30, checkpoints, resume=True)
    assert resumed.evaluations == expected.evaluations
    assert resumed.absolute_metric == expected.absolute_metric is not None
    assert events("metrics", "evaluation", "absolute_metric")[len(told) :] == told


@pytest.mark.slow
@pytest.mark.parametrize(("look", "stops"), [(18, ()), (24, ()), (8, (StopAt(10),))])
def test_a_second_interruption_at_the_end_loses_nothing(
    tmp_path: Path, look: int, stops: Any
) -> None:
    def twice() -> None:
        interrupt()
        interrupt()

    checkpoints = Checkpoints(tmp_path)
    made = fake_program(RealEvaluate(every=10 if not stops else None), (Recording(),), stops)
    runner = Hosting(made, {look: twice})
    with pytest.raises(KeyboardInterrupt):
        drive(runner, 30, checkpoints)
    assert checkpoints.last_step == runner.environment_steps > 0


def test_what_was_saved_is_not_saved_again(tmp_path: Path, monkeypatch: Any) -> None:
    saved: list[int] = []
    save_last = Checkpoints.save_last

    def save(self: Checkpoints, step: int, *args: Any) -> None:
        saved.append(step)
        save_last(self, step, *args)

    monkeypatch.setattr(Checkpoints, "save_last", save)
    outcome = drive(FakeRunner(program_of_fakes()), 30, Checkpoints(tmp_path), checkpoint=10)
    assert saved == [10, 20, 30]
    memo = Checkpoints(tmp_path).load_driver()
    assert [e.step for e in memo.evaluations] == [e.step for e in outcome.evaluations]
    assert memo.position == 30


def program_of_fakes(**options: Any) -> Any:
    return fake_program(FakeEvaluate(), (Recording(),), **options)


def test_training_time_is_counted_over_resumptions(tmp_path: Path) -> None:
    """Each look at the clock takes half a second; a stride is between two looks."""
    checkpoints = Checkpoints(tmp_path)
    clock = itertools.count(0, 0.5).__next__
    at = {4: interrupt}
    first = drive(FakeRunner(program_of_fakes(), at), 30, checkpoints, clock=clock)
    assert first.reason == "interrupted"
    assert checkpoints.load_driver().training_seconds == 2.0
    runner = FakeRunner(program_of_fakes(stops=(StopAfter(5.0),)))
    clock = itertools.count(0, 0.5).__next__
    outcome = drive(runner, 30, checkpoints, resume=True, clock=clock)
    assert outcome.reason == "5 seconds of training passed"
    assert runner.environment_steps == 10
    assert checkpoints.load_driver().training_seconds == 5.0


def test_episodes_stop_when_they_are_told_to() -> None:
    host = HostEpisodes(ECHO.build)
    host.should_stop = lambda: True
    with pytest.raises(Interrupted):
        host.run(random_policy(ECHO.build().spec), 3, seed=0)
    host.should_stop = lambda: False
    assert list(host.run(random_policy(ECHO.build().spec), 3, seed=0).lengths) == [5, 5, 5]


def test_an_episode_that_never_ends_is_a_fault() -> None:
    host = HostEpisodes(as_factory(Echo, length=10**9).build, most_steps=20)
    message = r"echo: an episode .* has not ended after 20 steps; truncate episodes, for example"
    with pytest.raises(EnvironmentFault, match=message):
        host.run(random_policy(ECHO.build().spec), 1, seed=0)


@pytest.mark.slow
def test_the_evaluations_have_seeds_of_their_own_also_after_a_cut(tmp_path: Path) -> None:
    drive(Hosting(program()), 30)
    expected = SEEDS.copy()
    SEEDS.clear()
    drive(Hosting(program(), {8: interrupt}), 30, Checkpoints(tmp_path))
    drive(Hosting(program()), 30, Checkpoints(tmp_path), resume=True)
    assert expected == SEEDS
    assert np.isfinite([seed for _, seed in SEEDS]).all()
