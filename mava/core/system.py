"""A system: components in order, made for an environment. A value: compared, printed, changed by
copying."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any, Protocol, TypeVar

from mava.core import lifecycle as lc
from mava.core import wiring
from mava.core.component import HOOKS, Arity, Component, hooks_of
from mava.core.program import Program, build_program
from mava.core.settings import parse_field, parse_setting
from mava.errors import ConfigurationError, WiringError, nearest
from mava.types import EnvironmentSpec

AnyComponent = TypeVar("AnyComponent", bound=Component)


class BuiltEnvironment(Protocol):
    @property
    def spec(self) -> EnvironmentSpec: ...


class EnvironmentFactory(Protocol):
    """Makes environments; a value that compares and pickles."""

    @property
    def name(self) -> str: ...

    def build(self) -> Any:
        """A new environment, of ``mava.environments.base``."""


@dataclasses.dataclass(frozen=True)
class System:
    """An ordered tuple of components, made for an environment.

    Attributes:
        name: such as ``"madqn"``.
        components: their order is the order in which chains run.
        environment: makes the environments that the system acts in.

    Raises:
        WiringError: for something that is not a component.
    """

    name: str
    components: tuple[Component, ...]
    environment: EnvironmentFactory

    def __post_init__(self) -> None:
        object.__setattr__(self, "components", tuple(self.components))
        for component in self.components:
            wiring.check_component(component)

    def __iter__(self) -> Iterator[Component]:
        return iter(self.components)

    def __getitem__(self, key: str | type[AnyComponent]) -> AnyComponent:
        """The component of a name, or the only one of a class or hook.

        Raises:
            ConfigurationError: none, or several.
        """
        found = [c for c in self.components if _matches(c, key)]
        if len(found) != 1:
            asked = key if isinstance(key, str) else key.__name__
            raise ConfigurationError(
                f"{self.name} has {len(found) or 'no'} components {asked!r}"
                f"{nearest(asked, [c.name for c in self.components])}"
            )
        return found[0]  # type: ignore[return-value]

    def with_(
        self,
        *components: Component,
        before: str | type[Component] | None = None,
        after: str | type[Component] | None = None,
    ) -> System:
        """Puts components in.

        Each replaces, where it stands, the one of its name, or the one that holds the same place:
        the same hook where only one may implement it, or the same parameters to train or to
        optimise. Otherwise it is put before or after the component named, or at the end.

        Raises:
            ConfigurationError: when there is nothing of that name or class.
        """
        ordered = list(self.components)
        at = len(ordered)
        if before is not None or after is not None:
            beside: Component = self[before if before is not None else after]  # type: ignore[index]
            at = ordered.index(beside) + (before is None)
        for new in components:
            wiring.check_component(new)
            places = [index for index, old in enumerate(ordered) if _same_place(old, new)]
            if places:
                ordered[places[0]] = new
                at -= sum(index < at for index in places[1:])
                ordered = [c for index, c in enumerate(ordered) if index not in places[1:]]
            else:
                ordered.insert(at, new)
                at += 1
        return dataclasses.replace(self, components=tuple(ordered))

    def without(self, *keys: str | type[Component]) -> System:
        """Takes components out, by name, class or hook.

        Raises:
            ConfigurationError: when there is nothing of that name or class.
        """
        for key in keys:
            if not any(_matches(c, key) for c in self.components):
                asked = key if isinstance(key, str) else key.__name__
                raise ConfigurationError(
                    f"{self.name} has no component "
                    f"{asked!r}{nearest(asked, [c.name for c in self.components])}"
                )
        kept = tuple(c for c in self.components if not any(_matches(c, key) for key in keys))
        return dataclasses.replace(self, components=kept)

    def replace(self, key: str | type[Component], **fields: Any) -> System:
        """Changes fields of one component: ``system.replace("epsilon_greedy", epsilon=0.1)``.

        Raises:
            ConfigurationError: an unknown component or field, with the nearest name.
        """
        old: Component = self[key]
        known = [f.name for f in dataclasses.fields(old)]  # type: ignore[arg-type]
        for field in fields:
            if field not in known:
                raise ConfigurationError(
                    f"{old.name} has no field {field!r}{nearest(field, known)}"
                )
        new = dataclasses.replace(old, **fields)  # type: ignore[type-var]
        changed = tuple(new if c is old else c for c in self.components)
        return dataclasses.replace(self, components=changed)

    def set(self, *settings: str) -> System:
        """Applies settings such as ``"epsilon_greedy.epsilon=Linear(1.0, 0.05, 10000)"``.

        A value is a Python literal, a schedule, ``true``, ``false``, ``none`` or a bare word.
        Settings of one component are applied together, since one alone may not fit what the others
        replace.

        Raises:
            ConfigurationError: a malformed setting, an unknown component or field, with the nearest
                name, or a value that the field does not take.
        """
        changes: dict[str, dict[str, Any]] = {}
        for setting in settings:
            name, field, text = parse_setting(setting)
            component: Component = self[name]
            value = parse_field(name, component, field, text)
            changes.setdefault(name, {})[field] = value
        changed = self
        for name, fields in changes.items():
            changed = changed.replace(name, **fields)
        return changed

    def describe(self) -> str:
        """The wiring as text: every hook in the order of the lifecycle, with who implements it."""
        lines = [f"{self.name} on {self.environment.name}"]
        stage = ""
        for hook in HOOKS.values():
            found = wiring.find(self.components, hook)
            if not found:
                continue
            if hook.stage != stage:
                stage = hook.stage
                lines.append(f"  {stage}")
            arrow = " -> " if hook.arity is Arity.CHAIN else ", "
            lines.append(f"    {hook.method:<22}{arrow.join(c.name for c in found)}")
        lines.append("  components")
        lines.extend(f"    {component!r}" for component in self.components)
        return "\n".join(lines)


def num_environments_of(system: System) -> int:
    """Environments that the system steps together, read before it is built.

    Raises:
        WiringError: the system's components do not fit together.
    """
    wiring.check(system.components)
    return wiring.one(system.components, lc.Act).num_environments


def build(system: System, spec: EnvironmentSpec | None = None) -> Program:
    """Checks a system and composes its program. Nothing is compiled and no step is taken.

    Args:
        system: the system.
        spec: the environment's specification; when absent an environment is made to read it.

    Raises:
        WiringError: naming what is wrong, where, and what to do.
        HookError: a component that fails on the environment's shapes.
    """
    if spec is None:
        environment = system.environment.build()
        spec = environment.spec
        if hasattr(environment, "close"):
            environment.close()
    return build_program(system.name, system.components, spec)


def _matches(component: Component, key: str | type[Component]) -> bool:
    return component.name == key if isinstance(key, str) else isinstance(component, key)


def _same_place(old: Component, new: Component) -> bool:
    if old.name == new.name:
        return True
    single = (Arity.ONE, Arity.OPTIONAL)
    if any(isinstance(old, hook) for hook in hooks_of(new) if hook.arity in single):
        return True
    if isinstance(old, lc.Loss) and isinstance(new, lc.Loss):
        return bool(set(old.trains) & set(new.trains))
    if isinstance(old, lc.Optimise) and isinstance(new, lc.Optimise):
        both_all = old.optimises is None and new.optimises is None
        return both_all or bool(set(old.optimises or ()) & set(new.optimises or ()))
    return False


__all__ = ["System", "WiringError", "build"]
