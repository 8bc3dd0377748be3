"""Processes that are really killed. What supervises them forks, so it is a process of its own,
without JAX's threads."""

import os
import pathlib
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator

import pytest

SUPERVISE = """
import os, pathlib, sys, threading, time
from mava.errors import EnvironmentFault
from mava.topologies.distributed.failures import Failure
from mava.topologies.distributed.supervision import Ended, Killed, Started, Supervisor

folder, what = pathlib.Path(sys.argv[1]), sys.argv[2]
stop = threading.Event()

def say(*words):  # in one piece, since two processes write
    os.write(1, (" ".join(map(str, words)) + "\\n").encode())

def work():
    if what == "fail":
        raise EnvironmentFault("broken")
    if what == "exit":
        os._exit(7)
    if what == "stubborn":
        while True:
            time.sleep(1)
    if what == "work":
        say("working")
        stop.wait()
    say("done")

def tell(event):
    if isinstance(event, Failure):
        say("Failure", event.node, event.text, "in work" in event.trace)
    else:
        say(type(event).__name__, *event)

thread = threading.Thread(target=Supervisor("node", work, 2, tell, stop).run)
thread.start()
if sys.stdin.readline():
    stop.set()
thread.join()
say("over")
"""


class Supervised:
    def __init__(self, folder: pathlib.Path, what: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", SUPERVISE, str(folder), what],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def line(self) -> list[str]:
        assert self.process.stdout is not None
        return self.process.stdout.readline().split()

    def stop(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write("stop\n")
        self.process.stdin.flush()


@pytest.fixture
def supervised(tmp_path: pathlib.Path) -> Iterator[Callable[[str], Supervised]]:
    made: list[Supervised] = []

    def make(what: str) -> Supervised:
        made.append(Supervised(tmp_path, what))
        return made[-1]

    yield make
    for one in made:
        one.process.kill()
        one.process.communicate()


def is_gone(pid: int, seconds: float = 30.0) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            state = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except FileNotFoundError:
            return True
        if state == "Z":  # nobody has asked what became of it
            return True
    return False


def test_work_that_is_killed_is_done_again_until_it_was_killed_too_often(
    supervised: Callable[[str], Supervised],
) -> None:
    run = supervised("work")
    for again in ("True", "True", "False"):
        pid = next(line[2] for line in (run.line(), run.line()) if line[0] == "Started")
        os.kill(int(pid), signal.SIGKILL)
        assert run.line() == ["Killed", "node", "9", again]
    run.stop()
    assert run.line() == ["over"]


def test_work_that_somebody_else_ends_is_done_again(
    supervised: Callable[[str], Supervised],
) -> None:
    run = supervised("work")
    pid = next(line[2] for line in (run.line(), run.line()) if line[0] == "Started")
    os.kill(int(pid), signal.SIGTERM)
    assert run.line() == ["done"]
    assert run.line() == ["Killed", "node", "15", "True"]
    assert {run.line()[0], run.line()[0]} == {"Started", "working"}
    run.stop()
    assert run.line() == ["done"]
    assert run.line() == ["over"]


def test_an_exception_is_told_and_the_work_is_not_done_again(
    supervised: Callable[[str], Supervised],
) -> None:
    run = supervised("fail")
    assert run.line()[0] == "Started"
    assert run.line() == ["Failure", "node", "EnvironmentFault:", "broken", "True"]
    run.stop()
    assert run.line() == ["over"]


def test_an_exit_without_a_word_is_told(supervised: Callable[[str], Supervised]) -> None:
    run = supervised("exit")
    assert run.line()[0] == "Started"
    assert run.line() == ["Ended", "node", "7"]


def test_work_that_is_told_to_stop_ends_by_itself(supervised: Callable[[str], Supervised]) -> None:
    run = supervised("work")
    assert {run.line()[0], run.line()[0]} == {"Started", "working"}
    run.stop()
    assert run.line() == ["done"]
    assert run.line() == ["over"]


def test_work_ends_with_the_process_that_supervises_it(
    supervised: Callable[[str], Supervised],
) -> None:
    run = supervised("stubborn")
    pid = int(run.line()[2])
    run.process.kill()
    assert is_gone(pid)
