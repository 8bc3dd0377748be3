"""Short episodes, one-step episodes, episodes that are over at their reset: nothing is lost."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest

from mava.core.plans import BufferPlan, Sampling
from mava.environments import as_factory
from mava.testing.toys import Echo
from mava.topologies.buffers import make_buffer
from tests.faults.collecting import Kept, collected
from tests.topologies.running import small, started, stored

L = 3
LENGTHS = (1, 2, L - 1, L, 0, L + 1, 2 * L + 3)


@pytest.mark.parametrize("environments", [1, 2])
@pytest.mark.parametrize("n_step", [1, L])
def test_f20_what_is_stored_is_what_was_played(environments: int, n_step: int) -> None:
    echo = Kept(Echo, length=LENGTHS, truncates=True)
    steps = 60 * environments
    runner = collected(small(echo, num_environments=environments, n_step=n_step), steps)
    played = [(e, t) for e in range(40) for t in range(LENGTHS[e % len(LENGTHS)])][:60]
    held = stored(runner, steps)
    for row, toy in enumerate(echo.made[:environments]):
        seen = held["observation"]["agents"][row, :, 0, :2].astype(int)
        assert [tuple(pair) for pair in seen.tolist()] == played
        assert held["start"][row].tolist() == [t == 0 for _, t in played]
        ends = [t + 1 == LENGTHS[e % len(LENGTHS)] for e, t in played]
        assert held["end"][row].tolist() == ends
        after = held["next_observation"]["agents"][row, :, 0, :2].astype(int)
        assert after.tolist() == [[e, t + 1] for e, t in played]
        assert held["reward"]["agents"][row, :, 0].tolist() == [t + 1 for _, t in played]
        assert len(toy.actions) == 60
    assert runner.episodes == environments * sum(ends)


@pytest.mark.slow
@pytest.mark.parametrize("options", [{"n_step": L}, {"n_step": L, "prioritised": True}])
def test_f20_training_goes_on_over_episodes_of_any_length(options: dict[str, Any]) -> None:
    factory = as_factory(Echo, length=LENGTHS)
    runner = started(small(factory, capacity=50, num_environments=2, **options))
    metrics = runner.advance(200).metrics
    assert runner.trainer_steps == 47
    assert metrics
    assert all(np.isfinite(value).all() for value in metrics.values())


@pytest.mark.slow
@pytest.mark.parametrize("sampling", [Sampling.UNIFORM, Sampling.PRIORITISED])
@pytest.mark.parametrize("period", [1, 2, L])
def test_f20_every_step_is_in_some_item_that_can_be_sampled(
    sampling: Sampling, period: int
) -> None:
    """Sequences of L steps over episodes of 1, 2, L - 1, L, L + 1 and 2L + 3; what is not sampled
    yet are the last steps, fewer than a period."""
    exponent = 0.6 if sampling is Sampling.PRIORITISED else 0.0
    played = [(e, t) for e, length in enumerate(LENGTHS) for t in range(length)]
    plan = BufferPlan(sampling, 256, 6, 256, L, period, exponent)
    buffer = make_buffer(plan, num_environments=2)
    item = {"step": jax.ShapeDtypeStruct((2,), np.int32)}
    steps = np.broadcast_to(np.asarray(played, np.int32), (2, len(played), 2))
    state = buffer.add(buffer.init(item), {"step": steps})
    found = np.asarray(buffer.sample(state, jax.random.key(0)).batch["step"]).reshape(-1, 2)
    sampled = {tuple(step) for step in found.tolist()}
    late = (len(played) - L) % period
    assert sampled == set(played[: len(played) - late])
