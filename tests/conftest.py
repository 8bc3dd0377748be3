"""Settings for every test.

Strict promotion of dtypes cannot be held for all tests, since Optax relies on promotion; the
contract for components holds it for every other hook.
"""

from __future__ import annotations

import pathlib
from collections.abc import Iterator

import jax
import pytest

# Read when the first array is made, so before any test module is imported.
jax.config.update("jax_cpu_enable_async_dispatch", False)

LENIENT = {"cli", "examples", "faults", "launcher", "systems", "topologies"}
"""Folders of tests that run whole systems, and so Flashbax, which promotes ranks."""


@pytest.fixture(autouse=True)
def no_silent_broadcasting(request: pytest.FixtureRequest) -> Iterator[None]:
    folder = request.path.relative_to(pathlib.Path(__file__).parent).parts[0]
    with jax.numpy_rank_promotion("allow" if folder in LENIENT else "raise"):
        yield
