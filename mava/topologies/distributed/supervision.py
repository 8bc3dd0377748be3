"""A node's work in a process of its own, which is started again where it is killed."""

from __future__ import annotations

import ctypes
import os
import pathlib
import pickle
import signal
import tempfile
import threading
import time
import traceback
from collections.abc import Callable
from typing import NamedTuple

from mava.topologies.distributed.failures import Failure

GRACE = 8.0
"""Seconds between asking a process to stop and killing it."""

_LOOK = 0.05
_FORKING = threading.Lock()
_PR_SET_PDEATHSIG = 1
_TERMINATED = 128 + signal.SIGTERM
"""The exit code of a child that SIGTERM ended: the supervisor's, or somebody else's."""


class Started(NamedTuple):
    """A node's process runs."""

    node: str
    pid: int


class Killed(NamedTuple):
    """A node's process was killed by a signal; ``again``: and is started again."""

    node: str
    number: int
    again: bool


class Ended(NamedTuple):
    """A node's process ended by itself with an exit code other than 0, and without a word."""

    node: str
    code: int


Event = Failure | Started | Killed | Ended
"""What a supervisor tells."""


def die_with_parent(parent: int) -> None:
    """Has this process killed when the thread that started it ends, however it ends.

    Args:
        parent: the process that it was started by, which may be gone already.
    """
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)


class Supervisor:
    """Runs one node's work in child processes, one after the other.

    A child is forked, so that what this process has imported need not be imported again. Nothing
    that has threads, such as gRPC or a JAX backend, may have been used before.

    Args:
        node: its name.
        work: what a child does; it returns when ``stop`` is set.
        restarts: how often a child that is killed is replaced.
        tell: is told what happens, from the supervising thread.
        stop: set to end the work; in the child it is set by SIGTERM.
        log: a file descriptor that the child writes to in place of standard output and error.
        in_child: called first in a child.
    """

    def __init__(
        self,
        node: str,
        work: Callable[[], None],
        restarts: int,
        tell: Callable[[Event], None],
        stop: threading.Event,
        log: int | None = None,
        in_child: Callable[[], None] = lambda: None,
    ) -> None:
        self._node, self._work, self._restarts = node, work, restarts
        self._tell, self._stop, self._log, self._in_child = tell, stop, log, in_child

    def run(self) -> None:
        """Until the work is done, fails, is killed too often, or ``stop`` is set."""
        with tempfile.TemporaryDirectory(prefix="mava-node-") as folder:
            failure = pathlib.Path(folder) / "failure"
            deaths = 0
            while not self._stop.is_set():
                with _FORKING:
                    pid = self._fork(failure)
                self._tell(Started(self._node, pid))
                status = self._wait(pid)
                if self._stop.is_set() or status == 0:
                    return
                status = -signal.SIGTERM if status == _TERMINATED else status
                if status < 0:
                    deaths += 1
                    again = deaths <= self._restarts
                    self._tell(Killed(self._node, -status, again))
                    if again:
                        continue
                elif failure.exists():
                    self._tell(pickle.loads(failure.read_bytes()))
                else:
                    self._tell(Ended(self._node, status))
                return

    def _wait(self, pid: int) -> int:
        """The exit code, negative for a signal. Ends the child once ``stop`` is set."""
        while True:
            found, status = os.waitpid(pid, os.WNOHANG)
            if found:
                return os.waitstatus_to_exitcode(status)
            if self._stop.wait(_LOOK):
                return self._end(pid)

    def _end(self, pid: int) -> int:
        os.kill(pid, signal.SIGTERM)
        deadline = time.monotonic() + GRACE
        while time.monotonic() < deadline:
            found, status = os.waitpid(pid, os.WNOHANG)
            if found:
                return os.waitstatus_to_exitcode(status)
            time.sleep(_LOOK)
        os.kill(pid, signal.SIGKILL)
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

    def _fork(self, failure: pathlib.Path) -> int:
        parent = os.getpid()
        pid = os.fork()
        if pid:
            return pid
        code = 1
        try:
            die_with_parent(parent)
            self._begin()
            self._work()
            code = _TERMINATED if self._stop.is_set() else 0
        except BaseException as error:
            if self._stop.is_set():  # what breaks while a run is stopped is no failure
                code = _TERMINATED
            else:
                traceback.print_exc()
                failure.write_bytes(pickle.dumps(Failure.of(self._node, error)))
        finally:
            os._exit(code)  # no clean-up of what the parent has, and no waiting for gRPC's threads

    def _begin(self) -> None:
        """In the child."""
        signal.signal(signal.SIGTERM, lambda *_: self._stop.set())
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.set_wakeup_fd(-1)
        if self._log is not None:
            os.dup2(self._log, 1)
            os.dup2(self._log, 2)
        self._in_child()
