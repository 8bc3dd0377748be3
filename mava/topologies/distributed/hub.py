"""The process between the caller and the nodes: imports the engines once, and forks the nodes.

    python -m mava.topologies.distributed.hub FD PARENT

It talks with the caller over the socket ``FD``, and ends all nodes when the caller asks for it or
is gone. It uses no gRPC and no JAX itself, so that it may fork at any time.
"""

from __future__ import annotations

import multiprocessing.connection
import os
import pathlib
import signal
import sys
import threading
from typing import Any

from mava.topologies.distributed.failures import Failure
from mava.topologies.distributed.logs import BoundedLog
from mava.topologies.distributed.supervision import Supervisor

_LOOK = 0.2


class Hub:
    """One run's nodes.

    Args:
        control: to the caller.
        parent: the caller's process.
    """

    def __init__(self, control: multiprocessing.connection.Connection, parent: int) -> None:
        self._control, self._parent = control, parent
        self._sending = threading.Lock()
        self._threads: list[threading.Thread] = []
        self._stop = threading.Event()

    def run(self) -> None:
        """Until the caller asks for the end, or is gone."""
        job, folder = self._control.recv()
        import launchpad as lp
        from absl import flags, logging

        from mava.topologies.distributed.ports import Ports
        from mava.topologies.distributed.program import make_program

        logging.set_verbosity(logging.WARNING)
        flags.FLAGS(["hub"])
        ports = Ports()
        try:
            program, addresses = make_program(job, self._supervised(folder), ports)
            manager = lp.launch(program, launch_type="local_mt")
            self._stop = manager.stop_event()
            signal.signal(signal.SIGTERM, lambda *_: self._stop.set())
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            self._tell(("launched", addresses()))
            self._watch()
            self._stop.set()
            for thread in self._threads:
                thread.join()
        finally:
            ports.close()

    def _supervised(self, folder: pathlib.Path | None) -> Any:
        def run(node: str, restarts: int, work: Any) -> None:
            import launchpad as lp

            self._threads.append(threading.current_thread())
            try:
                path = folder and folder / f"{node.replace(' ', '_')}.txt"
                log = None if path is None else BoundedLog(path)
                Supervisor(
                    node,
                    work,
                    restarts,
                    lambda event: self._tell(("event", event)),
                    lp.stop_event(),
                    None if log is None else log.descriptor,
                    in_child=self._control.close,
                ).run()
                if log is not None:
                    log.close()
            except Exception as error:  # such as no memory to fork
                self._tell(("event", Failure.of(node, error)))

        return run

    def _tell(self, message: tuple[str, Any]) -> None:
        with self._sending:
            try:
                self._control.send(message)
            except OSError:
                self._stop.set()  # the caller is gone

    def _watch(self) -> None:
        while not self._stop.is_set():
            if os.getppid() != self._parent:
                return
            try:
                if self._control.poll(_LOOK):
                    self._control.recv()  # whatever it says is: stop
                    return
            except (EOFError, OSError):
                return


def main() -> None:
    descriptor, parent = int(sys.argv[1]), int(sys.argv[2])
    os.setpgid(0, 0)  # the terminal's Ctrl-C is for the caller
    control = multiprocessing.connection.Connection(descriptor)
    try:
        Hub(control, parent).run()
    except BaseException as error:
        control.send(("event", Failure.of("the launcher", error)))
        os._exit(1)
    os._exit(0)  # Launchpad's hooks at exit would wait for its threads


if __name__ == "__main__":
    main()
