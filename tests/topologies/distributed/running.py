"""A run in a process of its own, whose nodes are processes that a test may kill.

python running.py RUN_DIR STEPS [options as JSON]
"""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

from mava.testing.toys import Const, Crash

SCRIPT = """
import json, pathlib, sys
import mava
from tests.systems.every import every
from tests.topologies.distributed.running import ENVIRONMENTS

folder, steps, options = pathlib.Path(sys.argv[1]), int(sys.argv[2]), json.loads(sys.argv[3])
environment = ENVIRONMENTS[options.pop("environment", "climbing")]
system = every(options.pop("variant", "madqn"), environment, num_environments=1)
system = system.replace("evaluator", every=10_000_000, episodes=2)
result = mava.launch(
    system, "distributed", total_steps=steps, run_dir=folder, absolute_metric=False, **options
)
print("ENDED", result.reason, result.environment_steps, result.trainer_steps, flush=True)
print("TENSORFLOW", "tensorflow" in sys.modules, flush=True)
"""


class Counting(Const):
    """Adds a byte to a file of this process for each step."""

    def __init__(self) -> None:
        super().__init__(truncates=True, length=7)
        self._file = (pathlib.Path(os.environ["MAVA_TEST_COUNTS"]) / str(os.getpid())).open("ab")

    def step(self, actions: dict[Any, Any]) -> Any:
        os.write(self._file.fileno(), b".")
        return super().step(actions)


def crash() -> Any:
    """Raises in its 30th step."""
    return Crash(at=30)


ENVIRONMENTS: dict[str, Any] = {
    "climbing": "matrix/climbing",
    "crash": crash,
    "counting": Counting,
}


class Run:
    """The process, and what there is to see of it."""

    def __init__(self, folder: pathlib.Path, steps: int, **options: Any) -> None:
        self.folder = folder
        self.log = folder.with_suffix(".out")
        root = pathlib.Path(__file__).parents[3]
        with self.log.open("wb") as out:
            self.process = subprocess.Popen(
                [sys.executable, "-c", SCRIPT, str(folder), str(steps), json.dumps(options)],
                stdout=out,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                cwd=root,
                start_new_session=True,
                env={**os.environ, "JAX_PLATFORMS": "cpu"},
            )

    @property
    def text(self) -> str:
        return self.log.read_text()

    def pids(self) -> dict[str, int]:
        path = self.folder / "nodes" / "pids.json"
        with contextlib.suppress(FileNotFoundError, ValueError):
            found: dict[str, int] = json.loads(path.read_text())
            return found
        return {}

    def steps(self) -> int:
        """Environment steps at the last report of metrics."""
        return int(self._last().get("step", 0))

    def trainer_steps(self) -> int:
        return int(self._last().get("trainer_steps", 0))

    def _last(self) -> dict[str, Any]:
        path = self.folder / "metrics.jsonl"
        if not path.exists():
            return {}
        lines = [line for line in path.read_text().splitlines() if '"kind": "training"' in line]
        found: dict[str, Any] = json.loads(lines[-1]) if lines else {}
        return found

    def until(self, condition: Callable[[], bool], seconds: float = 120.0) -> None:
        deadline = time.monotonic() + seconds
        while not condition():
            assert self.process.poll() is None, self.text
            assert time.monotonic() < deadline, self.text
            time.sleep(0.05)

    def training(self) -> None:
        """Waits until it trains."""
        self.until(lambda: self.steps() > 0)

    def end(self, seconds: float) -> int:
        return self.process.wait(seconds)

    def left(self) -> list[int]:
        """Processes of it that are still there."""
        found = []
        for path in pathlib.Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError, IndexError):
                state, _, _, session = (path / "stat").read_text().rpartition(")")[2].split()[:4]
                if int(session) == self.process.pid and state != "Z":
                    found.append(int(path.name))
        return found

    def kill_all(self) -> None:
        for pid in [self.process.pid, *self.left()]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.process.wait()


@contextlib.contextmanager
def running(folder: pathlib.Path, steps: int, **options: Any) -> Iterator[Run]:
    run = Run(folder, steps, **options)
    try:
        yield run
    finally:
        run.kill_all()
