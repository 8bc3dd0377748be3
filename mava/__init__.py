"""Mava: multi-agent reinforcement learning in JAX, with systems composed of small parts.

What is exported here is loaded when it is first used, so importing Mava costs next to nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mava import environments, errors, systems
    from mava.core.component import Component
    from mava.core.system import System, build
    from mava.launcher.launch import launch
    from mava.launcher.policy import Policy, load_policy, random_policy
    from mava.launcher.rendering import Rendering, render
    from mava.launcher.result import Result

__version__ = "0.1.0"

__all__ = [
    "Component",
    "Policy",
    "Rendering",
    "Result",
    "System",
    "__version__",
    "build",
    "environments",
    "errors",
    "launch",
    "load_policy",
    "random_policy",
    "render",
    "systems",
]

_HOMES = {
    "Component": "mava.core.component",
    "Policy": "mava.launcher.policy",
    "Rendering": "mava.launcher.rendering",
    "Result": "mava.launcher.result",
    "System": "mava.core.system",
    "build": "mava.core.system",
    "launch": "mava.launcher.launch",
    "load_policy": "mava.launcher.policy",
    "random_policy": "mava.launcher.policy",
    "render": "mava.launcher.rendering",
}
_MODULES = ("environments", "errors", "systems")


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    if name in _MODULES:
        return importlib.import_module(f"mava.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
