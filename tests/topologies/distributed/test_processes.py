"""Whole runs whose nodes are processes, some of which are killed."""

from __future__ import annotations

import os
import pathlib
import signal
import subprocess
import sys

import pytest

from mava.launcher.run_dir import RunDirectory
from tests.topologies.distributed.running import running

pytest.importorskip("launchpad", reason="the distributed topology's engines are not installed")
pytestmark = pytest.mark.slow

LONG = 100_000
"""More steps than any test here waits for."""


def test_a_run_ends_with_all_its_steps_and_leaves_nothing_behind(tmp_path: pathlib.Path) -> None:
    with running(tmp_path / "run", 600, variant="ippo") as run:
        assert run.end(120.0) == 0, run.text
        # 8 steps of one environment are a rollout; two executors had one open at the most.
        assert "ENDED total_steps 600 7" in run.text
        assert "TENSORFLOW False" in run.text  # which nodes import, and the caller need not
        assert run.left() == []
        assert {path.name for path in (tmp_path / "run" / "nodes").iterdir()} == {
            *("pids.json", "launcher.txt", "executor_0.txt", "executor_1.txt"),
            *("trainer.txt", "replay.txt", "parameters.txt", "evaluator.txt"),
        }


@pytest.mark.parametrize(
    ("node", "number"),
    [("executor 1", 9), ("trainer", 9), ("parameters", 9), ("evaluator", 9), ("executor 0", 15)],
)
def test_a_killed_node_is_started_again_and_the_run_goes_on(
    node: str, number: int, tmp_path: pathlib.Path
) -> None:
    with running(tmp_path / "run", LONG) as run:
        run.training()
        pid = run.pids()[node]
        os.kill(pid, number)
        run.until(lambda: run.pids()[node] != pid)
        steps, trained = run.steps(), run.trainer_steps()
        run.until(lambda: run.steps() > steps + 100 and run.trainer_steps() > trained + 100)
        assert f"{node} was killed by signal {number}; it is started again" in run.text
        run.process.send_signal(signal.SIGINT)
        assert run.end(30.0) == 0, run.text
        assert "ENDED interrupted" in run.text
        assert run.left() == []


def test_a_killed_replay_ends_the_run_which_can_be_resumed(tmp_path: pathlib.Path) -> None:
    folder = tmp_path / "run"
    with running(folder, LONG, checkpoint_every=200) as run:
        run.until(lambda: (RunDirectory(folder).checkpoints.last_step or 0) > 0)
        os.kill(run.pids()["replay"], signal.SIGKILL)
        assert run.end(60.0) != 0
        assert "replay was killed by signal 9" in run.text
        assert run.left() == []
    with running(folder, LONG, resume=True) as run:
        run.until(lambda: "resumed at environment step" in run.text)
        run.training()
        run.process.send_signal(signal.SIGTERM)
        assert run.end(30.0) == 0, run.text


def test_a_crash_in_a_node_ends_the_run_with_the_nodes_traceback(tmp_path: pathlib.Path) -> None:
    with running(tmp_path / "run", LONG, environment="crash", executors=2) as run:
        assert run.end(60.0) != 0
        assert "EnvironmentFault: executor" in run.text
        assert "in step" in run.text  # of the node's traceback
        assert run.left() == []


def test_nothing_outlives_the_caller(tmp_path: pathlib.Path) -> None:
    with running(tmp_path / "run", LONG) as run:
        run.training()
        pids = list(run.pids().values())
        run.process.kill()
        run.process.wait()
        deadline = 30.0
        while run.left() and deadline > 0:
            deadline -= 0.1
            signal.sigtimedwait([], 0.1)
        assert run.left() == []
        assert len(pids) == 6


def test_two_interrupts_in_a_row_end_at_once(tmp_path: pathlib.Path) -> None:
    with running(tmp_path / "run", LONG) as run:
        run.training()
        run.process.send_signal(signal.SIGINT)
        run.process.send_signal(signal.SIGINT)
        assert run.end(30.0) in (0, 1)
        assert "stopping after SIGINT" in run.text or "KeyboardInterrupt" in run.text
        assert run.left() == []


def test_f22_the_steps_that_environments_made_are_those_that_are_counted(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts = tmp_path / "counts"
    counts.mkdir()
    monkeypatch.setenv("MAVA_TEST_COUNTS", str(counts))
    with running(tmp_path / "run", 2_000, environment="counting", executors=2) as run:
        assert run.end(120.0) == 0, run.text
        pids = run.pids()
        made = [(counts / str(pids[f"executor {index}"])).stat().st_size for index in (0, 1)]
        assert sum(made) == 2_000
        assert "ENDED total_steps 2000" in run.text
        # The evaluator's own, before and after: two episodes of seven steps each time.
        assert (counts / str(pids["evaluator"])).stat().st_size == 2 * 2 * 7


CYCLES = """
import json, os, pathlib, sys, tempfile
import mava
from tests.systems.every import every

system = every("madqn", "matrix/two_step", num_environments=1).without("evaluator")
for _ in range(10):
    mava.launch(system, "distributed", total_steps=100, executors=1, absolute_metric=False)
    print("FILES", len(os.listdir("/proc/self/fd")), flush=True)
    ports = pathlib.Path(tempfile.gettempdir()) / f"mava-ports-{os.getuid()}"
    print("LEFT", sorted(p.name for p in pathlib.Path(tempfile.gettempdir()).iterdir()), flush=True)
    print("PORTS", len(list(ports.iterdir())), flush=True)
"""


def test_ten_runs_in_a_row_leave_no_process_port_or_file_behind(tmp_path: pathlib.Path) -> None:
    environment = {**os.environ, "TMPDIR": str(tmp_path), "JAX_PLATFORMS": "cpu"}
    done = subprocess.run(
        [sys.executable, "-c", CYCLES],
        capture_output=True,
        text=True,
        cwd=pathlib.Path(__file__).parents[3],
        env=environment,
        timeout=300,
        start_new_session=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    lines = [line.split(maxsplit=1) for line in done.stdout.splitlines()]
    files = [int(value) for name, value in lines if name == "FILES"]
    assert len(files) == 10
    assert files[-1] <= files[1] + 2
    assert {value for name, value in lines if name == "PORTS"} == {"0"}
    assert all("mava-node-" not in value and "mava-replay-" not in value for _, value in lines)
