"""The replay of a distributed program, against plain lists of what was written."""

from __future__ import annotations

import io
import pathlib
import subprocess
import sys
import threading
import zipfile
from collections import Counter

import jax
import numpy as np
import pytest

from mava.core.plans import BufferPlan, Rounds, Sampling
from mava.errors import CheckpointError
from mava.topologies.distributed.packing import Packing

pytest.importorskip("reverb", reason="Reverb is not installed; `make setup-distributed` does it")

from mava.topologies.distributed.replay import Sampler, Stopped, Writer
from mava.topologies.distributed.tables import QUEUE_BATCHES, QUEUE_ROLLOUTS
from tests.topologies.distributed.replaying import (
    PACKING,
    SOON,
    Replays,
    drawn,
    free_port,
    in_thread,
    numbered,
    on_policy,
    sequences,
    writing,
)


@pytest.mark.parametrize(("length", "period"), [(1, 1), (3, 1), (4, 2), (5, 3), (6, 6)])
def test_items_are_sequences_that_run_across_the_ends_of_episodes(
    replay: Replays, length, period
) -> None:
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


def test_the_oldest_make_room(replay: Replays) -> None:
    plan = BufferPlan(Sampling.UNIFORM, 21, 10, 8, 2, 1)  # two rows of 10, with 9 items each
    held = replay(plan, environments=2)
    sampler, writer = held.sampler(), held.writer(2)
    writer.write(numbered(0, 40, 2))
    writer.close()
    assert held.server.counts()[:2] == (18, 78)
    drawn(sampler, 3)  # some of those were drawn ahead
    newest = sequences(plan, 1, 40, 2)[-18:]
    assert {tuple(x) for x, _, _ in drawn(sampler, 40)} == {tuple(x) for x in newest}


def test_sampling_begins_with_min_size_transitions_of_all_environments(replay: Replays) -> None:
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


def test_probabilities_are_priorities_to_the_power_of_the_exponent(replay: Replays) -> None:
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


def test_new_priorities_hold_for_what_is_drawn_later(replay: Replays) -> None:
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
def test_priorities_that_are_none_are_refused(replay: Replays, bad: float) -> None:
    sampler = replay(BufferPlan(Sampling.PRIORITISED, 100, 3, 2)).sampler()
    with pytest.raises(ValueError, match="finite"):
        sampler.set_priorities(np.array([1, 2], np.uint64), np.array([1.0, bad]))


@pytest.mark.slow
@pytest.mark.parametrize("more_steps", [0, 1])
def test_on_policy_each_item_comes_once_and_in_order(replay: Replays, more_steps: int) -> None:
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
def test_a_full_queue_blocks_until_there_is_room_or_told_to_stop(replay: Replays) -> None:
    plan = on_policy(2, 2)
    held = replay(plan, Rounds(4, 4, 1), environments=2)
    size = QUEUE_BATCHES * 2 + QUEUE_ROLLOUTS * 2
    with writing(held, 2) as (asked, written):
        while held.server.counts().size < size:
            assert asked.acquire(timeout=SOON)
        assert asked.acquire(timeout=SOON)  # at least once a second, and it goes on waiting
        # Each call writes two rollouts of two environments; the fourth fills the queue half-way.
        assert written == [0, 4, 8]
        assert held.server.counts() == (size, size, 0)
        assert len(drawn(held.sampler(), 3)) == 6
        assert asked.acquire(timeout=SOON)


def test_a_writer_can_be_stopped_while_no_server_answers() -> None:
    with pytest.raises(Stopped):
        Writer("localhost:1", BufferPlan(Sampling.UNIFORM, 9, 1, 1), 1, lambda: True)


def test_sampling_times_out_where_no_server_answers_and_closes(replay: Replays) -> None:
    sampler = Sampler("localhost:1", BufferPlan(Sampling.UNIFORM, 9, 1, 1), PACKING)
    assert sampler.sample(0.1) is None
    sampler.close()


def test_a_sample_that_timed_out_comes_later(replay: Replays) -> None:
    held = replay(BufferPlan(Sampling.UNIFORM, 100, 4, 2))
    sampler, writer = held.sampler(), held.writer(1)
    for _ in range(3):
        assert sampler.sample(0.05) is None
    writer.write(numbered(0, 4, 1))
    writer.close()
    assert {x[0] for x, _, _ in drawn(sampler, 20)} == {0, 1, 2, 3}


