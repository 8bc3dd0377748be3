"""The one place that counts: grants environment steps, says when trainer steps are due, and
collects what nodes report. It lives in the caller's process."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable
from typing import Any, NamedTuple

from mava.core.plans import BufferPlan, Rounds, Sampling
from mava.topologies.base import Report

_PATIENCE = 0.5
"""Seconds that a call waits for something to do; then the caller asks again."""

_MOST_REPORTED = 100_000


class Lease(NamedTuple):
    """Leave to make environment steps.

    Attributes:
        first: the index of the first over the whole run.
        steps: how many, a multiple of the environments stepped together; 0: ask again.
        version: trainer steps of the newest parameters, to fetch before.
    """

    first: int
    steps: int
    version: int


@dataclasses.dataclass(frozen=True)
class Collected:
    """What an executor did with a lease.

    Attributes:
        steps: environment steps.
        returns, lengths: of episodes that ended, as those of ``Report``.
        staleness: trainer steps between the parameters acted with and the newest.
    """

    steps: int
    returns: tuple[float, ...]
    lengths: tuple[int, ...]
    staleness: int


class Coordinator:
    """Thread-safe. Every executor asks for leases, the trainer for what is due, and the driver
    extends how far the run may go.

    Trainer steps are due as in a single process: after so many environment steps; on policy, after
    so many whole rollouts, of which every executor collects its own.

    Args:
        plan: the buffer, placed.
        rounds: when trainer steps run.
        num_environments: that one executor steps together.
        lease: vectorised steps granted at once.
        executors: how many.
    """

    def __init__(
        self, plan: BufferPlan, rounds: Rounds, num_environments: int, lease: int, executors: int
    ) -> None:
        self._changed = threading.Condition()
        self._rounds, self._size, self._lease = rounds, num_environments, lease
        on_policy = plan.sampling is Sampling.ON_POLICY
        self._rollout = plan.sequence_length * num_environments if on_policy else None
        self._until = self._completed = self._episodes = 0
        self._updates = self._version = 0
        self._starved: int | None = None
        self._stopping = False
        self._outstanding: dict[int, int] = {}
        self._joined: dict[str, int] = {}
        self._collected = [0] * executors  # by executor, since it started
        self._rollouts = 0  # of executors that are gone, and before this process
        self._kept: bytes | None = None
        self._metrics: dict[str, list[float]] = {}
        self._returns: list[float] = []
        self._lengths: list[int] = []

    # Called by nodes.

    def join(self, name: str) -> int:
        """A node is ready. Returns how often it was before: 0 the first time."""
        with self._changed:
            self._joined[name] = self._joined.get(name, -1) + 1
            self._changed.notify_all()
            return self._joined[name]

    def lease(self, index: int, done: Collected | None) -> Lease | None:
        """Reports the last lease of an executor and asks for the next; ``None``: stop."""
        with self._changed:
            if done is not None:
                self._take(index, done)
            self._wait(lambda: self._stopping or self._free() >= self._size)
            if self._stopping:
                return None
            count = min(self._lease * self._size, self._free() // self._size * self._size)
            first = self._completed + sum(self._outstanding.values())
            if count > 0:
                self._outstanding[index] = count
            return Lease(first, max(0, count), self._version)

    def due(self, updates: int, metrics: dict[str, list[float]]) -> int | None:
        """The trainer has made ``updates`` trainer steps. How many are due now; ``None``: stop.

        Args:
            updates: over the whole run.
            metrics: of the trainer steps since the last call, by name.
        """
        with self._changed:
            self._updates = updates
            for name, values in metrics.items():
                self._report(name, values)
            self._changed.notify_all()
            self._wait(lambda: self._stopping or self._due() > self._updates)
            return None if self._stopping else max(0, self._due() - self._updates)

    def starved(self, updates: int) -> None:
        """The replay had nothing to sample for the trainer step after ``updates``."""
        with self._changed:
            self._starved = updates
            self._changed.notify_all()

    def published(self, version: int) -> None:
        """Parameters after ``version`` trainer steps can be fetched."""
        with self._changed:
            self._version = version
            self._changed.notify_all()

    def keep(self, learner: bytes) -> None:
        """Keeps the trainer's state, for a trainer that is restarted."""
        with self._changed:
            self._kept = learner

    def kept(self) -> bytes | None:
        """The trainer's state as it was last kept."""
        with self._changed:
            return self._kept

    # Called by the runner.

    @property
    def environment_steps(self) -> int:
        return self._completed

    @property
    def trainer_steps(self) -> int:
        return self._updates

    @property
    def episodes(self) -> int:
        return self._episodes

    def joined(self, names: set[str], seconds: float) -> bool:
        """Waits until all of ``names`` have joined, at most so long."""
        with self._changed:
            return self._changed.wait_for(lambda: names <= self._joined.keys(), seconds)

    def extend(self, until: int) -> None:
        """Lets executors go on until ``until`` environment steps are made."""
        with self._changed:
            self._until = max(self._until, until)
            self._changed.notify_all()

    def halt(self) -> None:
        """Grants no more steps; those granted are still made."""
        with self._changed:
            self._until = self._completed + sum(self._outstanding.values())

    def settled(self, seconds: float) -> bool:
        """Waits until all that may be done is done, at most so long: every step that the limit
        allows, and the trainer steps that are due then."""
        with self._changed:
            return self._changed.wait_for(self._is_settled, seconds)

    def is_settled(self) -> bool:
        with self._changed:
            return self._is_settled()

    def stop(self) -> None:
        """Tells every node to stop, when it next asks."""
        with self._changed:
            self._stopping = True
            self._changed.notify_all()

    def lost(self, index: int) -> None:
        """An executor is gone, and what it had not reported with it: others make those steps."""
        with self._changed:
            self._outstanding.pop(index, None)
            if self._rollout is not None:
                self._rollouts += self._collected[index] // self._rollout
            self._collected[index] = 0
            self._changed.notify_all()

    def restore(self, steps: int, updates: int, episodes: int, learner: bytes) -> None:
        """Goes on from a checkpoint; executors must not have begun."""
        with self._changed:
            self._completed = self._until = steps
            self._updates = self._version = self._rollouts = updates
            self._episodes, self._kept = episodes, learner

    def report(self) -> Report:
        """What happened since the last report."""
        with self._changed:
            report = Report(
                {name: tuple(values) for name, values in self._metrics.items()},
                tuple(self._returns),
                tuple(self._lengths),
            )
            self._metrics, self._returns, self._lengths = {}, [], []
            return report

    # Held by the lock.

    def _wait(self, ready: Callable[[], bool]) -> None:
        self._changed.wait_for(ready, _PATIENCE)

    def _free(self) -> int:
        return self._until - self._completed - sum(self._outstanding.values())

    def _due(self) -> int:
        if self._rollout is None:
            return self._rounds.due(self._completed)
        return self._rollouts + sum(steps // self._rollout for steps in self._collected)

    def _is_settled(self) -> bool:
        if self._stopping:
            return True
        if self._outstanding or self._free() >= self._size:
            return False
        return self._updates >= self._due() or self._starved == self._updates

    def _take(self, index: int, done: Collected) -> None:
        self._outstanding.pop(index, None)
        self._completed += done.steps
        self._collected[index] += done.steps
        self._episodes += len(done.returns)
        self._returns.extend(done.returns)
        self._lengths.extend(done.lengths)
        self._starved = None
        self._report("parameters/staleness", [float(done.staleness)])
        self._changed.notify_all()

    def _report(self, name: str, values: list[float]) -> None:
        held = self._metrics.setdefault(name, [])
        held.extend(values[: _MOST_REPORTED - len(held)])


NODE_METHODS: tuple[str, ...] = (
    "join", "lease", "due", "starved", "published", "keep", "kept"
)  # fmt: skip
"""What nodes may call from afar."""


def call_locally(coordinator: Any, method: str, args: tuple[Any, ...]) -> Any:
    """One of ``NODE_METHODS``.

    Raises:
        AttributeError: it is none of them.
    """
    if method not in NODE_METHODS:
        raise AttributeError(f"nodes cannot call {method!r}")
    return getattr(coordinator, method)(*args)
