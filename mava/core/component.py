"""Components, hooks, and the rules that hold from the moment a class is defined."""

from __future__ import annotations

import abc
import difflib
import enum
import inspect
import re
from typing import Any, ClassVar, TypeVar

from mava.errors import WiringError

HookType = TypeVar("HookType", bound="Hook")


class Arity(enum.Enum):
    """How the implementations of one hook combine."""

    ONE = "exactly one"
    OPTIONAL = "none or one"
    CHAIN = "chain: the output of one is the input of the next, in the order written"
    KEYED = "keyed: several, by what they own"
    MERGE = "merged: dictionaries joined, no name twice"
    OBSERVE = "observed: all are called, nothing comes back"


HOOKS: dict[str, type[Hook]] = {}
"""Every hook by its method's name, in the order of the lifecycle."""

HELPERS: dict[str, list[type[Hook]]] = {}
"""The hooks that have a method beside their own, such as ``init_memory``, by its name."""


class Component(abc.ABC):  # noqa: B024  # its hooks have the abstract methods
    """A part of a system: a frozen dataclass whose fields are its configuration.

    It registers for a hook by inheriting the hook. ``after`` names component classes that must
    stand before this one in a system that has them; the order is checked, never changed.

    Raises:
        WiringError: when a subclass is defined that has the method of a hook it does not inherit, a
            method that looks like a misspelt hook, or a hook's method with other parameters.
    """

    after: ClassVar[tuple[type[Component], ...]] = ()

    @property
    def name(self) -> str:
        """The class's name in snake case: unique in a system, and part of its random addresses."""
        return snake_case(type(self).__name__)

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        for method, function in list(vars(cls).items()):
            if inspect.isfunction(function) and not method.startswith("_"):
                _check_method(cls, method, function)


class Hook(Component):
    """A point of the lifecycle: an abstract class with one abstract method.

    Declared as ``class SelectAction(Hook, arity=Arity.ONE, stage="act")``.
    """

    arity: ClassVar[Arity]
    stage: ClassVar[str]
    method: ClassVar[str]

    def __init_subclass__(cls, arity: Arity | None = None, stage: str = "", **kwargs: Any) -> None:
        if arity is not None:
            (method,) = [
                n for n, f in vars(cls).items() if getattr(f, "__isabstractmethod__", False)
            ]
            cls.arity, cls.stage, cls.method = arity, stage, method
            HOOKS[method] = cls
            for name, function in vars(cls).items():
                if inspect.isfunction(function) and not name.startswith("_") and name != method:
                    HELPERS.setdefault(name, []).append(cls)
        super().__init_subclass__(**kwargs)


def snake_case(name: str) -> str:
    """A class's name in lower case, words apart.

    >>> snake_case("EpsilonGreedy"), snake_case("QNetwork"), snake_case("MADQNLoss")
    ('epsilon_greedy', 'q_network', 'madqn_loss')
    """
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()


def hooks_of(component: Component | type[Component]) -> list[type[Hook]]:
    """The hooks that a component implements, in the order of the lifecycle."""
    cls = component if isinstance(component, type) else type(component)
    return [hook for hook in HOOKS.values() if issubclass(cls, hook)]


def _check_method(cls: type[Component], method: str, function: Any) -> None:
    hook = HOOKS.get(method)
    if hook is None:
        hook = next((h for h in HELPERS.get(method, ()) if issubclass(cls, h)), None)
    if hook is None:
        _check_spelling(cls, method)
    elif not issubclass(cls, hook):
        raise WiringError(
            f"{cls.__name__} defines {method}() but does not inherit {hook.__name__}, so it would "
            f"never run; write class {cls.__name__}({hook.__name__}, ...)"
        )
    elif hook is not cls:
        expected = list(inspect.signature(getattr(hook, method)).parameters)
        found = list(inspect.signature(function).parameters)
        if found != expected:
            raise WiringError(
                f"{cls.__name__}.{method}({', '.join(found)}) does not match its hook; "
                f"write {method}({', '.join(expected)})"
            )


def _check_spelling(cls: type[Component], method: str) -> None:
    own = {name: h for name, h in HOOKS.items() if issubclass(cls, h)}
    own |= {name: h for name, hooks in HELPERS.items() for h in hooks if issubclass(cls, h)}
    missing = [name for name, h in own.items() if getattr(cls, name) is getattr(h, name)]
    close = difflib.get_close_matches(method, missing, n=1, cutoff=0.8)
    if not close:
        unused = [name for name in HOOKS if not hasattr(cls, name)]
        close = difflib.get_close_matches(method, unused, n=1, cutoff=0.9)
    if close:
        raise WiringError(
            f"{cls.__name__} defines {method}(), which no hook calls; did you mean {close[0]}() of "
            f"{(own | HOOKS)[close[0]].__name__}? A helper's name should start with an underscore"
        )
