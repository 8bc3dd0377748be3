"""The executor node: acts in its own environments, and writes what happens to the replay."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from mava.core.contexts import Transition
from mava.core.learner import Variables
from mava.environments.vector import VectorEnvironment
from mava.topologies.collecting import Collector
from mava.topologies.distributed.coordinator import Collected, Lease
from mava.topologies.distributed.job import Job, executor_seed
from mava.topologies.distributed.packing import Packing
from mava.topologies.distributed.remote import Remote
from mava.topologies.distributed.replay import Writer
from mava.topologies.host_functions import acting, recording
from mava.types import PyTree


class ExecutorWorker:
    """Makes the environment steps it is granted, with parameters that it fetches before each grant.

    Args:
        job: the run.
        index: of this executor.
        coordinator, parameters: nodes.
        replay: address of the replay.
        stop: set when the run ends.
    """

    def __init__(
        self,
        job: Job,
        index: int,
        coordinator: Remote,
        parameters: Remote,
        replay: str,
        stop: threading.Event,
    ) -> None:
        self._job, self._index, self._stop = job, index, stop
        self._coordinator, self._parameters = coordinator, parameters
        self._program = job.program
        self._replay = replay
        self._packing = Packing(self._program.item)
        self._version = -1
        self._variables: Variables | None = None
        self._priority = 1.0

    def run(self) -> None:
        """Until the run ends.

        Raises:
            EnvironmentFault: an environment failed.
        """
        self._incarnation = self._coordinator.call("enter", self._index)
        self._fetch(0)
        record = _padded(jax.jit(recording(self._program)), self._job.lease)
        act = jax.jit(acting(self._program))
        writer = Writer(
            self._replay, self._program.plan, self._program.num_environments, self._stop.is_set
        )
        try:
            session: int | None = 0
            while session is not None:
                session = self._session(session, act, record, writer)
        finally:
            writer.close()

    def _session(
        self,
        session: int,
        act: Callable[..., Any],
        record: Callable[[Transition], PyTree],
        writer: Writer,
    ) -> int | None:
        """Collects until the run ends, or is resumed from a checkpoint: then returns that session.
        Its environments are new, with episodes of their own."""
        assert self._variables is not None
        seed = executor_seed(self._job.seed, self._index, self._incarnation, session)
        count = self._program.num_environments
        environment = VectorEnvironment(self._job.system.environment, count, seed)
        try:
            key = jax.random.key(self._job.seed)
            collector = Collector(self._program, environment, act, key, self._job.lease)
            collector.reset()
            collector.act(self._variables, 0)
            self._coordinator.call("join", f"{self._index} is ready")
            return self._collect(session, collector, record, writer)
        finally:
            environment.close()

    def _collect(
        self,
        session: int,
        collector: Collector,
        record: Callable[[Transition], PyTree],
        writer: Writer,
    ) -> int | None:
        done: Collected | None = None
        while True:
            lease: Lease | None = self._coordinator.call(
                "lease", self._index, self._incarnation, session, done
            )
            if lease is None:
                return None
            done = None
            if lease.session != session:
                return lease.session
            if lease.steps:
                self._fetch(lease.version)
                done = self._spend(lease, collector, record, writer)
                if self._stop.is_set():
                    return None

    def _spend(
        self,
        lease: Lease,
        collector: Collector,
        record: Callable[[Transition], PyTree],
        writer: Writer,
    ) -> Collected:
        assert self._variables is not None
        size = self._program.num_environments
        for step in range(lease.steps // size):
            if self._stop.is_set():
                break
            collector.step(self._variables, lease.first + step * size)
        steps = collector.rollout.size * size
        if steps:
            writer.write(self._packing.pack(record(collector.rollout.take())), self._priority)
        report = collector.tally.report()
        staleness = max(0, lease.version - self._version)
        return Collected(steps, report.returns, report.lengths, staleness)

    def _fetch(self, version: int) -> None:
        """Fetches the newest parameters, unless it has that version; waits for the first."""
        if self._version == version:
            return
        newest = self._parameters.call("other_than", self._version)
        while newest is None and self._variables is None:
            newest = self._parameters.call("other_than", self._version)
        if newest is not None:
            self._version, self._priority, self._variables = newest


def _padded(record: Callable[[Transition], PyTree], length: int) -> Callable[[Transition], PyTree]:
    """``record`` of up to ``length`` transitions ``[T, E, ...]``, compiled for that many alone."""

    def pad(x: np.ndarray, missing: int) -> np.ndarray:
        return np.concatenate([x, np.broadcast_to(x[-1:], (missing, *x.shape[1:]))])

    def recorded(transitions: Transition) -> PyTree:
        steps = len(jax.tree.leaves(transitions)[0])
        if steps < length:
            transitions = jax.tree.map(lambda x: pad(x, length - steps), transitions)
        return jax.tree.map(lambda x: np.asarray(x)[:steps], record(transitions))

    return recorded
