"""The observers that write to the terminal."""

from __future__ import annotations

import dataclasses
import io
from typing import Any

import pytest
from rich.console import Console

from mava.components.observers import ConsoleLog, ProgressBar
from mava.components.observers.progress_bar import LiveLine, Speed
from mava.components.observers.terminal import duration, number
from mava.errors import ConfigurationError


def test_a_log_gets_as_many_lines_as_asked(run: Any, script: Any, capsys: Any) -> None:
    observer = ProgressBar(lines=4).open_observer(run)
    script.play(observer, 0, 1000)
    observer.close()
    lines = capsys.readouterr().err.splitlines()
    assert [line.split()[0] for line in lines] == ["25%", "50%", "75%", "100%"]
    assert lines[1] == "50% 500/1,000 · 100 steps/s · 0:05 left · return -500"


def test_a_resumed_log_goes_on_where_it_was(run: Any, script: Any, capsys: Any) -> None:
    observer = ProgressBar(lines=4).open_observer(dataclasses.replace(run, first_step=500))
    script.play(observer, 500, 1000)
    observer.close()
    lines = capsys.readouterr().err.splitlines()
    assert [line.split()[0] for line in lines] == ["75%", "100%"]
    assert "100 steps/s" in lines[0]


def test_the_live_line_shows_everything(script: Any) -> None:
    terminal = io.StringIO()
    console = Console(file=terminal, force_terminal=True, width=120, color_system=None)
    observer = LiveLine(console)
    observer.on_progress(script.progress(400))
    observer.on_progress(script.progress(500, evaluation=script.evaluation(400)))
    console.print("above the line")
    observer.on_progress(script.progress(600, mean_return=None))
    observer.close()
    written = terminal.getvalue()
    facts = "50% 500/1,000 · 100 steps/s · 0:05 left · return -500 · evaluation 5"
    assert facts in written
    assert "60% 600/1,000 · 100 steps/s · 0:04 left · return -500" in written
    assert "above the line\n" in written


@pytest.mark.parametrize("width", [20, 40, 80])
def test_the_live_line_stays_one_line(script: Any, width: int) -> None:
    terminal = io.StringIO()
    console = Console(file=terminal, force_terminal=True, width=width, color_system=None)
    observer = LiveLine(console)
    observer.on_progress(script.progress(500, evaluation=script.evaluation(400)))
    observer.close()
    assert terminal.getvalue().count("\n") <= 2


def test_speed_forgets_compilation(script: Any) -> None:
    speed = Speed()
    assert speed(script.progress(0, wall_seconds=30.0)) is None
    for step in range(10, 1001, 10):
        latest = speed(script.progress(step, wall_seconds=30 + step / 200))
    assert latest == pytest.approx(200)


def test_console_log(run: Any, script: Any, capsys: Any) -> None:
    observer = ConsoleLog().open_observer(run)
    observer.on_message("compiling [act] and learn")
    observer.on_evaluation(script.evaluation(100), script.progress(100))
    observer.on_absolute_metric(script.evaluation(100, 1), script.progress(1000))
    observer.on_end("all steps are done", script.progress(1000))
    observer.close()
    assert capsys.readouterr().err.splitlines() == [
        f"1,000 environment steps on single_process; results go to {run.run_dir}",
        "compiling [act] and learn",
        "evaluation at 100 steps: mean return 2 over 3 episodes, won 0.5",
        "best policy, from step 100: mean return 1 over 1 episode, won 0.5",
        "ended after 1,000 environment and 100 trainer steps in 0:10: all steps are done",
    ]


def test_console_log_without_evaluations(run: Any, script: Any, capsys: Any) -> None:
    observer = ConsoleLog(evaluations=False).open_observer(run)
    observer.on_evaluation(script.evaluation(100), script.progress(100))
    assert "evaluation" not in capsys.readouterr().err


def test_needs_a_line() -> None:
    with pytest.raises(ConfigurationError, match=r"progress_bar\.lines is 0"):
        ProgressBar(lines=0)


def test_numbers_for_people() -> None:
    assert [duration(s) for s in (0, 59.9, 67.2, 7390)] == ["0:00", "0:59", "1:07", "2:03:10"]
    shown = [number(x) for x in (-23.0512, 0.012345, 12345.6, 0.0, 2.5e9)]
    assert shown == ["-23.05", "0.01235", "12,346", "0", "2.5e+09"]
