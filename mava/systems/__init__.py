"""Systems from the shelf: each a list of components."""

from __future__ import annotations

from collections.abc import Callable

from mava.core.system import System
from mava.systems.madqn import madqn
from mava.systems.rec_iql import rec_iql

SYSTEMS: dict[str, Callable[..., System]] = {"madqn": madqn, "rec_iql": rec_iql}

__all__ = ["SYSTEMS", "madqn", "rec_iql"]
