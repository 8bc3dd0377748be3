"""Calls hooks, and says which component failed."""

from __future__ import annotations

import bdb
from typing import Any

from mava.core.component import Component
from mava.errors import HookError, MavaError


def call(component: Component, method: str, *args: Any) -> Any:
    """``component.method(*args)``.

    Raises:
        HookError: names the component and the hook; the failure itself is its cause. Mava's own
            errors and a debugger's exit pass unchanged.
    """
    try:
        return getattr(component, method)(*args)
    except (MavaError, bdb.BdbQuit):
        raise
    except Exception as error:
        first_line = (str(error).splitlines() or [""])[0]
        raise HookError(
            f"{component.name}.{method}() failed: {type(error).__name__}: {first_line}"
        ) from error
