"""Makes ``launcher_fakes`` importable, and hands out what most tests here need."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import launcher_fakes


@pytest.fixture(autouse=True)
def clean_fakes() -> None:
    launcher_fakes.EVENTS.clear()
    launcher_fakes.SEEDS.clear()
