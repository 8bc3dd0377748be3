"""One small run, and everything that can be done with it."""

from __future__ import annotations

import contextlib
import dataclasses
import io
import json
import math
import os
import pathlib
import shutil
import subprocess
import sys
from typing import Any

import pytest

import mava
from mava.cli.main import main
from mava.launcher.result import Result

SMALL = [
    "--system=madqn",
    "--env=probe/constant_reward",
    "--total_steps=40",
    "--set=uniform_replay.min_size=16",
    "--set=uniform_replay.capacity=64",
    "--set=uniform_replay.batch_size=8",
    "--set=evaluator.every=20",
    "--set=evaluator.episodes=3",
    "--set=q_network.hidden_sizes=(8,)",
]


@pytest.fixture(scope="module")
def trained(tmp_path_factory: Any) -> tuple[pathlib.Path, str]:
    """The directory of a run, and what ``--json`` printed."""
    place: pathlib.Path = tmp_path_factory.mktemp("runs") / "a run"
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        assert main(["train", *SMALL, "--json", f"--run_dir={place}"]) == 0
    return place, printed.getvalue()


@pytest.fixture
def run_dir(trained: tuple[pathlib.Path, str]) -> pathlib.Path:
    return trained[0]


def the_object(printed: str) -> Any:
    """Standard output, which is one JSON object on one line."""
    assert printed.count("\n") == 1
    return json.loads(printed, parse_constant=pytest.fail)


def result(**fields: Any) -> Result:
    """What a launch gives back, made up."""
    made = Result(
        evaluations=(),
        environment_steps=0,
        trainer_steps=0,
        episodes=0,
        absolute_metric=None,
        run_dir=pathlib.Path("runs/some run"),
        wall_seconds=1.0,
        steps_per_second=math.nan,
        reason="total_steps",
        policy=None,  # type: ignore[arg-type]
    )
    return dataclasses.replace(made, **fields)


def test_train_prints_one_object(trained: tuple[pathlib.Path, str]) -> None:
    found = the_object(trained[1])
    assert set(found) == {
        "environment_steps",
        "trainer_steps",
        "evaluations",
        "absolute_metric",
        "run_dir",
        "wall_seconds",
        "steps_per_second",
    }
    assert found["environment_steps"] == 40
    assert [evaluation["step"] for evaluation in found["evaluations"]] == [0, 20, 40]
    assert all(len(evaluation["returns"]) == 3 for evaluation in found["evaluations"])
    assert len(found["absolute_metric"]["returns"]) == 30
    assert found["run_dir"] == str(trained[0])


def test_what_is_passed_on_and_what_components_print(capsys: Any, monkeypatch: Any) -> None:
    passed = {}

    def launch(system: Any, **options: Any) -> Result:
        sys.stdout.write("from a component\n")
        passed.update(options)
        return result()

    monkeypatch.setattr("mava.launcher.launch.launch", launch)
    assert main(["train", *SMALL, "--json", "--seed=3", "--nojit"]) == 0
    written = capsys.readouterr()
    assert the_object(written.out)["steps_per_second"] is None
    assert "from a component" in written.err
    assert passed == {
        "topology": "single_process",
        "total_steps": 40,
        "seed": 3,
        "run_dir": "runs/madqn-probe_constant_reward-seed3",
        "resume": False,
        "jit": False,
    }


def test_a_run_writes_its_records(run_dir: pathlib.Path) -> None:
    lines = (run_dir / "metrics.jsonl").read_text().splitlines()
    kinds = [json.loads(line)["kind"] for line in lines]
    assert kinds.count("evaluation") == 3
    assert kinds.count("absolute") == 1
    assert "training" in kinds
    found = json.loads((run_dir / "marl_eval.json").read_text())
    steps = found["probe"]["constant_reward"]["madqn"]["seed_0"]
    assert list(steps) == ["step_0", "step_1", "step_2", "absolute_metrics"]
    assert list((run_dir / "tensorboard").iterdir())


