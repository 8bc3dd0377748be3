from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import pytest

from mava.core import settings
from mava.functional.schedules import Linear
from mava.systems import madqn


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1e-3", 1e-3),
        (" 5 ", 5),
        ("-2.5", -2.5),
        ("True", True),
        ("false", False),
        ("none", None),
        ("None", None),
        ("[64, 64]", (64, 64)),
        ("(3,)", (3,)),
        ("shared", "shared"),
        ("'a, b'", "a, b"),
        ("../path with=odd signs", "../path with=odd signs"),
        ("", ""),
        ("Linear(1.0, 0.05, steps=100)", Linear(1.0, 0.05, 100)),
    ],
)
def test_values(text: str, value: Any) -> None:
    parsed = settings.parse_value(text)
    assert parsed == value
    assert type(parsed) is type(value)


@pytest.mark.parametrize(
    ("value", "hint", "fit"),
    [
        (1, int, True),
        (True, int, False),
        (1.5, int, False),
        (1, float, True),
        ("x", float, False),
        (None, int | None, True),
        ("x", int | None, False),
        ((1, 2), tuple[int, ...], True),
        ((1, "x"), tuple[int, ...], False),
        ("a", Literal["a", "b"], True),
        ("c", Literal["a", "b"], False),
        ("x", Callable[[int], int], False),
        ("x", Any, True),
    ],
)
def test_types(value: Any, hint: Any, fit: bool) -> None:
    assert settings.fits(value, hint) is fit


def test_a_setting_changes_one_field() -> None:
    system = madqn("matrix/climbing")
    changed = system.set("epsilon_greedy.epsilon=Linear(1.0, 0.1, 500)")
    assert changed["epsilon_greedy"].epsilon == Linear(1.0, 0.1, 500)
    assert changed.without("epsilon_greedy") == system.without("epsilon_greedy")


@pytest.mark.parametrize("order", [1, -1])
def test_settings_of_one_component_are_applied_together(order: int) -> None:
    changes = ["uniform_replay.capacity=64", "uniform_replay.batch_size=8"]
    changes.append("uniform_replay.min_size=16")
    changed = madqn("matrix/climbing").set(*changes[::order])
    assert changed["uniform_replay"].capacity == 64


def test_observers_are_set_as_any_component() -> None:
    changed = madqn("matrix/climbing").set("metrics_log.lines=7")
    assert changed["metrics_log"].lines == 7