@pytest.mark.slow
@pytest.mark.parametrize("sampling", [Sampling.UNIFORM, Sampling.PRIORITISED])
def test_a_checkpoint_holds_items_priorities_and_counts(
    replay: Replays, sampling: Sampling
) -> None:
    plan = BufferPlan(sampling, 100, 8, 4, sequence_length=4, period=4, priority_exponent=1.0)
    held = replay(plan, Rounds(8, 16, 1), tolerance=0.5)
    with writing(held, 1) as (asked, _):
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
        expected = (4 * n + 1) / total if prioritised else 1 / before.size
        assert probability == pytest.approx(expected)
    with writing(held, 1):  # the limiter goes on where it was
        while held.server.counts().inserted < 500:
            drawn(sampler, 5)
        _, inserted, sampled = held.server.counts()
    assert sampled / inserted == pytest.approx(1.0, rel=0.05)


def test_a_server_can_go_back_again_and_again_and_leaves_no_files(
    replay: Replays, monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    plan = BufferPlan(Sampling.UNIFORM, 100, 8, 4)
    held, saved = replay(plan), []
    for first in (0, 10):
        writer = held.writer(1)
        writer.write(numbered(first, 10, 1))
        held.disconnect()
        saved.append(held.server.save())
    for inserted in (10, 20, 10):
        held.server.load(saved[inserted // 10 - 1])
        assert held.server.counts() == (inserted, inserted, 0)
        writer = held.writer(1)
        writer.write(numbered(0, 1, 1))
        held.disconnect()
        assert held.server.counts().inserted == inserted + 1
    assert not list(tmp_path.iterdir())


def test_bytes_that_are_no_checkpoint_are_refused_and_the_server_lives(replay: Replays) -> None:
    held = replay(BufferPlan(Sampling.UNIFORM, 100, 8, 4))
    whole, empty = held.server.save(), io.BytesIO()
    zipfile.ZipFile(empty, "w").close()
    for damaged in (b"something else", whole[:-10], empty.getvalue()):
        with pytest.raises(CheckpointError, match="damaged"):
            held.server.load(damaged)
    assert held.server.counts() == (0, 0, 0)


def test_f13_rows_of_another_layout_are_refused_and_the_server_lives(replay: Replays) -> None:
    held = replay(BufferPlan(Sampling.UNIFORM, 100, 4, 4), environments=2)
    writer, rows = held.writer(2), numbered(0, 4, 2)
    for bad in (rows[..., :-1], rows[:, :1], rows.astype(np.int8), rows[0]):
        with pytest.raises(ValueError, match=r"not uint8\[T, 2, 5\]"):
            writer.write(bad)
    writer.write(rows)
    writer.close()
    assert held.server.counts().inserted == 8


def test_a_sampler_of_another_program_is_refused(replay: Replays) -> None:
    held = replay(BufferPlan(Sampling.UNIFORM, 100, 4, 4))
    writer = held.writer(1)
    writer.write(numbered(0, 8, 1))
    other = Packing({"x": jax.ShapeDtypeStruct((9,), np.uint8)})
    sampler = Sampler(held.server.address, held.plan, other)
    held.connected.append(sampler)
    with pytest.raises(Exception, match="9"):
        sampler.sample(SOON)


SERVE = """
import sys
from tests.topologies.distributed.replaying import PACKING, on_policy
from mava.core.plans import Rounds
from mava.topologies.distributed.replay import ReplayServer, make_table

plan, port = on_policy(2, 2), int(sys.argv[1])
server = ReplayServer(lambda: make_table(plan, Rounds(4, 4, 1), PACKING.num_bytes, 0.1, 2), port)
print("ready", flush=True)
sys.stdin.read()
"""


@pytest.mark.slow
def test_a_server_in_another_process_may_be_killed() -> None:
    """Items come once and in order over the wire too; and once the server is gone, writing can be
    stopped, sampling times out, and both close."""
    port, plan, stop = free_port(), on_policy(2, 2), threading.Event()
    root = pathlib.Path(__file__).parents[3]
    server = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", SERVE, str(port)],
        cwd=root,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    try:
        assert server.stdout is not None
        assert server.stdout.readline() == b"ready\n"
        writer = Writer(f"localhost:{port}", plan, 2, stop.is_set)
        sampler = Sampler(f"localhost:{port}", plan, PACKING)
        outcome: list[str] = []

        def write() -> None:
            try:
                for first in range(10_000):
                    writer.write(numbered(2 * first, 2, 2))
            except Stopped:
                outcome.append("stopped")

        thread = in_thread(write)
        items = [x for x, _, _ in drawn(sampler, 50)]
        assert items == sequences(plan, 2, 100, 2)
    finally:
        server.kill()
        server.communicate()
    while sampler.sample(0.5) is not None:
        pass  # drawn ahead
    assert sampler.sample(0.5) is None
    assert not outcome
    stop.set()
    thread.join(SOON)
    assert outcome == ["stopped"]
    writer.close()
    sampler.close()
