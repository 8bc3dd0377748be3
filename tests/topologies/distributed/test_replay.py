"""The replay of a distributed program, against plain lists of what was written."""

import contextlib
import itertools
import socket
import threading
from collections import Counter
from collections.abc import Callable, Iterator

import jax
import numpy as np
import pytest

from mava.core.plans import BufferPlan, Rounds, Sampling
from mava.errors import CheckpointError, ConfigurationError
from mava.topologies.distributed.packing import Packing

pytest.importorskip("reverb", reason="Reverb is not installed; `make setup-distributed` does it")

from mava.topologies.distributed.replay import ReplayServer, Sampler, Stopped, Writer
from mava.topologies.distributed.tables import (
    MAX_CHUNK_BYTES,
    error_buffer,
    items_in,
    make_table,
    samples_per_insert,
)

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


class Replay:
    """A server with all that is connected to it."""

    def __init__(self, plan: BufferPlan, rounds: Rounds, environments: int, **sizes: float) -> None:
        self.plan = plan
        tolerance = sizes.get("tolerance", 1e6)  # nothing waits
        with socket.socket() as free:
            free.bind(("localhost", 0))
            port = free.getsockname()[1]
        self.server = ReplayServer(
            lambda: make_table(plan, rounds, PACKING.num_bytes, tolerance, environments), port
        )
        self.connected: list[Writer | Sampler] = []

    def writer(self, environments: int, should_stop: Callable[[], bool] = lambda: False) -> Writer:
        self.connected.append(Writer(self.server.address, self.plan, environments, should_stop))
        return self.connected[-1]  # type: ignore[return-value]

    def sampler(self) -> Sampler:
        self.connected.append(Sampler(self.server.address, self.plan, PACKING))
        return self.connected[-1]  # type: ignore[return-value]

    def disconnect(self) -> None:
        for end in self.connected:
            end.close()
        self.connected.clear()

    def close(self) -> None:
        self.disconnect()
        self.server.close()


@pytest.fixture
def replay() -> Iterator[Callable[..., Replay]]:
    made: list[Replay] = []

    def make(plan: BufferPlan, rounds: Rounds = OFTEN, environments: int = 1, **sizes: float):  # type: ignore[no-untyped-def]
        made.append(Replay(plan, rounds, environments, **sizes))
        return made[-1]

    yield make
    for one in made:
        one.close()


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


@pytest.mark.parametrize(("length", "period"), [(1, 1), (3, 1), (4, 2), (5, 3), (6, 6)])
def test_items_are_sequences_that_run_across_the_ends_of_episodes(replay, length, period) -> None:  # type: ignore[no-untyped-def]
    plan = BufferPlan(Sampling.UNIFORM, 100, 12, 8, length, period)
    held = replay(plan, environments=2)
    writer = held.writer(2)
    for first, steps in ((0, 1), (1, 9), (10, 7)):
        rows = numbered(first, steps, 2)
        writer.write(rows)
        rows[:] = 255  # the writer has its own copy
    writer.close()
    expected = sequences(plan, period, 17, 2)
    assert held.server.counts()[:2] == (len(expected), len(expected))
    items = drawn(held.sampler(), 50)
    assert {tuple(x) for x, _, _ in items} == {tuple(x) for x in expected}
    assert {p for _, p, _ in items} == {np.float32(1 / len(expected))}
    assert len({key for _, _, key in items}) == len(expected)


def test_the_oldest_make_room(replay) -> None:  # type: ignore[no-untyped-def]
    plan = BufferPlan(Sampling.UNIFORM, 21, 10, 8, 2, 1)  # two rows of 10, with 9 items each
    held = replay(plan, environments=2)
    sampler, writer = held.sampler(), held.writer(2)
    writer.write(numbered(0, 40, 2))
    writer.close()
    assert held.server.counts()[:2] == (18, 78)
    drawn(sampler, 3)  # some of those were drawn ahead
    newest = sequences(plan, 1, 40, 2)[-18:]
    assert {tuple(x) for x, _, _ in drawn(sampler, 40)} == {tuple(x) for x in newest}


def test_sampling_begins_with_min_size_transitions_of_all_environments(replay) -> None:  # type: ignore[no-untyped-def]
    held = replay(BufferPlan(Sampling.UNIFORM, 100, 20, 4, 3, 1), environments=4)
    sampler = held.sampler()
    writers = [held.writer(2), held.writer(2)]
    for first in range(4):
        for writer in writers:
            writer.write(numbered(first, 1, 2))
    assert sampler.sample(0.1) is None
    for writer in writers:
        writer.write(numbered(4, 1, 2))
    assert len(drawn(sampler, 2)) == 8


