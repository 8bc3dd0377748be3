"""A buffer plan as a table: sizes, rates, and what it refuses."""

from __future__ import annotations

import pytest

from mava.core.plans import BufferPlan, Rounds, Sampling
from mava.errors import ConfigurationError

pytest.importorskip("reverb", reason="Reverb is not installed; `make setup-distributed` does it")

from mava.topologies.distributed.tables import (
    MAX_CHUNK_BYTES,
    error_buffer,
    items_in,
    make_table,
    samples_per_insert,
)
from tests.topologies.distributed.replaying import (
    OFTEN,
    SOON,
    Replays,
    drawn,
    in_thread,
    numbered,
    on_policy,
    writing,
)


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
def test_samples_per_insert_stay_within_five_percent(
    replay: Replays, plan, rounds, expected
) -> None:
    """A trainer and an executor that are as fast as they can be."""
    held = replay(plan, rounds, environments=2, tolerance=0.1)
    sampler = held.sampler()
    with writing(held, 2):
        while min(held.server.counts()[1:]) < 2000:
            drawn(sampler, 10)
        _, inserted, sampled = held.server.counts()
    assert samples_per_insert(plan, rounds) == expected
    assert sampled / inserted == pytest.approx(expected, rel=0.05)


def test_a_trainer_that_does_only_what_is_due_is_never_refused(replay: Replays) -> None:
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
def test_items_in_transitions_by_hand(
    plan: BufferPlan, transitions: int, environments: int, items: int
) -> None:
    assert items_in(plan, transitions, environments) == items


def test_sizes_of_a_table_are_in_items() -> None:
    # 4 rows of 5 at first, and of 25 in the end; sequences of 3.
    plan = BufferPlan(Sampling.UNIFORM, 100, 18, 4, 3)
    info = make_table(plan, OFTEN, 10, 0.1, num_environments=4).info
    assert info.rate_limiter_info.min_size_to_sample == 4 * 3
    assert info.max_size == 4 * 23


def test_plans_that_the_table_cannot_hold_are_refused() -> None:
    plan = BufferPlan(Sampling.UNIFORM, 1000, 100, 4, 8)
    with pytest.raises(ConfigurationError, match="raise min_size to 160"):
        make_table(plan, OFTEN, 10, 0.1, num_environments=20)
    with pytest.raises(ConfigurationError, match="tolerance"):
        make_table(plan, OFTEN, 10, 0.0, num_environments=2)
    with pytest.raises(ConfigurationError, match=r"sequence_length.*single_process"):
        make_table(on_policy(1024, 2), OFTEN, MAX_CHUNK_BYTES // 1000, 0.1, num_environments=2)
