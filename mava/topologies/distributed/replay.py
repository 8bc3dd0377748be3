"""The replay of a distributed program: both ends of it, around Reverb's server.

No call blocks for good, even where the server is gone: writers ask whether they should stop, and
sampling has a timeout. Whether the server lives is for its supervisor to see.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import reverb
import tensorflow as tf

from mava.core.plans import BufferPlan, Sampling
from mava.topologies.distributed.packing import Packing
from mava.topologies.distributed.remote import Stopped
from mava.topologies.distributed.server import Counts, ReplayServer
from mava.topologies.distributed.tables import (
    TABLE,
    chunk_length,
    make_table,
    period_of,
    samples_per_insert,
)
from mava.types import PyTree

__all__ = [
    "TABLE",
    "Counts",
    "ReplayServer",
    "Sampler",
    "Stopped",
    "Writer",
    "make_table",
    "samples_per_insert",
]

MAX_PENDING = 40
"""Reverb complains on standard error about a writer with 50 items or more on their way."""

_ASK_MS = 500
"""How long whatever waits goes without looking whether it should stop, in milliseconds."""


class Writer:
    """Writes one executor's environments, each a trajectory: items of ``plan.sequence_length``
    consecutive transitions, one beginning every ``plan.period`` (on policy, end to end). Sequences
    run across the ends of episodes.

    Items are inserted in order: by time, then by environment.

    Args:
        address: the server's, ``host:port``.
        plan: the program's.
        num_environments: of this executor.
        should_stop: asked at least once a second while a call waits.
        max_pending: items on their way to the table, at most. The executor is so many ahead of a
            table that takes no more. On policy none is on its way when ``write`` returns, so that
            the next rollout is acted with variables as new as can be.

    Raises:
        Stopped: while waiting for the server to answer.
    """

    def __init__(
        self,
        address: str,
        plan: BufferPlan,
        num_environments: int,
        should_stop: Callable[[], bool],
        max_pending: int = MAX_PENDING,
    ) -> None:
        self._plan, self._should_stop, self._max_pending = plan, should_stop, max_pending
        self._steps = self._pending = 0
        self._closed = False
        client = reverb.Client(address)
        self._shape = (num_environments, self._row_length(client))
        self._writer = client.trajectory_writer(num_keep_alive_refs=plan.sequence_length)
        for column in range(num_environments):
            self._writer.configure(
                (column,),
                num_keep_alive_refs=plan.sequence_length,
                max_chunk_length=chunk_length(plan),
            )

    def write(self, rows: np.ndarray, priority: float = 1.0) -> None:
        """Writes transitions that continue those written before. Blocks while the table takes no
        more.

        Args:
            rows: uint8 ``[T, E, num_bytes]``; free to change after the call.
            priority: of the items that these transitions complete.

        Raises:
            ValueError: rows of another dtype or shape.
            Stopped: what was not inserted by then may be lost, and nothing more can be written.
        """
        if rows.dtype != np.uint8 or rows.shape[1:] != self._shape:
            expected = f"uint8[T, {', '.join(map(str, self._shape))}]"
            raise ValueError(f"rows are {rows.dtype}{list(rows.shape)}, not {expected}")
        for step in rows:
            self._writer.append(list(step))
            self._steps += 1
            if self._ends_item():
                self._create_items(priority)
        if self._plan.sampling is Sampling.ON_POLICY:
            self._flush(0)

    def close(self) -> None:
        """Gives what is on its way half a second to arrive, and lets go of the server; what the
        table still refuses is lost."""
        if self._closed:
            return
        self._closed = True
        try:
            self._writer.flush(timeout_ms=_ASK_MS)
        except reverb.errors.DeadlineExceededError:
            pass
        finally:
            self._writer.close()

    def _ends_item(self) -> bool:
        beyond = self._steps - self._plan.sequence_length
        return beyond >= 0 and beyond % period_of(self._plan) == 0

    def _create_items(self, priority: float) -> None:
        for column in self._writer.history:
            self._writer.create_item(TABLE, priority, column[-self._plan.sequence_length :])
            self._pending += 1
            if self._pending >= self._max_pending:
                self._flush(self._max_pending // 2)

    def _flush(self, pending: int) -> None:
        """Waits until at most ``pending`` items are on their way."""
        while True:
            try:
                self._writer.flush(block_until_num_items=pending, timeout_ms=_ASK_MS)
            except reverb.errors.DeadlineExceededError:
                self._check_stop()
            else:
                self._pending = pending
                return

    def _row_length(self, client: reverb.Client) -> int:
        while True:
            try:
                return int(client.server_info(timeout=1)[TABLE].signature.shape[-1])
            except reverb.errors.DeadlineExceededError:
                self._check_stop()

    def _check_stop(self) -> None:
        if self._should_stop():
            raise Stopped("the replay took no more when the run was told to stop")


class Drawn(NamedTuple):
    """Rows ``[B, T, num_bytes]``, probabilities float32 ``[B]``, keys uint64 ``[B]``."""

    rows: np.ndarray
    probability: np.ndarray
    keys: np.ndarray


class Sampler:
    """Draws batches, for one trainer. Call it from one thread.

    A thread of its own talks to the server, so that a server that is gone holds up that thread
    alone. Up to two batches are drawn ahead: the next one, and one on its way.

    Args:
        address: the server's, ``host:port``.
        plan: the program's.
        packing: of its transitions.
    """

    def __init__(self, address: str, plan: BufferPlan, packing: Packing) -> None:
        self._packing = packing
        self._work = _Work(address, plan, packing.num_bytes)
        self._waiting = False
        self._work.start()

    def sample(self, timeout: float) -> tuple[PyTree, np.ndarray, np.ndarray] | None:
        """A batch ``[B, T, ...]``, the probability with which each item was drawn, float32
        ``[B]``, and the items' keys, uint64 ``[B]``.

        On policy: the next ``B`` items in the order of insertion, each once, probability 1.

        Args:
            timeout: seconds; ``None`` comes back when there was no batch by then. Nothing is lost:
                try again.

        Raises:
            Exception: what the server, or Reverb, failed with.
        """
        if not self._waiting:
            self._work.refused.clear()
            self._work.requests.put(None)
            self._waiting = True
        try:
            drawn = self._work.answers.get(timeout=timeout)
        except queue.Empty:
            return None
        self._waiting = False
        if isinstance(drawn, BaseException):
            raise drawn
        return self._packing.unpack(drawn.rows), drawn.probability, drawn.keys

    @property
    def was_refused(self) -> bool:
        """Whether the table had too little, or its limiter gave nothing, for the batch that was
        asked for last; else a batch that is not there yet is on its way."""
        return self._work.refused.is_set()

    def set_priorities(self, keys: np.ndarray, priorities: np.ndarray) -> None:
        """Gives items new priorities, before the next batch is asked for; batches drawn ahead are
        of the old ones. The table takes them to the power of the plan's exponent.

        Args:
            keys: uint64 ``[B]``. Where one comes several times its last priority counts; where it
                has left the table it is ignored.
            priorities: ``[B]``, at least 0.

        Raises:
            ValueError: a priority that is negative or not finite.
        """
        values = np.asarray(priorities, np.float64)
        if not np.all(np.isfinite(values) & (values >= 0)):
            raise ValueError(f"priorities must be finite and at least 0; they are {values}")
        updates = dict(zip(np.asarray(keys).tolist(), values.tolist(), strict=True))
        self._work.requests.put(updates)

    def close(self) -> None:
        """Ends the thread, or leaves it behind where the server does not answer."""
        self._work.closed.set()
        self._work.requests.put({})
        self._work.join(timeout=4 * _ASK_MS / 1000)


class _Work(threading.Thread):
    """What a ``Sampler`` has done in its own thread.

    Attributes:
        requests: ``None`` for a batch, new priorities by key otherwise.
        answers: one for each batch asked for, or what came in its way.
        closed: set when nothing more is wanted.
        refused: set when the table had too little for the batch that is asked for.
    """

    def __init__(self, address: str, plan: BufferPlan, num_bytes: int) -> None:
        super().__init__(name="replay-sampler", daemon=True)
        self.requests: queue.SimpleQueue[dict[int, float] | None] = queue.SimpleQueue()
        self.answers: queue.SimpleQueue[Drawn | BaseException] = queue.SimpleQueue()
        self.closed = threading.Event()
        self.refused = threading.Event()
        self._address, self._plan, self._num_bytes = address, plan, num_bytes
        self._held: list[Drawn] = []

    def run(self) -> None:
        client, parts = reverb.Client(self._address), self._parts()
        while not self.closed.is_set():
            request = self.requests.get()
            try:
                if request is None:
                    self._answer(parts)
                elif request:
                    client.mutate_priorities(TABLE, updates=request)
            except Exception as error:
                self.answers.put(error)
                parts = self._parts()

    def _answer(self, parts: Iterator[Drawn | None]) -> None:
        size = self._plan.batch_size
        while sum(len(part.keys) for part in self._held) < size:
            part = next(parts)
            if part is None:
                self.refused.set()
            else:
                self._held.append(part)
            if self.closed.is_set():
                return
        whole = Drawn(*map(_joined, zip(*self._held, strict=True)))
        rest = Drawn(*(array[size:] for array in whole))
        self._held = [rest] if len(rest.keys) else []
        self.answers.put(Drawn(*(array[:size] for array in whole)))

    def _parts(self) -> Iterator[Drawn | None]:
        """Batches, or what there is of one when the table gives no more for a while; ``None`` at
        the end of each such while."""
        dataset = reverb.TrajectoryDataset(
            self._address,
            TABLE,
            dtypes=tf.uint8,
            shapes=tf.TensorShape((self._plan.sequence_length, self._num_bytes)),
            max_in_flight_samples_per_worker=self._plan.batch_size,
            num_workers_per_iterator=1,
            rate_limiter_timeout_ms=_ASK_MS // 2,
        ).batch(self._plan.batch_size)
        while True:
            for sample in dataset.as_numpy_iterator():
                info = sample.info
                yield Drawn(sample.data, info.probability.astype(np.float32), info.key)
            yield None


def _joined(arrays: tuple[np.ndarray, ...]) -> np.ndarray:
    return arrays[0] if len(arrays) == 1 else np.concatenate(arrays)