def test_probabilities_are_priorities_to_the_power_of_the_exponent(replay) -> None:  # type: ignore[no-untyped-def]
    held = replay(BufferPlan(Sampling.PRIORITISED, 100, 4, 8, priority_exponent=0.5))
    writer = held.writer(1)
    for first, priority in enumerate((1.0, 4.0, 9.0, 16.0)):
        writer.write(numbered(first, 1, 1), priority)
    writer.close()
    sampler = held.sampler()
    items = drawn(sampler, 40)
    of_number = {x[0]: p for x, p, _ in items}
    assert of_number == {0: pytest.approx(0.1), 1: pytest.approx(0.2), 2: pytest.approx(0.3),
                         3: pytest.approx(0.4)}  # fmt: skip
    seen = Counter(x[0] for x, _, _ in items)
    for number, p in of_number.items():  # five standard deviations
        assert abs(seen[number] - 320 * p) < 5 * np.sqrt(320 * p * (1 - p))


def test_new_priorities_hold_for_what_is_drawn_later(replay) -> None:  # type: ignore[no-untyped-def]
    held = replay(BufferPlan(Sampling.PRIORITISED, 100, 3, 8, priority_exponent=1.0))
    writer, sampler = held.writer(1), held.sampler()
    writer.write(numbered(0, 3, 1))
    writer.close()
    keys = {x[0]: key for x, _, key in drawn(sampler, 10)}
    unknown = 12345
    updated = np.array([keys[0], keys[1], unknown, keys[0], keys[2]], np.uint64)
    sampler.set_priorities(updated, np.array([7.0, 3.0, 5.0, 1.0, 0.0], np.float32))
    drawn(sampler, 3)  # drawn ahead
    of_number = {x[0]: p for x, p, _ in drawn(sampler, 20)}
    assert of_number == {0: pytest.approx(0.25), 1: pytest.approx(0.75)}


@pytest.mark.parametrize("bad", [-1.0, np.nan, np.inf])
def test_priorities_that_are_none_are_refused(replay, bad) -> None:  # type: ignore[no-untyped-def]
    sampler = replay(BufferPlan(Sampling.PRIORITISED, 100, 3, 2)).sampler()
    with pytest.raises(ValueError, match="finite"):
        sampler.set_priorities(np.array([1, 2], np.uint64), np.array([1.0, bad]))


def on_policy(length: int, environments: int, more_steps: int = 0) -> BufferPlan:
    return BufferPlan.on_policy(length).placed(environments, more_steps)


def in_thread(work: Callable[[], None]) -> threading.Thread:
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread


@contextlib.contextmanager
def writing(held: Replay, environments: int) -> Iterator[threading.Semaphore]:
    """A thread writes without end; gives what is released whenever the writer asks to stop."""
    stop, asked = threading.Event(), threading.Semaphore(0)

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

    thread = in_thread(write)
    yield asked
    stop.set()
    thread.join(SOON)
    assert not thread.is_alive()


@pytest.mark.slow
@pytest.mark.parametrize("more_steps", [0, 1])
def test_on_policy_each_item_comes_once_and_in_order(replay, more_steps) -> None:  # type: ignore[no-untyped-def]
    """Two environments write and three items are a batch, so that batches are cut across rollouts
    and the table runs empty in the middle of one."""
    plan = on_policy(4, 3, more_steps)
    held = replay(plan, Rounds(12, 12, 1), environments=2)
    length, rollouts = plan.sequence_length, 24

    def write() -> None:
        writer = held.writer(2)
        for first in range(rollouts):
            writer.write(numbered(first * length, length, 2))
            if first % 5 == 0:
                pause.wait(0.4)  # longer than the table is waited for at a time

    pause = threading.Event()
    thread = in_thread(write)
    items = drawn(held.sampler(), 16)
    thread.join(SOON)
    expected = sequences(plan, length, rollouts * length, 2)
    assert [x for x, _, _ in items] == expected
    assert {p for _, p, _ in items} == {1.0}
    assert held.server.counts() == (0, len(expected), len(expected))


