"""Schedules: values that change with a count. Frozen, so that they compare, hash and pickle."""

from __future__ import annotations

import dataclasses
from typing import Protocol, runtime_checkable

import jax.numpy as jnp
import optax

from mava.errors import ConfigurationError
from mava.types import Array


@runtime_checkable
class Schedule(Protocol):
    """Count (an integer, traced or not) -> float32 ``[]``."""

    def __call__(self, count: Array) -> Array: ...


@dataclasses.dataclass(frozen=True)
class Constant:
    """The same value always."""

    value: float

    def __call__(self, count: Array) -> Array:
        return jnp.asarray(self.value, jnp.float32)


@dataclasses.dataclass(frozen=True)
class Linear:
    """A straight line from ``start`` at count 0 to ``end`` at count ``steps``, then ``end``."""

    start: float
    end: float
    steps: int

    def __post_init__(self) -> None:
        _check_steps(self)

    def __call__(self, count: Array) -> Array:
        value = optax.linear_schedule(self.start, self.end, self.steps)(count)
        return jnp.asarray(value, jnp.float32)


@dataclasses.dataclass(frozen=True)
class Exponential:
    """Falls (or rises) by equal ratios from ``start`` at count 0 to ``end`` at count ``steps``,
    then ``end``.

    Raises:
        ConfigurationError: when ``start`` or ``end`` is not positive.
    """

    start: float
    end: float
    steps: int

    def __post_init__(self) -> None:
        _check_steps(self)
        if self.start <= 0 or self.end <= 0:
            raise ConfigurationError(
                f"Exponential needs a positive start and end, got {self.start} and {self.end}; "
                f"use Linear to reach 0"
            )

    def __call__(self, count: Array) -> Array:
        ratio = self.end / self.start
        value = optax.exponential_decay(self.start, self.steps, ratio, end_value=self.end)(count)
        return jnp.asarray(value, jnp.float32)


SCHEDULES: dict[str, type] = {cls.__name__: cls for cls in (Constant, Linear, Exponential)}


def as_schedule(value: float | Schedule) -> Schedule:
    """A number becomes a constant; a schedule stays as it is."""
    return value if isinstance(value, Schedule) else Constant(float(value))


def check_range(owner: str, field: str, value: float | Schedule, low: float, high: float) -> None:
    """Refuses a number or a schedule whose ends lie outside ``[low, high]``.

    Raises:
        ConfigurationError: naming the owner and the field.
    """
    if isinstance(value, bool | str) or not isinstance(value, int | float | Schedule):
        raise ConfigurationError(
            f"{owner}.{field} is {value!r}; give a number or a schedule such as Linear(1.0, 0.05, "
            "10000)"
        )
    numbers = (
        [getattr(value, name) for name in ("value", "start", "end") if hasattr(value, name)]
        if isinstance(value, Schedule)
        else [value]
    )
    for number in numbers:
        if not low <= number <= high:
            raise ConfigurationError(
                f"{owner}.{field} has {number}; it must lie in [{low}, {high}]"
            )


def _check_steps(schedule: Linear | Exponential) -> None:
    if schedule.steps < 1:
        raise ConfigurationError(
            f"{type(schedule).__name__}.steps is {schedule.steps}; it must be at least 1"
        )
