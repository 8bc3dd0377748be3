"""Run directories: what is refused, what is locked, and which runs go on."""

import dataclasses
import fcntl
import json
import os
import re
from pathlib import Path
from typing import Any

import jax
import pytest
from launcher_fakes import MADE, StopAt, diverge, events, launch

import mava
from mava.core.system import System
from mava.errors import CheckpointError, ConfigurationError, DivergenceError
from mava.launcher import launch as launching
from mava.launcher.run_dir import RunDirectory

pytestmark = pytest.mark.usefixtures("fake_topology")


def snapshot(folder: Path) -> dict[str, bytes]:
    """Every file but the lock, with its content."""
    files = (path for path in folder.rglob("*") if path.is_file() and path.name != ".lock")
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


@pytest.mark.parametrize("name", ["config.json", "metrics.jsonl", "system.pkl", "my notes"])
def test_a_directory_with_anything_in_it_is_refused_untouched(
    system: System, tmp_path: Path, name: str
) -> None:
    (tmp_path / name).write_text("precious")
    with pytest.raises(ConfigurationError, match=rf"is not empty \({name}\).* another run_dir"):
        launch(system, run_dir=tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert (tmp_path / name).read_text() == "precious"
    assert not MADE


def test_a_start_that_was_refused_leaves_the_directory_free(
    system: System, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(launching, "available_memory", lambda: 5)
        with pytest.raises(ConfigurationError, match="memory"):
            launch(system, run_dir=tmp_path / "run")
    assert launch(system, run_dir=tmp_path / "run").environment_steps == 20


def test_a_second_launch_is_refused_while_the_first_runs(system: System, tmp_path: Path) -> None:
    refused = []

    def again() -> None:
        before = snapshot(tmp_path)
        for resume in (False, True):
            with pytest.raises(ConfigurationError) as caught:
                launch(system, run_dir=tmp_path, resume=resume)
            refused.append(str(caught.value))
        assert snapshot(tmp_path) == before

    launch(system, run_dir=tmp_path, at={7: again})
    assert len(refused) == 2
    for text in refused:
        assert f"process {os.getpid()} is running in {tmp_path}; wait until it has ended" in text
    launch(system, run_dir=tmp_path, resume=True)


def test_the_lock_is_released_after_an_error(system: System, tmp_path: Path) -> None:
    with pytest.raises(DivergenceError):
        launch(system, run_dir=tmp_path, at={13: diverge})
    assert launch(system, run_dir=tmp_path, resume=True).environment_steps == 20


def test_a_lock_of_another_process_names_it(tmp_path: Path) -> None:
    with open(tmp_path / ".lock", "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.write("1234\n")
        file.flush()
        with (
            pytest.raises(ConfigurationError, match="process 1234 is running"),
            RunDirectory(tmp_path).locked(),
        ):
            pass
    with RunDirectory(tmp_path).locked():
        assert (tmp_path / ".lock").read_text() == f"{os.getpid()}\n"
        assert RunDirectory(tmp_path).content == []


def test_a_directory_with_a_run_is_refused(system: System, tmp_path: Path) -> None:
    launch(system, run_dir=tmp_path)
    with pytest.raises(ConfigurationError, match=r"already holds a run; resume it \(resume=True"):
        launch(system, run_dir=tmp_path)


def test_a_run_that_saved_nothing_cannot_be_resumed_or_written_over(
    system: System, tmp_path: Path
) -> None:
    with pytest.raises(DivergenceError):
        launch(system, run_dir=tmp_path, at={3: diverge}, checkpoint_every=10)
    with pytest.raises(ConfigurationError, match="has no checkpoint to resume from"):
        launch(system, run_dir=tmp_path, resume=True)
    with pytest.raises(ConfigurationError, match=r"is not empty \(checkpoints, config\.json, "):
        launch(system, run_dir=tmp_path)


def test_a_finished_run_says_so_and_gives_its_result(system: System, tmp_path: Path) -> None:
    first = launch(system, run_dir=tmp_path)
    again = launch(system, run_dir=tmp_path, resume=True)
    assert again == first
    assert MADE[1].environment_steps == 0
    assert "already finished (total_steps)" in events("message")[-1][1]


def test_total_steps_can_be_raised(system: System, tmp_path: Path) -> None:
    launch(system, run_dir=tmp_path)
    result = launch(system, run_dir=tmp_path, total_steps=33, resume=True)
    assert [evaluation.step for evaluation in result.evaluations] == [0, 10, 20, 30, 33]
    assert [event[1] for event in events("open")] == [0, 20]
    with pytest.raises(ConfigurationError, match=r"total_steps is 32, .*already made 33"):
        launch(system, run_dir=tmp_path, total_steps=32, resume=True)


def test_a_run_ended_by_a_condition_goes_on_under_another(system: System, tmp_path: Path) -> None:
    stopping = system.with_(StopAt(7))
    assert launch(stopping, run_dir=tmp_path).reason == "far enough"
    assert launch(stopping, run_dir=tmp_path, resume=True).environment_steps == 7
    assert launch(system, run_dir=tmp_path, resume=True).environment_steps == 20


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "options", "text"),
    [
        (lambda s: s, {"seed": 1}, "the seed was 0, is 1"),
        (
            lambda s: s.replace("trainer", update_every=3),
            {},
            "trainer.update_every was 10, is 3",
        ),
        (lambda s: s.without("gradient_norm"), {}, "gradient_norm is missing"),
        (
            lambda s: dataclasses.replace(
                s, environment=mava.environments.as_factory("matrix/two_step")
            ),
            {},
            "the environment was matrix/climbing, is matrix/two_step",
        ),
    ],
)
def test_another_run_is_not_resumed(
    system: System, tmp_path: Path, change: Any, options: Any, text: str
) -> None:
    launch(system, run_dir=tmp_path)
    with pytest.raises(ConfigurationError, match=re.escape(f"another run: {text}. Resume it")):
        launch(change(system), run_dir=tmp_path, total_steps=30, resume=True, **options)


def test_observers_may_change_on_resumption(system: System, tmp_path: Path) -> None:
    launch(system, run_dir=tmp_path)
    result = launch(system.without("recording"), run_dir=tmp_path, total_steps=21, resume=True)
    assert result.environment_steps == 21


def test_a_resumption_that_fails_leaves_the_run_as_it_was(system: System, tmp_path: Path) -> None:
    launch(system, run_dir=tmp_path)
    (manifest,) = tmp_path.glob("checkpoints/last/*/state/manifest.json")
    manifest.write_text("half")
    before = snapshot(tmp_path)
    with pytest.raises(CheckpointError, match="could not be read"):
        launch(system, run_dir=tmp_path, total_steps=30, resume=True)
    after = snapshot(tmp_path)
    for name in ("result.json", "config.json", "system.pkl", "metrics.jsonl", "marl_eval.json"):
        assert after[name] == before[name], name


def test_what_a_run_had_is_stored_and_a_difference_is_said(system: System, tmp_path: Path) -> None:
    launch(system, run_dir=tmp_path)
    path = tmp_path / "config.json"
    config = json.loads(path.read_text())
    assert config["jit"] is True
    assert config["jax"] == jax.__version__
    assert config["backend"] == jax.default_backend()
    path.write_text(json.dumps({**config, "jax": "0.0.1"}))
    launch(system, run_dir=tmp_path, total_steps=30, resume=True, jit=False)
    said = f"this run had jit=True, jax=0.0.1 and goes on with jit=False, jax={jax.__version__}"
    assert [text for _, text in events("message") if text.startswith(said)]
    count = len(events("message"))
    launch(system, run_dir=tmp_path, total_steps=40, resume=True, jit=False)
    assert not [text for _, text in events("message")[count:] if "goes on with" in text]
