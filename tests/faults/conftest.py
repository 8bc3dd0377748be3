from collections.abc import Iterator

import jax
import pytest


@pytest.fixture(autouse=True)
def flashbax_broadcasts() -> Iterator[None]:
    """Whole systems hold buffers, and Flashbax promotes ranks."""
    with jax.numpy_rank_promotion("allow"):
        yield
