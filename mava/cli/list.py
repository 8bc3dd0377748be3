"""``mava list``."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from absl import flags as absl_flags

from mava.cli import flags
from mava.errors import ConfigurationError, nearest

if TYPE_CHECKING:
    from mava.core.component import Component

USAGE = "mava list [systems] [environments] [components]"
SUMMARY = "Shows the names that the other commands take, with a line about each."
KINDS = ("systems", "environments", "components")


def define(values: flags.FlagValues) -> None:
    absl_flags.DEFINE_boolean("json", False, "print one JSON object", flag_values=values)


def run(values: flags.FlagValues, arguments: list[str]) -> int:
    for kind in arguments:
        if kind not in KINDS:
            raise ConfigurationError(f"cannot list {kind!r}{nearest(kind, KINDS)}")
    listed = {kind: _LISTS[kind]() for kind in KINDS if kind in (arguments or KINDS)}
    if values.json:
        from mava.cli.output import print_json

        print_json(listed)
        return 0
    print("\n\n".join(_section(kind, entries) for kind, entries in listed.items()))
    return 0


def systems() -> dict[str, str]:
    from mava.systems import SYSTEMS

    return {name: _first_sentence(function) for name, function in SYSTEMS.items()}


def environments() -> dict[str, str]:
    from mava.environments import list_environments

    return dict.fromkeys(list_environments(), "")


def components() -> dict[str, str]:
    """By class name, with the hooks that it implements."""
    from mava.core.component import hooks_of

    entries = {}
    for kind in component_classes():
        methods = ", ".join(hook.method for hook in hooks_of(kind))
        entries[kind.__name__] = f"{_first_sentence(kind)} [{methods}]"
    return dict(sorted(entries.items()))


def component_classes() -> list[type[Component]]:
    """The public components of Mava: concrete dataclasses that implement a hook."""
    import mava.components

    names = [m.name for m in pkgutil.walk_packages(mava.components.__path__, "mava.components.")]
    return [
        value
        for name in names
        for value in vars(importlib.import_module(name)).values()
        if _is_public(value, of_module=name)
    ]


def _is_public(kind: Any, of_module: str) -> bool:
    from mava.core.component import Component, hooks_of

    return (
        inspect.isclass(kind)
        and kind.__module__ == of_module
        and issubclass(kind, Component)
        and bool(hooks_of(kind))
        and not kind.__name__.startswith("_")
        and not inspect.isabstract(kind)
        and "__dataclass_params__" in vars(kind)
    )


_LISTS: dict[str, Callable[[], dict[str, str]]] = {
    "systems": systems,
    "environments": environments,
    "components": components,
}


def _section(kind: str, entries: Mapping[str, str]) -> str:
    width = max(map(len, entries), default=0)
    lines = [f"  {name:<{width}}  {text}".rstrip() for name, text in entries.items()]
    return "\n".join([kind, *lines])


def _first_sentence(described: Any) -> str:
    """Of the docstring, on one line."""
    text = " ".join((inspect.getdoc(described) or "").split("\n\n")[0].split())
    end = text.find(". ")
    return text if end < 0 else text[: end + 1]
