"""Where the nodes of a run are: in processes, or in threads of the caller's process."""

from __future__ import annotations

import contextlib
import multiprocessing.connection
import os
import pathlib
import queue
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, Protocol

from mava.topologies.distributed.failures import Failure, NodeError
from mava.topologies.distributed.job import Addresses, Job
from mava.topologies.distributed.ports import Ports
from mava.topologies.distributed.supervision import GRACE, Ended, Event

QUIET = {"TF_CPP_MIN_LOG_LEVEL": "3"}
"""TensorFlow's library prints, when it is loaded, that there is no CUDA. (JAX sets this to 1.)"""

_START_SECONDS = 300.0


class Host(Protocol):
    """Starts and ends the nodes of a run."""

    def start(self, job: Job, folder: pathlib.Path | None) -> Addresses:
        """Launches the program, and returns the ``Addresses`` of its nodes."""

    def events(self) -> Iterator[Event]:
        """What happened to nodes since the last call."""

    def stop(self) -> None:
        """Ends all of them, by force where they do not end by themselves."""


class ProcessHost:
    """Every node in a process of its own, below a process that imported the engines for all."""

    def __init__(self) -> None:
        self._messages: queue.SimpleQueue[tuple[str, Any]] = queue.SimpleQueue()
        self._early: list[Event] = []  # what came while it was launching
        self._process: subprocess.Popen[bytes] | None = None
        self._stopping = False

    def start(self, job: Job, folder: pathlib.Path | None) -> Addresses:
        ours, theirs = socket.socketpair()
        sink: Any = subprocess.DEVNULL
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
            sink = (folder / "launcher.txt").open("ab")
        with theirs, sink if folder is not None else contextlib.nullcontext():
            self._process = subprocess.Popen(
                [
                    sys.executable,
                    "-m",
                    "mava.topologies.distributed.hub",
                    str(theirs.fileno()),
                    str(os.getpid()),
                ],
                env={**os.environ, **QUIET, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=sink,
                stderr=sink,
            )
        self._control = multiprocessing.connection.Connection(ours.detach())
        threading.Thread(target=self._listen, daemon=True).start()
        self._control.send((job, folder))
        return self._launched()

    def _launched(self) -> Addresses:
        deadline = time.monotonic() + _START_SECONDS
        while True:
            try:
                kind, value = self._messages.get(timeout=max(0.0, deadline - time.monotonic()))
            except queue.Empty:
                raise NodeError(
                    f"the launcher did not start within {_START_SECONDS:.0f} s"
                ) from None
            if isinstance(value, Addresses):
                return value
            if isinstance(value, Failure):
                raise value.as_error()
            if isinstance(value, Ended):
                raise NodeError(f"the launcher did not start: exit code {value.code}")
            if kind == "event":
                self._early.append(value)

    def _listen(self) -> None:
        while True:
            try:
                self._messages.put(self._control.recv())
            except (EOFError, OSError):
                if not self._stopping:
                    self._messages.put(("event", Ended("the launcher", 1)))
                return

    def events(self) -> Iterator[Event]:
        while self._early:
            yield self._early.pop(0)
        while True:
            try:
                kind, value = self._messages.get_nowait()
            except queue.Empty:
                return
            if kind == "event":
                yield value

    def stop(self) -> None:
        self._stopping = True
        if self._process is None:
            return
        with contextlib.suppress(OSError):
            self._control.send("stop")
        try:
            self._process.wait(GRACE + 4.0)
        except subprocess.TimeoutExpired:
            self._process.kill()  # and its children with it
            self._process.wait()
        self._control.close()
        self._process = None


class ThreadHost:
    """Every node in a thread of this process: for tests, and to look at all of them at once with a
    debugger. One at a time: nothing can be killed, and Launchpad counts on being alone."""

    def __init__(self) -> None:
        self._events: queue.SimpleQueue[Event] = queue.SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._ports = Ports()
        self._stop: threading.Event | None = None

    def start(self, job: Job, folder: pathlib.Path | None) -> Addresses:
        import launchpad as lp
        from absl import flags

        from mava.topologies.distributed.program import make_program

        program, addresses = make_program(job, self._run, self._ports)
        if not flags.FLAGS.is_parsed():
            flags.FLAGS.mark_as_parsed()
        with _own_signals():
            manager = lp.launch(program, launch_type="local_mt")
        self._stop = manager.stop_event()
        return addresses()

    def _run(self, node: str, restarts: int, work: Callable[[], None]) -> None:
        self._threads.append(threading.current_thread())
        try:
            work()
        except BaseException as error:
            if self._stop is None or not self._stop.is_set():
                self._events.put(Failure.of(node, error))

    def events(self) -> Iterator[Event]:
        while not self._events.empty():
            yield self._events.get()

    def stop(self) -> None:
        self._ports.close()
        if self._stop is None:
            return
        self._stop.set()
        for thread in self._threads:
            thread.join(GRACE)
        self._stop = None


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """While entered, what loads TensorFlow's library loads it without a word."""
    before = {name: os.environ.get(name) for name in QUIET}
    os.environ.update(QUIET)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value


@contextlib.contextmanager
def _own_signals() -> Iterator[None]:
    """Gives back the handlers of signals that Launchpad takes, for the driver has its own."""
    numbers = (signal.SIGTERM, signal.SIGQUIT, signal.SIGINT, signal.SIGALRM)
    handlers = {number: signal.getsignal(number) for number in numbers}
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
