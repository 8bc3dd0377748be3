"""The one place that counts: grants environment steps, says when trainer steps are due, and
collects what nodes report. It lives in the caller's process."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable
from typing import NamedTuple

from mava.core.plans import BufferPlan, Rounds, Sampling
from mava.topologies.base import Report

_PATIENCE = 0.5
"""Seconds that a call waits for something to do; then the caller asks again."""

_MOST_REPORTED = 100_000

_MOST_TRAINER_STEPS = 4
"""Made without asking again, so that a run can be brought to rest soon."""


class Lease(NamedTuple):
    """Leave to make environment steps.

    Attributes:
        first: the index of the first over the whole run.
        steps: how many, a multiple of the environments stepped together; 0: ask again.
        version: trainer steps of the newest parameters, to fetch before.
        session: environment steps at which this run was resumed; where it changes, executors
            start other episodes.
    """

    first: int
    steps: int
    version: int
    session: int


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
        self._changed = threading.Condition(threading.RLock())
        self._rounds, self._size, self._lease = rounds, num_environments, lease
        on_policy = plan.sampling is Sampling.ON_POLICY
        self._rollout = plan.sequence_length * num_environments if on_policy else None
        self._until = self._completed = self._granted = self._session = self._episodes = 0
        self._updates = self._version = 0
        self._starved: int | None = None
        self._halted = self._trainer_rests = False
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
        """A node is there. Returns its incarnation: how often it was before, 0 the first time."""
        with self._changed:
            self._joined[name] = self._joined.get(name, -1) + 1
            self._changed.notify_all()
            return self._joined[name]

    def enter(self, index: int) -> int:
        """An executor is there: ``join`` by its index. What one before it had not reported is
        lost, and others make those steps."""
        with self._changed:
            if self._outstanding.pop(index, None) is not None or self._collected[index]:
                if self._rollout is not None:
                    self._rollouts += self._collected[index] // self._rollout
                self._collected[index] = 0
            return self.join(f"executor {index}")

    def lease(
        self, index: int, incarnation: int, session: int, done: Collected | None
    ) -> Lease | None:
        """Reports the last lease of an executor and asks for the next; ``None``: stop.

        Args:
            index: of the executor.
            incarnation: as ``enter`` told it.
            session: that its episodes belong to; with another than the run's it is granted nothing.
            done: what it did; ``None`` at first, and after a lease of no steps.
        """
        with self._changed:
            if not self._is_current(index, incarnation):
                return None
            if done is not None:
                self._take(index, done)
            self._wait(lambda: self._stopping or session != self._session or self._may_go_on())
            if self._stopping or not self._is_current(index, incarnation):
                return None
            steps = 0
            if self._may_go_on() and session == self._session:
                steps = min(self._lease * self._size, self._free() // self._size * self._size)
                self._outstanding[index] = steps
            first, self._granted = self._granted, self._granted + steps
            return Lease(first, steps, self._version, self._session)

    def due(self, updates: int, metrics: dict[str, list[float]]) -> int | None:
        """The trainer has made ``updates`` trainer steps. How many to make before it asks again;
        ``None``: stop.

        Args:
            updates: over the whole run.
            metrics: of the trainer steps since the last call, by name.
        """
        with self._changed:
            self._updates, self._trainer_rests = updates, True
            for name, values in metrics.items():
                self._report(name, values)
            self._changed.notify_all()
            self._wait(lambda: self._stopping or self._to_do() > 0)
            if self._stopping:
                return None
            steps = min(self._to_do(), _MOST_TRAINER_STEPS)
            self._trainer_rests = steps == 0
            return steps

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
            self._until, self._halted = max(self._until, until), False
            self._changed.notify_all()

    def halt(self) -> None:
        """Nothing more is begun, neither environment nor trainer steps; what is under way is
        finished. Training that is due stays due."""
        with self._changed:
            self._until = self._completed + sum(self._outstanding.values())
            self._halted = True
            self._changed.notify_all()

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

    def restore(self, steps: int, updates: int, episodes: int, learner: bytes) -> None:
        """Goes on from a checkpoint; executors must not have begun."""
        with self._changed:
            self._completed = self._until = self._granted = self._session = steps
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

    def _to_do(self) -> int:
        # An executor may be waiting for the trainer to make room in the replay.
        if self._halted and not self._outstanding:
            return 0
        return max(0, self._due() - self._updates)

    def _may_go_on(self) -> bool:
        """Whether there are steps to make; on policy executors also wait for a trainer that lags
        by more rollouts than there are executors, so that parameters stay near those that act."""
        if self._free() < self._size:
            return False
        return self._rollout is None or self._due() - self._updates <= len(self._collected)

    def _is_current(self, index: int, incarnation: int) -> bool:
        """Whether an executor that asks was not replaced: its call may come after its end."""
        return self._joined.get(f"executor {index}") == incarnation

    def _is_settled(self) -> bool:
        if self._stopping:
            return True
        if self._outstanding or self._free() >= self._size:
            return False
        if self._halted:
            return self._trainer_rests
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


NODE_METHODS = ("join", "enter", "lease", "due", "starved", "published", "keep", "kept")
"""What nodes may call from afar."""
