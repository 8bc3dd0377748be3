"""TensorFlow warns while it is imported, which tests count as an error, so it is imported here."""

import contextlib
import os
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from mava.core.plans import BufferPlan, Rounds

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

with warnings.catch_warnings(), contextlib.suppress(ImportError):
    warnings.simplefilter("ignore")
    import reverb  # noqa: F401


@pytest.fixture
def replay() -> Iterator[Callable[..., Any]]:
    """Makes replay servers, which end with the test."""
    from tests.topologies.distributed.replaying import OFTEN, Replay

    made: list[Replay] = []

    def make(
        plan: BufferPlan, rounds: Rounds = OFTEN, environments: int = 1, **tolerance: float
    ) -> Replay:
        made.append(Replay(plan, rounds, environments, **tolerance))
        return made[-1]

    yield make
    for one in made:
        one.close()
