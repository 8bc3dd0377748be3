"""Settings for every test.

Optax relies on the promotion of dtypes, so the contract for components is strict about it, and
tests as a whole are not.
"""

from __future__ import annotations

import gc
import itertools
import os
import pathlib
import tempfile
from collections.abc import Iterator

import jax
import pytest

# All are read when the first array is made. Most functions here run a few times only, so that
# compiling them is what costs. The devices are for the compiled topology.
_FLAGS = "--xla_backend_optimization_level=0 --xla_force_host_platform_device_count=8"
os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {_FLAGS}"
jax.config.update("jax_cpu_enable_async_dispatch", False)

COMPILED = "MAVA_TEST_COMPILED"
"""Where the tests of one session keep what they compile: many run the same programs."""

LENIENT = {"cli", "examples", "faults", "launcher", "systems", "topologies"}
"""Folders of tests that run whole systems, and so Flashbax, which promotes ranks."""


def pytest_configure(config: pytest.Config) -> None:
    if COMPILED not in os.environ:
        place = tempfile.TemporaryDirectory(prefix="mava-compiled-")
        config.add_cleanup(place.cleanup)
        os.environ[COMPILED] = place.name
    jax.config.update("jax_compilation_cache_dir", os.environ[COMPILED])
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.1)


COMPILING = {
    "test_compiled_equals_plain_python",
    "test_hooks_are_traced_once",
    "test_it_reads_and_writes_no_global_state",
    "test_randomness_comes_from_the_key",
    "test_vmap_equals_a_loop",
}
"""Parts of the contract for components that compile each of them anew."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if getattr(item, "originalname", "") in COMPILING:
            item.add_marker(pytest.mark.slow)


_MOST_MAPPINGS = 15_000
_TESTS = itertools.count(1)


@pytest.fixture(autouse=True)
def few_compiled_programs() -> Iterator[None]:
    """Forgets what was compiled once there is much of it: each program takes several mappings of
    memory, of which Linux allows a process 65,530. Looks after every 20th test."""
    yield
    if next(_TESTS) % 20 == 0 and _mappings() > _MOST_MAPPINGS:
        jax.clear_caches()
        gc.collect()


def _mappings() -> int:
    """Of this process's memory; 0 where the system does not tell."""
    place = pathlib.Path("/proc/self/maps")
    return place.read_bytes().count(b"\n") if place.exists() else 0


@pytest.fixture(autouse=True)
def no_silent_broadcasting(request: pytest.FixtureRequest) -> Iterator[None]:
    folder = request.path.relative_to(pathlib.Path(__file__).parent).parts[0]
    with jax.numpy_rank_promotion("allow" if folder in LENIENT else "raise"):
        yield
