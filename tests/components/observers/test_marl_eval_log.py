from __future__ import annotations

import dataclasses
import json
import math
import pathlib
from typing import Any

import pytest

from mava.components.observers import MarlEvalLog


def read(run: Any) -> Any:
    return json.loads(pathlib.Path(run.run_dir, "marl_eval.json").read_text())


def steps(run: Any) -> Any:
    return read(run)["mpe2"]["simple_spread_v3"]["madqn"]["seed_7"]


def test_schema(run: Any, script: Any) -> None:
    observer = MarlEvalLog().open_observer(run)
    observer.on_evaluation(script.evaluation(0), script.progress(0, wall_seconds=9.0))
    observer.on_evaluation(script.evaluation(100), script.progress(100, wall_seconds=11.5))
    observer.on_absolute_metric(
        script.evaluation(100, episodes=30), script.progress(200, wall_seconds=12.0)
    )
    observer.close()
    assert list(steps(run)) == ["step_0", "step_1", "absolute_metrics"]
    assert steps(run)["step_1"] == {
        "step_count": 100,
        "elapsed_time": 2.5,
        "won": [0.5],
        "return": [1.0, 2.0, 3.0],
        "episode_length": [25, 25, 25],
    }
    absolute = steps(run)["absolute_metrics"]
    assert len(absolute["return"]) == 30
    # The tools' own check asks that all steps and the absolute metrics name the same metrics.
    assert set(absolute) == set(steps(run)["step_0"]) - {"step_count"}


@pytest.mark.parametrize(
    ("name", "keys"),
    [
        ("pettingzoo/sisl/pursuit_v5", ("pettingzoo_sisl", "pursuit_v5")),
        ("my env, v2", ("my_env_v2", "my_env_v2")),
    ],
)
def test_environment_and_task(run: Any, script: Any, name: str, keys: tuple[str, str]) -> None:
    run = dataclasses.replace(run, environment=name, system="mad,qn")
    observer = MarlEvalLog().open_observer(run)
    observer.on_evaluation(script.evaluation(0), script.progress(0))
    observer.close()
    assert list(read(run)[keys[0]][keys[1]]) == ["mad_qn"]


def test_what_is_not_finite_is_left_out(run: Any, script: Any) -> None:
    observer = MarlEvalLog().open_observer(run)
    evaluation = dataclasses.replace(script.evaluation(0), metrics={"won": math.nan})
    observer.on_evaluation(evaluation, script.progress(0))
    observer.close()
    assert "won" not in steps(run)["step_0"]


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_return_that_is_not_finite_is_null(run: Any, script: Any, value: float) -> None:
    observer = MarlEvalLog().open_observer(run)
    evaluation = dataclasses.replace(script.evaluation(0), returns=(1.0, value))
    observer.on_evaluation(evaluation, script.progress(0))
    observer.close()
    assert steps(run)["step_0"]["return"] == [1.0, None]


def test_resuming_from_step_0_keeps_its_evaluation(run: Any, script: Any) -> None:
    for resumed, step in ((False, 0), (True, 100)):
        observer = MarlEvalLog().open_observer(dataclasses.replace(run, resumed=resumed))
        observer.on_evaluation(script.evaluation(step), script.progress(step))
        observer.close()
    assert [step["step_count"] for step in steps(run).values()] == [0, 100]


def test_a_resumed_file_equals_the_uninterrupted_one(
    run: Any, script: Any, tmp_path: pathlib.Path
) -> None:
    whole = dataclasses.replace(run, run_dir=tmp_path / "whole")
    observer = MarlEvalLog().open_observer(whole)
    script.play(observer, 0, 1000)
    observer.close()

    observer = MarlEvalLog().open_observer(run)
    script.play(observer, 0, 700)
    observer.on_absolute_metric(script.evaluation(500), script.progress(700))
    observer.close()
    observer = MarlEvalLog().open_observer(dataclasses.replace(run, first_step=430, resumed=True))
    script.play(observer, 430, 1000)
    observer.close()

    def timeless(run: Any) -> Any:
        return {key: {**step, "elapsed_time": 0} for key, step in steps(run).items()}

    assert timeless(run) == timeless(whole)
    times = [step["elapsed_time"] for step in steps(run).values()]
    assert times == sorted(times)


def test_no_partial_file_stays(run: Any, script: Any) -> None:
    observer = MarlEvalLog().open_observer(run)
    script.play(observer, 0, 1000)
    observer.close()
    assert [file.name for file in pathlib.Path(run.run_dir).iterdir()] == ["marl_eval.json"]


def test_seeds_that_are_trained_together_have_a_part_each(run: Any, script: Any) -> None:
    for resumed, step in ((False, 100), (True, 200)):
        resumption = dataclasses.replace(run, resumed=resumed, first_step=100 * resumed)
        observer = MarlEvalLog().open_observer(resumption)
        observer.on_evaluation(script.evaluation_of_seeds(step), script.progress(step))
        observer.close()
    observer = MarlEvalLog().open_observer(dataclasses.replace(run, resumed=True, first_step=200))
    observer.on_absolute_metric(script.evaluation_of_seeds(100), script.progress(200))
    observer.close()
    seeds = read(run)["mpe2"]["simple_spread_v3"]["madqn"]
    assert list(seeds) == ["seed_7", "seed_8"]
    for seed, returns in (("seed_7", [1.0, 2.0, 3.0]), ("seed_8", [1.0, 2.0])):
        assert list(seeds[seed]) == ["step_0", "step_1", "absolute_metrics"]
        assert seeds[seed]["step_0"]["return"] == returns
        assert seeds[seed]["absolute_metrics"]["return"] == returns
