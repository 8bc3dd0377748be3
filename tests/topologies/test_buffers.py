"""In-process buffers hold what their plan says."""

from __future__ import annotations

import flashbax
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mava.core.plans import BufferPlan, Sampling
from mava.topologies.buffers import buffer_bytes, make_buffer
from tests.topologies.running import assert_equal, ran, small

ITEM = {"x": jax.ShapeDtypeStruct((), jnp.int32), "image": jax.ShapeDtypeStruct((4,), jnp.uint8)}


def transitions(first: int, environments: int, steps: int) -> dict[str, np.ndarray]:
    """Numbered ``1000 * environment + time``."""
    x = first + np.arange(steps)[None] + 1000 * np.arange(environments)[:, None]
    return {"x": x.astype(np.int32), "image": np.zeros((environments, steps, 4), np.uint8)}


@pytest.mark.slow
@pytest.mark.parametrize("sampling", [Sampling.UNIFORM, Sampling.PRIORITISED])
@pytest.mark.parametrize("length", [1, 3])
def test_items_are_consecutive_steps_of_one_environment(sampling: Sampling, length: int) -> None:
    exponent = 0.6 if sampling is Sampling.PRIORITISED else 0.0
    plan = BufferPlan(sampling, 64, 6, 64, sequence_length=length, priority_exponent=exponent)
    buffer = make_buffer(plan, num_environments=2)
    state = buffer.init(ITEM)
    for first in range(0, 45, 5):  # 45 steps into rows of 32: the oldest 13 are gone
        state = buffer.add(state, transitions(first, 2, 5))
    sample = buffer.sample(state, jax.random.key(0))
    x = np.asarray(sample.batch["x"])
    assert x.shape == (64, length)
    np.testing.assert_array_equal(np.diff(x, axis=1), 1)
    assert x.min() % 1000 >= 13
    assert {0, 1} == set((x[:, 0] // 1000).tolist())
    assert sample.batch["image"].dtype == jnp.uint8


def test_adding_is_what_flashbax_does() -> None:
    """Also around the end of the rows, and more at once than there were before."""
    plan = BufferPlan(Sampling.UNIFORM, 14, 2, 2)
    ours, theirs = make_buffer(plan, 2), flashbax.make_trajectory_buffer(2, 2, 1, 1, 1, None, 7)
    state = ours.init(ITEM)
    expected = theirs.init(jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), ITEM))
    for first, steps in ((0, 3), (3, 5), (8, 1), (9, 7), (16, 2)):
        state = ours.add(state, transitions(first, 2, steps))
        expected = theirs.add(expected, transitions(first, 2, steps))
        assert_equal(state, expected)


def test_uniform_probability_is_one_over_the_items() -> None:
    buffer = make_buffer(BufferPlan(Sampling.UNIFORM, 40, 6, 5, sequence_length=3), 2)
    state = buffer.add(buffer.init(ITEM), transitions(0, 2, 10))
    probability = buffer.sample(state, jax.random.key(0)).probability
    np.testing.assert_allclose(probability, np.full(5, 1 / (2 * 8)), rtol=1e-6)


@pytest.mark.slow
def test_priorities_decide_what_is_sampled() -> None:
    buffer = make_buffer(BufferPlan(Sampling.PRIORITISED, 16, 4, 16, priority_exponent=1.0), 1)
    state = buffer.add(buffer.init(ITEM), transitions(0, 1, 16))
    favourite = 5
    for key in range(8):  # until every item has been seen and marked
        drawn = buffer.sample(state, jax.random.key(key))
        priorities = jnp.where(jnp.asarray(drawn.batch["x"])[:, 0] == favourite, 100.0, 1e-6)
        state = buffer.set_priorities(state, drawn.indices, priorities)
    x = np.asarray(buffer.sample(state, jax.random.key(99)).batch["x"])
    assert (x == favourite).mean() > 0.9


def test_on_policy_holds_the_last_rollout_once() -> None:
    plan = BufferPlan.on_policy(sequence_length=5).placed(num_environments=2)
    assert (plan.batch_size, plan.capacity, plan.min_size) == (2, 10, 10)
    buffer = make_buffer(plan, 2)
    state = buffer.init(ITEM)
    for first in (0, 5):
        state = buffer.add(state, transitions(first, 2, 5))
    batch = buffer.sample(state, jax.random.key(0)).batch
    np.testing.assert_array_equal(batch["x"], transitions(5, 2, 5)["x"])


@pytest.mark.slow
@pytest.mark.parametrize("prioritised", [False, True])
def test_the_estimate_is_what_is_allocated(prioritised: bool) -> None:
    """F30: within 20 %, for 100 agents."""
    from mava.testing.toys import Echo

    def crowd() -> Echo:
        return Echo(ids=tuple(range(100)))

    runner = ran(small(crowd, capacity=2_000, prioritised=prioritised), 8)
    allocated = sum(np.asarray(x).nbytes for x in jax.tree.leaves(runner.state().arrays["buffer"]))
    estimate = runner.memory_estimate()["buffer"]
    assert abs(estimate - allocated) < 0.2 * allocated
    assert estimate == buffer_bytes(runner.program.plan, runner.program.item)
