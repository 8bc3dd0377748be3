"""A replay server with what is connected to it, and transitions to tell apart. Needs Reverb."""

from __future__ import annotations

import contextlib
import itertools
import socket
import threading
from collections.abc import Callable, Iterator

import jax
import numpy as np

from mava.core.plans import BufferPlan, Rounds
from mava.topologies.distributed.packing import Packing
from mava.topologies.distributed.replay import ReplayServer, Sampler, Stopped, Writer
from mava.topologies.distributed.tables import make_table

PACKING = Packing(
    {"x": jax.ShapeDtypeStruct((), np.int32), "end": jax.ShapeDtypeStruct((), np.bool_)}
)
OFTEN = Rounds(first=1, every=1, updates=1)
SOON = 10.0
"""Seconds in which what must happen does."""


def numbered(first: int, steps: int, environments: int) -> np.ndarray:
    """Packed transitions ``[T, E]``: environment ``e`` writes ``1000 * e + t``; every fourth ends
    an episode."""
    t = np.arange(first, first + steps, dtype=np.int32)[:, None]
    x = t + 1000 * np.arange(environments, dtype=np.int32)
    return PACKING.pack({"x": x, "end": np.broadcast_to(t % 4 == 3, x.shape)})


def sequences(plan: BufferPlan, period: int, steps: int, environments: int) -> list[list[int]]:
    """What has to be inserted, in order, of ``numbered(0, steps, environments)``."""
    ends = range(plan.sequence_length, steps + 1, period)
    return [
        [1000 * e + t for t in range(end - plan.sequence_length, end)]
        for end, e in itertools.product(ends, range(environments))
    ]


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("localhost", 0))
        return int(free.getsockname()[1])


class Replay:
    """A server with all that is connected to it. With the tolerance that is the default, neither
    end waits for the other."""

    def __init__(
        self, plan: BufferPlan, rounds: Rounds, environments: int, tolerance: float = 1e6
    ) -> None:
        self.plan = plan
        self.server = ReplayServer(
            lambda: make_table(plan, rounds, PACKING.num_bytes, tolerance, environments),
            free_port(),
        )
        self.connected: list[Writer | Sampler] = []

    def writer(self, environments: int, should_stop: Callable[[], bool] = lambda: False) -> Writer:
        self.connected.append(Writer(self.server.address, self.plan, environments, should_stop))
        return self.connected[-1]

    def sampler(self) -> Sampler:
        self.connected.append(Sampler(self.server.address, self.plan, PACKING))
        return self.connected[-1]

    def disconnect(self) -> None:
        for end in self.connected:
            end.close()
        self.connected.clear()

    def close(self) -> None:
        self.disconnect()
        self.server.close()


Replays = Callable[..., Replay]


def drawn(sampler: Sampler, batches: int) -> list[tuple[list[int], float, int]]:
    """Each item's numbers, probability and key."""
    items = []
    for _ in range(batches):
        sample = sampler.sample(SOON)
        assert sample is not None
        batch, probability, keys = sample
        np.testing.assert_array_equal(batch["end"], batch["x"] % 4 == 3)
        assert probability.dtype == np.float32
        assert keys.dtype == np.uint64
        items += zip(batch["x"].tolist(), probability.tolist(), keys.tolist(), strict=True)
    return items


def on_policy(length: int, environments: int, more_steps: int = 0) -> BufferPlan:
    return BufferPlan.on_policy(length).placed(environments, more_steps)


def in_thread(work: Callable[[], None]) -> threading.Thread:
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread


@contextlib.contextmanager
def writing(held: Replay, environments: int) -> Iterator[tuple[threading.Semaphore, list[int]]]:
    """A thread writes without end, four steps at a time. Gives what is released whenever the writer
    asks whether to stop, and the first step of each call that came back."""
    stop, asked = threading.Event(), threading.Semaphore(0)
    written: list[int] = []

    def should_stop() -> bool:
        asked.release()
        return stop.is_set()

    def write() -> None:
        writer = held.writer(environments, should_stop)
        with contextlib.suppress(Stopped):
            for first in itertools.count(step=4):
                if stop.is_set():
                    return
                writer.write(numbered(first, 4, environments), priority=float(first + 1))
                written.append(first)

    thread = in_thread(write)
    yield asked, written
    stop.set()
    thread.join(SOON)
    assert not thread.is_alive()
