"""What is compared when a run goes on, where classes and functions came back by value."""

import functools
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mava.launcher.likeness import Likeness

SCRIPT = """
import dataclasses
import functools

FACTOR = 2

def helper(x):
    return x * FACTOR

@dataclasses.dataclass(frozen=True)
class Part:
    rate: float = 0.5

class Base:
    metadata = {"name": "lights"}

class Lights(Base):
    def __init__(self, length=5):
        self.length = length

    @property
    def long(self):
        return self.length > helper(3)

    @staticmethod
    def add(x):
        return [y + 1 for y in x]

def closure(limit):
    return lambda x: x + limit
"""


def run(text: str = SCRIPT) -> dict[str, Any]:
    """The names of a script; those of two runs are equal to nothing of each other."""
    names: dict[str, Any] = {"__name__": "builtins"}
    exec(compile(text, "a script", "exec"), names)
    return names


def alike(old: Any, new: Any) -> bool:
    likeness = Likeness()
    found = likeness.alike(old, new)
    assert not likeness.unsure
    return found


def made(names: dict[str, Any]) -> list[Any]:
    return [
        names["Lights"],
        names["Lights"](3),
        functools.partial(names["Lights"], length=4),
        names["Part"](0.25),
        (names["Part"], {"a": names["helper"]}),
        names["closure"](3),
        names["Lights"](3).add,
        np.arange(3.0),
    ]


@pytest.mark.parametrize("index", range(8))
def test_the_same_script_makes_what_is_alike(index: int) -> None:
    moved = "\n\n# moved down\n" + SCRIPT
    assert alike(made(run())[index], made(run(moved))[index])


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("self.length > helper(3)", "self.length < helper(3)"),
        ("helper(3)", "helper(4)"),
        ("y + 1", "y + 2"),
        ("FACTOR = 2", "FACTOR = 3"),
        ("length=5", "length=6"),
        ('"lights"', '"other"'),
    ],
)
def test_changed_code_is_not_alike(before: str, after: str) -> None:
    assert not alike(run()["Lights"], run(SCRIPT.replace(before, after))["Lights"])


def test_other_values_are_not_alike() -> None:
    old, new = run(), run()
    assert not alike(old["Lights"](3), new["Lights"](4))
    assert not alike(old["Part"](0.25), new["Part"](0.5))
    assert not alike(old["closure"](1), new["closure"](2))
    assert not alike([np.arange(2)], [np.arange(3)])
    assert not alike(1, "1")
    assert not alike({"a": 1}, {"a": 2})


class Opaque:
    __slots__ = ("value",)

    def __init__(self, value: int) -> None:
        self.value = value

    def __reduce__(self) -> Any:
        raise TypeError("not this one")


def test_what_cannot_be_told_is_named() -> None:
    likeness = Likeness()
    assert likeness.alike({"x": Opaque(1)}, {"x": Opaque(1)})
    assert len(likeness.unsure) == 1
    assert "Opaque" in likeness.unsure[0]


@pytest.mark.slow
def test_a_run_of_a_script_goes_on(tmp_path: Path) -> None:
    script = Path(__file__).parents[2] / "examples" / "own_environment.py"

    def go_on(*command: str) -> str:
        command = (sys.executable, *command, f"--run_dir={tmp_path / 'run'}")
        return subprocess.run(command, check=True, capture_output=True, text=True).stderr

    go_on(str(script), "--total_steps=300")
    more = go_on(str(script), "--total_steps=500", "--resume")
    assert "resumed at environment step 300" in more
    assert "nothing shows" not in more
    by_directory = go_on("-m", "mava.cli", "train", "--resume", "--total_steps=600")
    assert "resumed at environment step 500" in by_directory
