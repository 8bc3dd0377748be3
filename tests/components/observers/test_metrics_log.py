from __future__ import annotations

import dataclasses
import json
import math
import pathlib
from typing import Any

import pytest

from mava.components.observers import MetricsLog
from mava.errors import ConfigurationError


def read(run: Any) -> list[dict[str, Any]]:
    text = pathlib.Path(run.run_dir, "metrics.jsonl").read_text()
    return [json.loads(line, parse_constant=pytest.fail) for line in text.splitlines()]


def without_time(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{k: v for k, v in record.items() if k != "wall_seconds"} for record in records]


def test_lines_hold_what_was_reported(run: Any, script: Any) -> None:
    observer = MetricsLog().open_observer(run)
    script.play(observer, 0, 100)
    header, *lines = read(run)
    assert header["kind"] == "run"
    assert (header["system"], header["seed"]) == ("madqn", 7)
    training, evaluation = lines[-2:]
    assert training == {
        "step": 100,
        "kind": "training",
        "madqn_loss/td_error": 50.0,
        "mean_return": -100.0,
        "trainer_steps": 10,
        "episodes": 4,
        "wall_seconds": 1.0,
    }
    assert evaluation["kind"] == "evaluation"
    assert evaluation["returns"] == [1.0, 2.0, 3.0]
    assert evaluation["mean_return"] == 2.0
    assert evaluation["environment/won"] == 0.5
    observer.close()


def test_agents_with_awkward_names_keep_their_own_numbers(run: Any, script: Any) -> None:
    observer = MetricsLog().open_observer(run)
    observer.on_evaluation(script.evaluation(100), script.progress(100))
    observer.close()
    record = read(run)[-1]
    found = {name: value for name, value in record.items() if name.startswith("agent_return/")}
    assert found == {
        "agent_return/red_team/red_1": 1.0,
        "agent_return/red_team/red_1.1": 2.0,
        "agent_return/red_team/2": 3.0,
    }


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_what_is_not_finite_is_null(run: Any, script: Any, value: float) -> None:
    observer = MetricsLog().open_observer(run)
    observer.on_metrics({"loss": value}, script.progress(10))
    observer.close()
    assert read(run)[-1]["loss"] is None


def test_each_line_is_there_at_once(run: Any, script: Any) -> None:
    observer = MetricsLog().open_observer(run)
    observer.on_metrics({"loss": 1.0}, script.progress(10))
    assert len(read(run)) == 2
    observer.close()


def test_the_file_is_bounded(run: Any, script: Any) -> None:
    observer = MetricsLog(lines=5).open_observer(run)
    script.play(observer, 0, 1000)
    observer.close()
    steps = [record["step"] for record in read(run) if record["kind"] == "training"]
    assert steps == [200, 400, 600, 800, 1000]


@pytest.mark.parametrize("saved", [100, 130, 500])
@pytest.mark.parametrize("lines", [7, 1000])
def test_a_resumed_file_equals_the_uninterrupted_one(
    run: Any, script: Any, tmp_path: pathlib.Path, saved: int, lines: int
) -> None:
    whole = MetricsLog(lines).open_observer(dataclasses.replace(run, run_dir=tmp_path / "whole"))
    script.play(whole, 0, 1000)
    whole.close()

    killed = MetricsLog(lines).open_observer(run)
    script.play(killed, 0, saved + 120)
    killed.on_absolute_metric(script.evaluation(100), script.progress(saved + 120))
    killed.close()
    with pathlib.Path(run.run_dir, "metrics.jsonl").open("a") as file:
        file.write('{"step": 7')
    resumed = MetricsLog(lines).open_observer(
        dataclasses.replace(run, first_step=saved, resumed=True)
    )
    if saved % 100 == 0:  # a checkpoint may be older than the evaluation at its step
        resumed.on_evaluation(script.evaluation(saved), script.progress(saved))
    script.play(resumed, saved, 1000, delay=5.0)
    resumed.close()

    assert without_time(read(run)) == without_time(
        read(dataclasses.replace(run, run_dir=tmp_path / "whole"))
    )
    times = [record["wall_seconds"] for record in read(run)[1:]]
    assert times == sorted(times)


def test_resuming_from_step_0_keeps_its_evaluation(run: Any, script: Any) -> None:
    observer = MetricsLog().open_observer(run)
    observer.on_evaluation(script.evaluation(0), script.progress(0))
    observer.close()
    before = read(run)
    observer = MetricsLog().open_observer(dataclasses.replace(run, first_step=0, resumed=True))
    observer.on_metrics({"loss": 1.0}, script.progress(10))
    observer.close()
    assert read(run)[:-1] == before


def test_a_new_run_starts_a_new_file(run: Any, script: Any) -> None:
    for _ in range(2):
        observer = MetricsLog().open_observer(run)
        observer.on_metrics({"loss": 1.0}, script.progress(10))
        observer.close()
    assert len(read(run)) == 2


def test_needs_a_line() -> None:
    with pytest.raises(ConfigurationError, match=r"metrics_log\.lines is 0; it must be at least 1"):
        MetricsLog(lines=0)


def test_what_an_interruption_left_undone_at_its_step_is_written_after_it(
    run: Any, script: Any
) -> None:
    observer = MetricsLog().open_observer(run)
    script.play(observer, 0, 190)
    observer.close()
    observer = MetricsLog().open_observer(dataclasses.replace(run, first_step=200, resumed=True))
    script.play(observer, 190, 300)
    observer.close()
    lines = [(record["kind"], record["step"]) for record in read(run)]
    assert lines.count(("training", 200)) == 1
    assert lines.count(("evaluation", 200)) == 1


def test_resuming_a_finished_run_leaves_its_file_alone(run: Any, script: Any) -> None:
    observer = MetricsLog().open_observer(run)
    script.play(observer, 0, 1000)
    observer.on_absolute_metric(script.evaluation(900, 30), script.progress(1000))
    observer.close()
    before = read(run)
    MetricsLog().open_observer(dataclasses.replace(run, first_step=1000, resumed=True)).close()
    assert read(run) == before
    assert before[-1]["kind"] == "absolute"


def test_returns_of_seeds_that_are_trained_together_are_told_apart(run: Any, script: Any) -> None:
    observer = MetricsLog().open_observer(run)
    observer.on_evaluation(script.evaluation_of_seeds(100), script.progress(100))
    observer.close()
    record = read(run)[-1]
    assert record["seed_returns"] == [[1.0, 2.0, 3.0], [1.0, 2.0]]
    assert record["returns"] == [1.0, 2.0, 3.0, 1.0, 2.0]
