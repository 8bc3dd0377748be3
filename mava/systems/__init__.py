"""Systems from the shelf: each a list of components."""

from __future__ import annotations

from collections.abc import Callable

from mava.core.system import System
from mava.systems.madqn import madqn

SYSTEMS: dict[str, Callable[..., System]] = {"madqn": madqn}

__all__ = ["SYSTEMS", "madqn"]
