"""Whether two systems train alike, and where they differ."""

from __future__ import annotations

import dataclasses
from typing import Any

import cloudpickle

from mava.core.component import Component, hooks_of
from mava.core.lifecycle import Observe, Stop
from mava.core.system import System


def differences(old: System, new: System) -> list[str]:
    """What differs between two systems as far as it changes training, a phrase for each.

    Observers and stop conditions are left out: a resumed run may have others.
    """
    found = []
    if old.name != new.name:
        found.append(f"the system was {old.name}, is {new.name}")
    if not _same(old.environment, new.environment):
        found.append(_environments(old.environment, new.environment))
    before = {c.name: c for c in old.components if _trains(c)}
    after = {c.name: c for c in new.components if _trains(c)}
    found += [f"{name} is missing" for name in before if name not in after]
    found += [f"{name} is new" for name in after if name not in before]
    for name in before:
        if name in after:
            found += _fields(before[name], after[name])
    if not found and list(before) != list(after):
        found.append(f"the order of components was {', '.join(before)}, is {', '.join(after)}")
    return found


def same_stops(old: System, new: System) -> bool:
    """Whether two systems stop for the same reasons."""
    stops = [[c for c in system.components if isinstance(c, Stop)] for system in (old, new)]
    return len(stops[0]) == len(stops[1]) and all(map(_same, *stops))


def _trains(component: Component) -> bool:
    return not set(hooks_of(component)) <= {Observe, Stop}


def _fields(old: Component, new: Component) -> list[str]:
    if type(old).__qualname__ != type(new).__qualname__:
        return [f"{old.name} was {type(old).__qualname__}, is {type(new).__qualname__}"]
    found = []
    for field in dataclasses.fields(new):  # type: ignore[arg-type]
        was, now = getattr(old, field.name, None), getattr(new, field.name)
        if not _same(was, now):
            found.append(f"{new.name}.{field.name} was {was!r}, is {now!r}")
    return found


def _environments(old: Any, new: Any) -> str:
    if old.name != new.name:
        return f"the environment was {old.name}, is {new.name}"
    was, now = (getattr(environment, "kwargs", environment) for environment in (old, new))
    return f"the environment {new.name} was made with {was!r}, is made with {now!r}"


def _same(old: Any, new: Any) -> bool:
    """Equal, or alike to the byte when pickled: a lambda that was loaded equals itself only so."""
    try:
        return bool(old == new) or cloudpickle.dumps(old) == cloudpickle.dumps(new)
    except Exception:
        return False
