"""Numbers that are none, and memory that is not there, stop a run before they do harm."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest

import mava
from mava.environments import as_factory
from mava.errors import ConfigurationError, EnvironmentFault
from mava.testing.toys import Crash, Echo
from tests.faults.collecting import Kept, collected
from tests.topologies.running import assert_equal, params, small, started


@pytest.mark.parametrize("fault", ["nan_reward", "nan_observation", "inf_observation"])
def test_f29_a_number_that_is_none_is_named_and_never_stored(fault: str) -> None:
    runner = collected(small(as_factory(Crash, at=40, fault=fault)), 39)
    what = "reward" if fault == "nan_reward" else r"observation"
    number = fault[:3]
    # Step 40 of the run is step 5 of its sixth episode of 7.
    message = f"episode 5 .*crash, step 5: agent 'agent_0': {what} has the value {number}"
    with pytest.raises(EnvironmentFault, match=message):
        runner.advance(100)
    assert runner.environment_steps == 39
    state = runner.state()
    held = jax.tree.leaves((state.arrays["buffer"], state.extra["rollout"]))
    assert all(np.isfinite(leaf).all() for leaf in held)


@pytest.mark.slow
def test_f29_a_reward_that_is_no_number_never_reaches_the_parameters() -> None:
    runner = started(small(as_factory(Crash, at=40, fault="nan_reward")))
    runner.advance(39)
    before = params(runner)
    with pytest.raises(EnvironmentFault, match="agent 'agent_0': reward has the value nan"):
        runner.advance(100)
    assert runner.trainer_steps == 6
    assert_equal(params(runner), before)


@pytest.mark.parametrize("options", [{}, {"prioritised": True}])
def test_f30_a_buffer_above_the_memory_is_refused_with_the_numbers(options: Any) -> None:
    echo = Kept(Echo, ids=tuple(range(100)))
    system = small(echo, capacity=10**10, **options)
    message = r"needs about \d+\.\d TB of memory \(buffer .* TB, parameters .*\), and .* available"
    with pytest.raises(ConfigurationError, match=message):
        mava.launch(system, total_steps=1_000)
    assert not any(toy.seeds for toy in echo.made)  # not one was reset
