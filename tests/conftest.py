"""Settings for every test.

Optax relies on the promotion of dtypes, so the contract for components is strict about it, and
tests as a whole are not.
"""

from __future__ import annotations

import os
import pathlib
from collections.abc import Iterator

import jax
import pytest

# Both are read when the first array is made. Most functions here run a few times only, so that
# compiling them is what costs.
os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} --xla_backend_optimization_level=0"
jax.config.update("jax_cpu_enable_async_dispatch", False)

LENIENT = {"cli", "examples", "faults", "launcher", "systems", "topologies"}
"""Folders of tests that run whole systems, and so Flashbax, which promotes ranks."""


@pytest.fixture(autouse=True)
def no_silent_broadcasting(request: pytest.FixtureRequest) -> Iterator[None]:
    folder = request.path.relative_to(pathlib.Path(__file__).parent).parts[0]
    with jax.numpy_rank_promotion("allow" if folder in LENIENT else "raise"):
        yield
