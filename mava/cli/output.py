"""What commands print, and keeping standard output clean for other programs."""

from __future__ import annotations

import contextlib
import math
import os
import sys
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from mava.components.observers.records import dumps
from mava.core.evaluation import Evaluation


@contextlib.contextmanager
def clean_stdout(wanted: bool = True) -> Iterator[None]:
    """While entered, what anything prints goes to standard error, C libraries included.

    Args:
        wanted: ``False`` changes nothing.
    """
    if not wanted:
        yield
        return
    sys.stdout.flush()
    kept = os.dup(1)
    os.dup2(2, 1)
    try:
        with contextlib.redirect_stdout(sys.stderr):
            yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)


def print_json(record: Mapping[str, Any]) -> None:
    """One JSON object as one line; what is not a finite number becomes ``null``."""
    print(dumps(_clean(record)), flush=True)


def _clean(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _clean(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_clean(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def describe_evaluation(evaluation: Evaluation) -> str:
    """Mean return, its interval, and how many episodes they are of."""
    from mava.components.observers.terminal import number
    from mava.plotting import interval_of

    returns = np.asarray(evaluation.returns)
    low, high = interval_of(returns)
    return (
        f"mean return {number(evaluation.mean_return)} [{number(low)}, {number(high)}] over "
        f"{len(returns)} episodes, {np.mean(evaluation.lengths):.1f} steps each"
    )
