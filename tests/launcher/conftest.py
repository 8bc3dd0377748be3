"""Makes ``launcher_fakes`` importable, and hands out what most tests here need."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import launcher_fakes

import mava
from mava.core.system import System
from mava.launcher import launch as launching


@pytest.fixture(autouse=True)
def clean_fakes() -> None:
    launcher_fakes.EVENTS.clear()
    launcher_fakes.SEEDS.clear()
    launcher_fakes.MADE.clear()


@pytest.fixture(scope="module")
def system() -> System:
    made = mava.systems.madqn("matrix/climbing", hidden_sizes=(4,))
    return made.with_(launcher_fakes.FakeEvaluate(), launcher_fakes.Recording())


@pytest.fixture
def fake_topology(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launching, "TOPOLOGIES", {"fake": "launcher_fakes:make_runner"})
