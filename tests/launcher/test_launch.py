"""``launch``: what it refuses and says before the first step, and what it gives back."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from launcher_fakes import (
    MADE,
    events,
    launch,
)

import mava
import mava.components.observers
from mava.core.observing import REPORTS
from mava.core.system import System
from mava.errors import CheckpointError, ConfigurationError
from mava.launcher import launch as launching
from mava.launcher.checkpoints import Checkpoints
from mava.launcher.memory import available_memory, check_memory

pytestmark = pytest.mark.usefixtures("fake_topology")


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"topology": "fakee"}, r"no topology 'fakee'; did you mean 'fake'\?"),
        ({"total_steps": 0}, "total_steps is 0; it must be at least 1"),
        ({"total_steps": 1e6}, "total_steps is 1000000.0; it must be a whole number"),
        ({"seed": -1}, r"seed is -1; it must be at least 0 and below 4294967296"),
        ({"checkpoint_every": 0}, "checkpoint_every is 0; it must be at least 1"),
        ({"checkpoint_evry": 5}, r"'checkpoint_evry', .* did you mean 'checkpoint_every'\?"),
        ({"jitt": False}, r"'jitt', and neither has the fake topology; did you mean 'jit'\?"),
        ({"resume": True}, "resume=True needs the run_dir"),
    ],
)
def test_arguments_that_cannot_work_are_refused(system: System, options: Any, text: str) -> None:
    with pytest.raises(ConfigurationError, match=text):
        launch(system, **options)
    assert not MADE


def test_something_that_is_no_system_is_refused() -> None:
    with pytest.raises(ConfigurationError, match=r"such as mava\.systems\.madqn\(.*not function"):
        launch(mava.systems.madqn)


def test_fewer_steps_than_environments_are_refused(system: System) -> None:
    wide = system.replace("executor", num_environments=4)
    with pytest.raises(ConfigurationError, match="total_steps is 3, and the 4 environments"):
        launch(wide, total_steps=3)
    assert MADE[0].closed == 1
    assert not events("open")


def test_a_run_dir_below_a_file_is_refused_before_anything_is_built(
    system: System, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigurationError, match=r"file/run cannot be written \(Not a directory\)"):
        launch(system, run_dir=tmp_path / "file" / "run")
    assert not MADE


def test_too_little_memory_is_refused_with_the_numbers(
    system: System, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(launching, "available_memory", lambda: 500)
    with pytest.raises(ConfigurationError, match=r"needs about 2\.0 kB .*buffer 1\.0 kB.* 500 B"):
        launch(system, run_dir=tmp_path)
    assert MADE[0].environment_steps == 0
    monkeypatch.undo()


def test_what_is_built_and_its_memory_are_said_first(system: System) -> None:
    launch(system, seed=3)
    messages = [event[1] for event in events("message")]
    assert messages[0] == "madqn on matrix/climbing, seed 3"
    assert messages[1].startswith("memory: 1.0 kB (buffer 1.0 kB, parameters 12 B)")
    assert messages[2] == "compiling"


def test_metrics_are_reported_as_often_as_logs_expect(system: System) -> None:
    launch(system, total_steps=1_000)
    assert 0.9 * REPORTS < len(events("metrics")) <= REPORTS
    assert mava.components.observers.MetricsLog().lines == REPORTS


@pytest.mark.parametrize(("options", "expected"), [({}, 5), ({"checkpoint_every": 20}, 20)])
def test_checkpoints_are_a_tenth_of_the_run_apart(
    system: System, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: Any, expected: int
) -> None:
    saved: list[int] = []
    save_last = Checkpoints.save_last

    def save(self: Checkpoints, step: int, *args: Any) -> None:
        saved.append(step)
        save_last(self, step, *args)

    monkeypatch.setattr(Checkpoints, "save_last", save)
    launch(system, total_steps=50, run_dir=tmp_path, **options)
    assert saved == [*range(expected, 50, expected), 50]


def test_the_result_tells_what_really_ran(system: System, tmp_path: Path) -> None:
    result = launch(system.replace("executor", num_environments=3), run_dir=str(tmp_path))
    assert result.environment_steps == MADE[0].environment_steps == 18
    assert (result.trainer_steps, result.episodes) == (2, 1)
    assert [evaluation.step for evaluation in result.evaluations] == [0, 9, 18]
    assert (result.reason, result.run_dir, result.interrupted) == ("total_steps", tmp_path, False)
    assert MADE[0].closed == 1
    found = json.loads(json.dumps(result.as_json()))
    assert list(found) == [
        *("environment_steps", "trainer_steps", "evaluations", "absolute_metric", "run_dir"),
        *("wall_seconds", "steps_per_second"),
    ]
    assert list(found["evaluations"][0]) == ["step", "mean_return", "returns"]
    assert found["run_dir"] == str(tmp_path)


def test_the_directory_says_what_was_run(system: System, tmp_path: Path) -> None:
    launch(system, run_dir=tmp_path / "new" / "run", seed=5)
    config = json.loads((tmp_path / "new" / "run" / "config.json").read_text())
    assert (config["system"], config["environment"], config["seed"]) == (
        *("madqn", "matrix/climbing"),
        5,
    )
    assert config["description"] == system.describe().splitlines()
    assert config["mava"] == mava.__version__


def test_what_does_not_pickle_is_named_before_the_first_step(
    system: System, tmp_path: Path
) -> None:
    broken = system.replace("recording", fail_in=Unpicklable())
    with pytest.raises(ConfigurationError, match=r"recording\.fail_in does not pickle"):
        launch(broken, run_dir=tmp_path)
    assert MADE[0].environment_steps == 0
    launch(broken)


class Unpicklable:
    def __reduce__(self) -> Any:
        raise TypeError("a thread lock")


def test_a_policy_acts_and_is_loaded_again(system: System, tmp_path: Path) -> None:
    result = launch(system, run_dir=tmp_path)
    timestep = result.policy.spec.zero_timestep()
    for which in ("best", "last"):
        loaded = mava.load_policy(tmp_path, which)
        for name, action in loaded(timestep).items():
            np.testing.assert_array_equal(action, result.policy(timestep)[name])
            assert action.shape == (result.policy.spec[name].num_agents,)


@pytest.mark.parametrize(
    ("which", "text"),
    [
        ("bst", r"no 'bst' policy; did you mean 'best'\?"),
        ("best", "has no best checkpoint: there is no such directory"),
    ],
)
def test_a_policy_that_is_not_there_is_refused(tmp_path: Path, which: str, text: str) -> None:
    with pytest.raises(ConfigurationError, match=text):
        mava.load_policy(tmp_path / "none", which)


def test_a_damaged_system_file_is_an_error(system: System, tmp_path: Path) -> None:
    launch(system, run_dir=tmp_path)
    (tmp_path / "system.pkl").write_bytes(b"half")
    with pytest.raises(CheckpointError, match=r"system\.pkl cannot be read"):
        mava.load_policy(tmp_path)


@pytest.mark.parametrize("version", [1, 2])
def test_the_control_group_limits_memory(tmp_path: Path, version: int) -> None:
    folder = tmp_path if version == 2 else tmp_path / "memory"
    limit, usage, key = (
        ("memory.max", "memory.current", "inactive_file")
        if version == 2
        else ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
    )
    folder.mkdir(exist_ok=True)
    (folder / limit).write_text("1000\n")
    (folder / usage).write_text("700\n")
    (folder / "memory.stat").write_text(f"anon 600\n{key} 100\n")
    (tmp_path / "meminfo").write_text("MemTotal: 9 kB\nMemAvailable: 8 kB\n")
    assert available_memory(tmp_path, tmp_path) == 400
    (folder / limit).write_text("max\n")
    assert available_memory(tmp_path, tmp_path) == 8192


def test_a_system_that_does_not_tell_its_memory_refuses_nothing() -> None:
    assert check_memory({"buffer": 10**15}, None) == "memory: 1000.0 TB (buffer 1000.0 TB)"


def test_importing_mava_loads_nothing_heavy() -> None:
    heavy = ["pettingzoo", "orbax", "matplotlib", "tensorboardX", "tensorflow", "jax"]
    code = f"import sys, mava; print([name for name in {heavy} if name in sys.modules])"
    environment = {**os.environ, "PYTHONPATH": str(Path(mava.__file__).parents[1])}
    found = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True
    )
    assert found.stdout.strip() == "[]"


def test_every_exported_name_is_there() -> None:
    for name in mava.__all__:
        assert getattr(mava, name) is not None
    assert set(mava.__all__) <= set(dir(mava))
    with pytest.raises(AttributeError, match="no attribute 'lunch'"):
        mava.lunch  # noqa: B018