def test_a_directory_with_a_run_is_not_overwritten(run_dir: pathlib.Path, capsys: Any) -> None:
    assert main(["train", *SMALL, f"--run_dir={run_dir}"]) == 2
    assert "already holds a run" in capsys.readouterr().err


def test_evaluate(run_dir: pathlib.Path, capsys: Any) -> None:
    argv = ["evaluate", f"--run_dir={run_dir}", "--episodes=7", "--json"]
    assert main(argv) == 0
    first = the_object(capsys.readouterr().out)
    assert len(first["returns"]) == 7
    assert main(argv) == 0
    assert the_object(capsys.readouterr().out) == first
    assert main(argv[:-1]) == 0
    assert "over 7 episodes" in capsys.readouterr().out


def test_plot(run_dir: pathlib.Path, tmp_path: pathlib.Path, capsys: Any) -> None:
    picture = tmp_path / "curve.png"
    assert main(["plot", str(run_dir), f"--output={picture}", "--json"]) == 0
    assert the_object(capsys.readouterr().out) == {"output": str(picture)}
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_describe(capsys: Any) -> None:
    assert main(["describe", *SMALL[:2], "--set=adam.learning_rate=0.25"]) == 0
    written = capsys.readouterr().out
    assert "select_action         epsilon_greedy" in written
    assert "learning_rate=0.25" in written
    assert "agents" in written


@pytest.mark.slow
def test_resume_by_directory_alone(
    run_dir: pathlib.Path, tmp_path: pathlib.Path, capsys: Any
) -> None:
    place = shutil.copytree(run_dir, tmp_path / "run")
    assert main(["train", "--resume", f"--run_dir={place}", "--total_steps=60", "--json"]) == 0
    found = the_object(capsys.readouterr().out)
    assert found["environment_steps"] == 60
    assert [evaluation["step"] for evaluation in found["evaluations"]] == [0, 20, 40, 60]


def test_a_module_of_the_current_directory_is_found(tmp_path: pathlib.Path) -> None:
    """As a console script: the directory of the script, not the current one, is on the path."""
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "my_module.py").write_text("")
    script = tmp_path / "script.py"
    script.write_text("from mava.cli.main import main\nmain(['help'])\nimport my_module\n")
    environment = {**os.environ, "PYTHONPATH": str(pathlib.Path(mava.__file__).parents[1])}
    command = [sys.executable, str(script)]
    here = tmp_path / "here"
    subprocess.run(command, cwd=here, env=environment, check=True, capture_output=True)


def test_an_interrupted_run_says_how_to_go_on(capsys: Any, monkeypatch: Any) -> None:
    interrupted = result(reason="interrupted")
    monkeypatch.setattr("mava.launcher.launch.launch", lambda *_, **__: interrupted)
    assert main(["train", *SMALL]) == 130
    assert "mava train --resume --run_dir='runs/some run'" in capsys.readouterr().out


def test_standard_output_is_put_back(capfd: Any) -> None:
    from mava.cli.output import clean_stdout

    with clean_stdout():
        sys.stdout.write("aside\n")
    sys.stdout.write("the result\n")
    sys.stdout.flush()
    assert capfd.readouterr().out == "the result\n"


@pytest.mark.slow
def test_seeds_that_are_trained_together(tmp_path: pathlib.Path, capsys: Any) -> None:
    place = f"--run_dir={tmp_path / 'run'}"
    assert main(["train", *SMALL, "--topology=compiled", "--num_seeds=2", "--json", place]) == 0
    trained = the_object(capsys.readouterr().out)
    assert [len(e["seeds"]) for e in trained["evaluations"]] == [2, 2, 2]
    assert main(["train", "--resume", place, "--total_steps=60", "--json"]) == 0
    resumed = the_object(capsys.readouterr().out)
    assert resumed["environment_steps"] == 60
    assert resumed["evaluations"][:3] == trained["evaluations"]
    assert main(["evaluate", place, "--seed_index=1", "--episodes=2", "--json"]) == 0
    assert the_object(capsys.readouterr().out)["episodes"] == 2
    assert main(["evaluate", place, "--seed_index=2"]) == 2
    assert "seed_index is 2" in capsys.readouterr().err