@pytest.mark.slow
def test_a_full_queue_blocks_until_told_to_stop(replay) -> None:  # type: ignore[no-untyped-def]
    plan = on_policy(2, 2)
    held = replay(plan, Rounds(4, 4, 1), environments=2)
    with writing(held, 2) as asked:
        for _ in range(2):  # at least once a second, and it goes on waiting
            assert asked.acquire(timeout=SOON)
        assert held.server.counts() == (4, 4, 0)
        assert len(drawn(held.sampler(), 3)) == 6
        assert asked.acquire(timeout=SOON)


def test_a_writer_can_be_stopped_while_no_server_answers() -> None:
    with pytest.raises(Stopped):
        Writer("localhost:1", BufferPlan(Sampling.UNIFORM, 9, 1, 1), 1, lambda: True)


def test_sampling_times_out_where_no_server_answers_and_closes(replay) -> None:  # type: ignore[no-untyped-def]
    sampler = Sampler("localhost:1", BufferPlan(Sampling.UNIFORM, 9, 1, 1), PACKING)
    assert sampler.sample(0.1) is None
    sampler.close()


def test_a_sample_that_timed_out_comes_later(replay) -> None:  # type: ignore[no-untyped-def]
    held = replay(BufferPlan(Sampling.UNIFORM, 100, 4, 2))
    sampler, writer = held.sampler(), held.writer(1)
    for _ in range(3):
        assert sampler.sample(0.05) is None
    writer.write(numbered(0, 4, 1))
    writer.close()
    assert {x[0] for x, _, _ in drawn(sampler, 20)} == {0, 1, 2, 3}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("plan", "rounds", "expected"),
    [
        (BufferPlan(Sampling.UNIFORM, 1000, 40, 16), Rounds(40, 8, 1), 2.0),
        (BufferPlan(Sampling.UNIFORM, 1000, 40, 4), Rounds(40, 16, 1), 0.25),
        (BufferPlan(Sampling.PRIORITISED, 1000, 40, 8, 4, 2, 0.6), Rounds(40, 32, 4), 2.0),
        (on_policy(4, 2), Rounds(8, 8, 1), 1.0),
    ],
)
def test_samples_per_insert_stay_within_five_percent(replay, plan, rounds, expected) -> None:  # type: ignore[no-untyped-def]
    """A trainer and an executor that are as fast as they can be."""
    held = replay(plan, rounds, environments=2, tolerance=0.1)
    sampler = held.sampler()
    with writing(held, 2):
        while held.server.counts().inserted < 4000:
            drawn(sampler, 10)
        _, inserted, sampled = held.server.counts()
    assert samples_per_insert(plan, rounds) == expected
    assert sampled / inserted == pytest.approx(expected, rel=0.05)


def test_a_trainer_that_does_only_what_is_due_is_never_refused(replay) -> None:  # type: ignore[no-untyped-def]
    """The tightest tolerance: the buffer of errors is what the docstring derives."""
    plan, rounds = BufferPlan(Sampling.UNIFORM, 1000, 8, 4, 2, 1), Rounds(8, 16, 3)
    held = replay(plan, rounds, environments=4, tolerance=1e-6)
    writer, sampler, updates = held.writer(4), held.sampler(), 0
    for step in range(100):
        thread = in_thread(lambda step=step: writer.write(numbered(step, 1, 4)))
        thread.join(SOON)
        assert not thread.is_alive()
        while updates < rounds.due(4 * (step + 1)):
            drawn(sampler, 1)
            updates += 1
    assert updates == 3 * 25


def test_the_error_buffer_by_hand() -> None:
    plan, rounds = BufferPlan(Sampling.UNIFORM, 10_000, 1000, 32), Rounds(1000, 4, 1)
    assert samples_per_insert(plan, rounds) == 8.0
    # A tenth of 8 * 1000; or a round of 32, two batches, and 8 for each of 5 environments.
    assert error_buffer(plan, rounds, 0.1, 5, least=1000) == 800.0
    assert error_buffer(plan, rounds, 0.01, 5, least=1000) == 32 + 64 + 40
    # Items of 5 begin every 2: a sequence is worth 3 of them, and 16 samples each.
    plan = BufferPlan(Sampling.UNIFORM, 10_000, 1000, 32, 5, 2)
    assert error_buffer(plan, rounds, 1e-3, 5, least=500) == 32 + 64 + 16 * 15


