"""Systems from the shelf: each a list of components."""

from __future__ import annotations

from collections.abc import Callable

from mava.core.system import System
from mava.systems.ippo import ippo
from mava.systems.maddpg import maddpg
from mava.systems.madqn import madqn
from mava.systems.mappo import mappo
from mava.systems.matd3 import matd3
from mava.systems.qmix import qmix
from mava.systems.rec_iql import rec_iql
from mava.systems.rec_madqn import rec_madqn
from mava.systems.vdn import vdn

SYSTEMS: dict[str, Callable[..., System]] = {
    "ippo": ippo,
    "maddpg": maddpg,
    "madqn": madqn,
    "mappo": mappo,
    "matd3": matd3,
    "qmix": qmix,
    "rec_iql": rec_iql,
    "rec_madqn": rec_madqn,
    "vdn": vdn,
}

__all__ = [
    "SYSTEMS",
    "ippo",
    "maddpg",
    "madqn",
    "mappo",
    "matd3",
    "qmix",
    "rec_iql",
    "rec_madqn",
    "vdn",
]
