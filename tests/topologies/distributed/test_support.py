"""Where the distributed topology is refused. Any interpreter pretends to be any other."""

from __future__ import annotations

import pathlib
import platform
import subprocess
import sys

import pytest

from mava.errors import ConfigurationError
from mava.topologies.distributed import support

ENGINES = ("launchpad", "courier", "reverb", "tensorflow")


@pytest.fixture(autouse=True)
def supported(monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> None:
    """A system and a Python that suit, where all engines can be found."""
    monkeypatch.setattr(platform, "system", lambda: "Linux")
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    monkeypatch.setattr(platform, "python_implementation", lambda: "CPython")
    monkeypatch.setattr(sys, "version_info", (3, 10, 13, "final", 0))
    monkeypatch.syspath_prepend(tmp_path)
    for name in ENGINES:
        monkeypatch.delitem(sys.modules, name, raising=False)
        (tmp_path / f"{name}.py").write_text("raise AssertionError('imported')")


def refusal() -> str:
    with pytest.raises(ConfigurationError) as refused:
        support.check_supported()
    return str(refused.value)


def test_what_is_supported_passes() -> None:
    support.check_supported()


@pytest.mark.parametrize(
    ("function", "value", "here"),
    [
        ("system", "Darwin", "Darwin x86_64 with CPython 3.10"),
        ("machine", "aarch64", "Linux aarch64 with CPython 3.10"),
        ("python_implementation", "PyPy", "Linux x86_64 with PyPy 3.10"),
    ],
)
def test_another_system_is_refused(
    function: str, value: str, here: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(platform, function, lambda: value)
    assert f"this is {here}." in refusal()


@pytest.mark.parametrize("version", [(3, 9, 18), (3, 11, 7), (3, 13, 0)])
def test_another_python_is_refused(
    version: tuple[int, int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "version_info", version)
    assert f"this is Linux x86_64 with CPython 3.{version[1]}." in refusal()


@pytest.mark.parametrize("name", ENGINES)
def test_a_missing_package_is_named(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, name, None)
    assert f"here {name} cannot be found." in refusal()


def test_the_refusal_says_what_is_needed_and_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "system", lambda: "Darwin")
    for part in (
        "Linux x86_64 with CPython 3.10",
        "pip install 'mava[distributed]'",
        "make setup-distributed",
        "single_process",
    ):
        assert part in refusal()


def test_this_interpreter_is_judged_without_importing_an_engine() -> None:
    code = f"""
import sys
from mava.errors import ConfigurationError
from mava.topologies.distributed.support import check_supported
try:
    check_supported()
except ConfigurationError:
    pass
print(*(name for name in {ENGINES} if name in sys.modules))
"""
    judged = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    )
    assert judged.stdout.split() == []