@pytest.mark.parametrize(
    ("plan", "transitions", "environments", "items"),
    [
        (BufferPlan(Sampling.UNIFORM, 100, 10, 1), 100, 8, 96),
        (BufferPlan(Sampling.UNIFORM, 100, 10, 1, 5), 30, 3, 18),
        (BufferPlan(Sampling.UNIFORM, 100, 10, 1, 5, 2), 30, 3, 9),
        (BufferPlan(Sampling.UNIFORM, 100, 10, 1, 5), 12, 3, 0),
        (on_policy(4, 3, more_steps=1), 30, 3, 6),
    ],
)
def test_items_in_transitions_by_hand(plan, transitions, environments, items) -> None:  # type: ignore[no-untyped-def]
    assert items_in(plan, transitions, environments) == items


@pytest.mark.slow
@pytest.mark.parametrize("sampling", [Sampling.UNIFORM, Sampling.PRIORITISED])
def test_a_checkpoint_holds_items_priorities_and_counts(replay, sampling) -> None:  # type: ignore[no-untyped-def]
    plan = BufferPlan(sampling, 100, 8, 4, sequence_length=4, period=4, priority_exponent=1.0)
    held = replay(plan, Rounds(8, 16, 1), tolerance=0.5)
    with writing(held, 1) as asked:
        drawn(held.sampler(), 5)
        assert asked.acquire(timeout=SOON)  # the writer is blocked
        before = held.server.counts()
        saved = held.server.save()
        assert held.server.counts() == before
    assert before.sampled >= 20
    held.disconnect()
    held.server.load(saved)
    assert held.server.counts() == before

    sampler = held.sampler()
    there = range(before.inserted - before.size, before.inserted)
    total = sum(4 * n + 1 for n in there)  # the priority of item n is 4 n + 1
    for numbers, probability, _ in drawn(sampler, 2):
        n = numbers[0] // 4
        assert n in there
        assert numbers == [4 * n, 4 * n + 1, 4 * n + 2, 4 * n + 3]
        prioritised = sampling is Sampling.PRIORITISED
        assert probability == pytest.approx((4 * n + 1) / total if prioritised else 1 / before.size)
    with writing(held, 1):  # the limiter goes on where it was
        while held.server.counts().inserted < 500:
            drawn(sampler, 5)
        _, inserted, sampled = held.server.counts()
    assert sampled / inserted == pytest.approx(1.0, rel=0.05)


def test_bytes_that_are_no_checkpoint_are_refused_and_the_server_lives(replay) -> None:  # type: ignore[no-untyped-def]
    held = replay(BufferPlan(Sampling.UNIFORM, 100, 8, 4))
    with pytest.raises(CheckpointError, match="damaged"):
        held.server.load(b"something else")
    assert held.server.counts() == (0, 0, 0)


def test_f13_rows_of_another_layout_are_refused_and_the_server_lives(replay) -> None:  # type: ignore[no-untyped-def]
    held = replay(BufferPlan(Sampling.UNIFORM, 100, 4, 4), environments=2)
    writer, rows = held.writer(2), numbered(0, 4, 2)
    for bad in (rows[..., :-1], rows[:, :1], rows.astype(np.int8), rows[0]):
        with pytest.raises(ValueError, match=r"not uint8\[T, 2, 5\]"):
            writer.write(bad)
    writer.write(rows)
    writer.close()
    assert held.server.counts().inserted == 8


def test_a_sampler_of_another_program_is_refused(replay) -> None:  # type: ignore[no-untyped-def]
    held = replay(BufferPlan(Sampling.UNIFORM, 100, 4, 4))
    writer = held.writer(1)
    writer.write(numbered(0, 8, 1))
    other = Packing({"x": jax.ShapeDtypeStruct((9,), np.uint8)})
    sampler = Sampler(held.server.address, held.plan, other)
    held.connected.append(sampler)
    with pytest.raises(Exception, match="9"):
        sampler.sample(SOON)


def test_plans_that_the_table_cannot_hold_are_refused() -> None:
    plan = BufferPlan(Sampling.UNIFORM, 1000, 100, 4, 8)
    with pytest.raises(ConfigurationError, match="raise min_size to 160"):
        make_table(plan, OFTEN, 10, 0.1, num_environments=20)
    with pytest.raises(ConfigurationError, match="tolerance"):
        make_table(plan, OFTEN, 10, 0.0, num_environments=2)
    with pytest.raises(ConfigurationError, match=r"sequence_length.*single_process"):
        make_table(on_policy(1024, 2), OFTEN, MAX_CHUNK_BYTES // 1000, 0.1, num_environments=2)
