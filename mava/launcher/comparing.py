"""Whether two systems train alike, and where they differ."""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

from mava.core.component import Component, hooks_of
from mava.core.lifecycle import Observe, Stop
from mava.core.system import System
from mava.launcher.likeness import Likeness


class Comparison(NamedTuple):
    """What two systems differ in, a phrase for each, as far as it changes training.

    Attributes:
        differences: what is not the same.
        unsure: what may be the same or not.
    """

    differences: list[str]
    unsure: list[str]


def compare(old: System, new: System) -> Comparison:
    """Observers and stop conditions are left out: a resumed run may have others."""
    found = []
    likeness = Likeness()
    if old.name != new.name:
        found.append(f"the system was {old.name}, is {new.name}")
    if not _alike(likeness, "the environment", old.environment, new.environment):
        found.append(_environments(old.environment, new.environment))
    before = {c.name: c for c in old.components if _trains(c)}
    after = {c.name: c for c in new.components if _trains(c)}
    found += [f"{name} is missing" for name in before if name not in after]
    found += [f"{name} is new" for name in after if name not in before]
    for name in before:
        if name in after:
            found += _fields(likeness, before[name], after[name])
    if not found and list(before) != list(after):
        found.append(f"the order of components was {', '.join(before)}, is {', '.join(after)}")
    return Comparison(found, likeness.unsure)


def same_stops(old: System, new: System) -> bool:
    """Whether two systems stop for the same reasons."""
    stops = [[c for c in system.components if isinstance(c, Stop)] for system in (old, new)]
    likeness = Likeness()
    return likeness.alike(*stops) and not likeness.unsure


def _trains(component: Component) -> bool:
    return not set(hooks_of(component)) <= {Observe, Stop}


def _fields(likeness: Likeness, old: Component, new: Component) -> list[str]:
    if type(old).__qualname__ != type(new).__qualname__:
        return [f"{old.name} was {type(old).__qualname__}, is {type(new).__qualname__}"]
    if not _alike(likeness, new.name, type(old), type(new)):
        return [f"the code of {new.name} has changed"]
    found = []
    for field in dataclasses.fields(new):  # type: ignore[arg-type]
        was, now = getattr(old, field.name, None), getattr(new, field.name)
        if not _alike(likeness, f"{new.name}.{field.name}", was, now):
            found.append(f"{new.name}.{field.name} was {was!r}, is {now!r}")
    return found


def _environments(old: Any, new: Any) -> str:
    if old.name != new.name:
        return f"the environment was {old.name}, is {new.name}"
    was, now = (getattr(environment, "kwargs", environment) for environment in (old, new))
    if repr(was) == repr(now):
        return f"the code of the environment {new.name} has changed"
    return f"the environment {new.name} was made with {was!r}, is made with {now!r}"


def _alike(likeness: Likeness, name: str, old: Any, new: Any) -> bool:
    """What cannot be compared goes on as unsure."""
    try:
        return likeness.alike(old, new)
    except Exception:
        likeness.unsure.append(name)
        return True
