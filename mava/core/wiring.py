"""The rules that a system's components must keep, checked before anything is traced."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

from mava.core import lifecycle as lc
from mava.core.component import HOOKS, Arity, Component, Hook, hooks_of
from mava.errors import WiringError, nearest

AnyHook = TypeVar("AnyHook", bound=Hook)


def find(components: Iterable[Component], hook: type[AnyHook]) -> list[AnyHook]:
    """The components that implement a hook, in the order written."""
    return [component for component in components if isinstance(component, hook)]


def names(components: Iterable[Component]) -> str:
    return ", ".join(component.name for component in components) or "none"


def check(components: Sequence[Component]) -> None:
    """Raises:
    WiringError: for the first rule broken, with what is wrong, where, and what to do.
    """
    for component in components:
        check_component(component)
    _check_unique(components)
    for hook in HOOKS.values():
        _check_arity(components, hook)
    _check_after(components)


def one(components: Iterable[Component], hook: type[AnyHook]) -> AnyHook:
    """The only component of a hook, after ``check``."""
    (component,) = find(components, hook)
    return component


def optional(components: Iterable[Component], hook: type[AnyHook]) -> AnyHook | None:
    """The component of an optional hook, or ``None``."""
    return next(iter(find(components, hook)), None)


def check_component(component: Any) -> None:
    if isinstance(component, type):
        raise WiringError(
            f"{component.__name__} is a class; a system takes components: {component.__name__}(...)"
        )
    if not isinstance(component, Component):
        raise WiringError(f"{component!r} is not a Component; inherit the hook that it implements")
    kind = type(component)
    params = vars(kind).get("__dataclass_params__")
    if params is None or not params.frozen:
        raise WiringError(
            f"{kind.__name__} is not a frozen dataclass; write "
            "@dataclasses.dataclass(frozen=True) above it"
        )
    if not hooks_of(component):
        raise WiringError(f"{component.name} implements no hook, so it would never run")
    try:
        hash(component)
    except TypeError as error:
        fields = [
            f.name
            for f in dataclasses.fields(kind)  # type: ignore[arg-type]
            if not _hashable(getattr(component, f.name))
        ]
        raise WiringError(
            f"{component.name} has unhashable fields {fields}; use tuples and frozen values"
        ) from error


def _hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


def _check_unique(components: Sequence[Component]) -> None:
    seen: set[str] = set()
    for component in components:
        if component.name in seen:
            raise WiringError(
                f"two components are named {component.name!r}; names address randomness and "
                f"settings, so remove one, or subclass it under another name"
            )
        seen.add(component.name)


def _check_arity(components: Sequence[Component], hook: type[Hook]) -> None:
    found = find(components, hook)
    if hook.arity is Arity.ONE and not found:
        raise WiringError(
            f"no component implements {hook.__name__}.{hook.method}(), and exactly one must; "
            f"add one with system.with_(...)"
        )
    if hook.arity in (Arity.ONE, Arity.OPTIONAL) and len(found) > 1:
        raise WiringError(
            f"{names(found)} all implement {hook.__name__}.{hook.method}(), and only one may; "
            f"keep one with system.without(...)"
        )


def _check_after(components: Sequence[Component]) -> None:
    for index, component in enumerate(components):
        for earlier in component.after:
            for other in components[index + 1 :]:
                if isinstance(other, earlier):
                    raise WiringError(
                        f"{component.name} must come after {other.name}; move it below in the list"
                    )


def check_params(components: Sequence[Component], owners: dict[str, str]) -> None:
    """Checks who trains and who optimises what; ``owners`` is the owning component by set name."""
    losses, optimisers = find(components, lc.Loss), find(components, lc.Optimise)
    if not losses:
        raise WiringError("no component implements Loss.loss(), so nothing would be trained")
    trained = _keyed(((loss.name, loss.trains) for loss in losses), owners, "trained")
    everything = tuple(trained)
    optimised = _keyed(
        ((o.name, everything if o.optimises is None else o.optimises) for o in optimisers),
        owners,
        "optimised",
    )
    for name, loss in trained.items():
        if name not in optimised:
            raise WiringError(
                f"{loss} trains {name!r}, but no optimiser updates it; add one, or name it in the "
                f"optimises field of {names(optimisers)}"
            )
    for name, optimiser in optimised.items():
        if name not in trained:
            raise WiringError(
                f"{optimiser} optimises {name!r}, but no loss trains it; add a loss with "
                f"trains=({name!r},), or leave it out of optimises"
            )
    by_name = {component.name: component for component in components}
    for name, owner in owners.items():
        if name not in trained and getattr(by_name[owner], "trainable", True):
            raise WiringError(
                f"{owner} owns {name!r}, but no loss trains it; add a loss with "
                f"trains=({name!r},), or set "
                f"trainable = False on {type(by_name[owner]).__name__}"
            )
    for target in find(components, lc.UpdateTargets):
        for name in target.targets or ():
            _check_known(target.name, name, owners)


def _keyed(
    claims: Iterable[tuple[str, Sequence[str]]], owners: dict[str, str], verb: str
) -> dict[str, str]:
    taken: dict[str, str] = {}
    for component, sets in claims:
        for name in sets:
            _check_known(component, name, owners)
            if name in taken:
                raise WiringError(
                    f"parameters {name!r} are {verb} by both {taken[name]} and {component}; keep "
                    "one"
                )
            taken[name] = component
    return taken


def _check_known(component: str, name: str, owners: dict[str, str]) -> None:
    if name not in owners:
        raise WiringError(
            f"{component} names parameters {name!r}, which no component owns{nearest(name, owners)}"
        )


def check_fields(components: Sequence[Component], recorded: Iterable[str]) -> None:
    """Checks that every batch field is there before it is used."""
    available = set(recorded)
    users: list[lc.PrepareBatch | lc.Value | lc.Mix | lc.Loss] = [
        *find(components, lc.PrepareBatch),
        *find(components, lc.Value),
        *find(components, lc.Mix),
        *find(components, lc.Loss),
    ]
    for user in users:
        for field in sorted(user.requires - available):
            providers = [c.name for c in find(components, lc.PrepareBatch) if field in c.provides]
            remedy = (
                f"move {providers[0]} before it"
                if providers
                else f"add a component that provides it{nearest(field, available)}"
            )
            raise WiringError(
                f"{user.name} needs batch field {field!r}, which nothing before it provides; "
                f"{remedy}"
            )
        if isinstance(user, lc.PrepareBatch):
            available |= user.provides
