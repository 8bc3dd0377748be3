"""Whether what an environment shows are finite numbers."""

from __future__ import annotations

import math

import numpy as np


def all_finite(array: np.ndarray) -> bool:
    """Whether a float array has neither NaN nor infinities."""
    # One dot product is the cheapest pass; it may overflow, so a bad sum is only a suspicion.
    return math.isfinite(np.vdot(array, array)) or bool(np.isfinite(array).all())
