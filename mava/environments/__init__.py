"""Environments: the two interfaces, adapters, and environments by name.

Importing this loads no environment package; each is loaded when it is made.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from mava.environments.base import Environment, JaxEnvironment
from mava.environments.episodes import OpenEpisode
from mava.environments.factory import EnvironmentFactory, as_factory
from mava.environments.finite import check_finite
from mava.environments.host import HostEnvironment, to_host
from mava.environments.registry import list_environments, make
from mava.environments.seeds import episode_seed, episode_seeds
from mava.environments.vector import VectorEnvironment
from mava.environments.wrappers import DeathMasking, FrameStack, Wrapper, wrap

if TYPE_CHECKING:
    from mava.environments.pettingzoo import AECEnvironment, PettingZooEnvironment, adapt

__all__ = [
    "AECEnvironment",
    "DeathMasking",
    "Environment",
    "EnvironmentFactory",
    "FrameStack",
    "HostEnvironment",
    "JaxEnvironment",
    "OpenEpisode",
    "PettingZooEnvironment",
    "VectorEnvironment",
    "Wrapper",
    "adapt",
    "as_factory",
    "check_finite",
    "episode_seed",
    "episode_seeds",
    "list_environments",
    "make",
    "to_host",
    "wrap",
]

_LATER = ("AECEnvironment", "PettingZooEnvironment", "adapt")


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return getattr(importlib.import_module("mava.environments.pettingzoo"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
