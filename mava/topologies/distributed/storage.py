"""The replay node: Reverb's server, and what the run asks of it beside sampling."""

from __future__ import annotations

import threading

from mava.topologies.distributed.job import Job
from mava.topologies.distributed.packing import Packing
from mava.topologies.distributed.remote import Remote, exposed
from mava.topologies.distributed.replay import ReplayServer, make_table


class ReplayWorker:
    """Serves the table of a run.

    Args:
        job: the run.
        port: for Reverb.
        coordinator: node.
        stop: set when the run ends.
    """

    def __init__(self, job: Job, port: int, coordinator: Remote, stop: threading.Event) -> None:
        program = job.program
        num_bytes = Packing(program.item).num_bytes
        self._stop, self._coordinator = stop, coordinator
        environments = program.num_environments * job.executors
        self._server = ReplayServer(
            lambda: make_table(
                program.plan, program.rounds, num_bytes, job.tolerance, environments, job.lease
            ),
            port,
        )

    @exposed
    def save(self) -> bytes:
        """The table as it is, limiter included."""
        return self._server.save()

    @exposed
    def load(self, saved: bytes) -> None:
        """Goes on from what ``save`` gave."""
        self._server.load(saved)

    @exposed
    def counts(self) -> tuple[int, int]:
        """Items inserted and sampled, over the whole run."""
        counts = self._server.counts()
        return counts.inserted, counts.sampled

    def run(self) -> None:
        """Until the run ends."""
        self._coordinator.call("join", "replay")
        self._stop.wait()
        self._server.close()
