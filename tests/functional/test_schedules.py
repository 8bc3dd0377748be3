"""Schedules at their ends, in the middle, and with counts that are traced."""

from __future__ import annotations

import pickle
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mava.errors import ConfigurationError
from mava.functional.schedules import (
    SCHEDULES,
    Constant,
    Exponential,
    Linear,
    Schedule,
    as_schedule,
    check_range,
)

LINEAR = Linear(1.0, 0.0, 100)
FALLING = Exponential(1.0, 0.01, 100)
RISING = Exponential(0.1, 10.0, 100)


@pytest.mark.parametrize(
    ("schedule", "count", "value"),
    [
        (Constant(0.3), 0, 0.3),
        (Constant(0.3), 10**9, 0.3),
        (LINEAR, 0, 1.0),
        (LINEAR, 1, 0.99),
        (LINEAR, 50, 0.5),
        (LINEAR, 99, 0.01),
        (LINEAR, 100, 0.0),
        (LINEAR, 10**9, 0.0),
        (Linear(0.2, 0.8, 4), 1, 0.35),
        (FALLING, 0, 1.0),
        (FALLING, 50, 0.1),
        (FALLING, 100, 0.01),
        (FALLING, 10**6, 0.01),
        (RISING, 0, 0.1),
        (RISING, 50, 1.0),
        (RISING, 100, 10.0),
        (RISING, 10**6, 10.0),
        (Exponential(0.5, 0.5, 10), 7, 0.5),
    ],
)
def test_value(schedule: Any, count: int, value: float) -> None:
    for given in (count, np.int32(count), jnp.asarray(count, jnp.int32)):
        result = schedule(given)
        assert result.dtype == jnp.float32
        assert result.shape == ()
        assert float(result) == pytest.approx(value, rel=1e-5, abs=1e-7)
    assert float(jax.jit(schedule)(jnp.asarray(count))) == pytest.approx(value, rel=1e-5, abs=1e-7)


@pytest.mark.parametrize("schedule", [Constant(0.3), LINEAR, FALLING])
def test_is_a_value(schedule: Any) -> None:
    copy = pickle.loads(pickle.dumps(schedule))
    assert copy == schedule
    assert hash(copy) == hash(schedule)
    assert isinstance(schedule, Schedule)
    assert SCHEDULES[type(schedule).__name__] is type(schedule)


@pytest.mark.parametrize("kind", [Linear, Exponential])
@pytest.mark.parametrize("steps", [0, -5])
def test_steps_below_one_are_refused(kind: Any, steps: int) -> None:
    with pytest.raises(ConfigurationError, match=f"{kind.__name__}.steps is {steps}"):
        kind(1.0, 0.1, steps)


@pytest.mark.parametrize(("start", "end"), [(0.0, 1.0), (1.0, 0.0), (1.0, -0.1)])
def test_exponential_needs_positive_ends(start: float, end: float) -> None:
    with pytest.raises(ConfigurationError, match="use Linear to reach 0"):
        Exponential(start, end, 10)


def test_a_number_becomes_a_constant() -> None:
    assert as_schedule(1) == Constant(1.0)
    assert as_schedule(LINEAR) is LINEAR


@pytest.mark.parametrize("value", [0.0, 1, 0.5, LINEAR, Constant(1.0), FALLING])
def test_values_in_range_pass(value: Any) -> None:
    check_range("epsilon_greedy", "epsilon", value, 0.0, 1.0)


@pytest.mark.parametrize(
    "value", [-0.1, 1.5, float("nan"), Constant(2.0), Linear(1.0, -0.5, 10), Linear(2.0, 0.0, 1)]
)
def test_values_out_of_range_are_refused(value: Any) -> None:
    with pytest.raises(ConfigurationError, match=r"epsilon_greedy.epsilon has .*; it must lie in"):
        check_range("epsilon_greedy", "epsilon", value, 0.0, 1.0)


@pytest.mark.parametrize("value", ["0.5", True, None, (1.0, 0.0)])
def test_what_is_no_number_is_refused(value: Any) -> None:
    with pytest.raises(ConfigurationError, match="give a number or a schedule such as Linear"):
        check_range("epsilon_greedy", "epsilon", value, 0.0, 1.0)
