"""Recipes for environments: values that can be compared, pickled and built many times."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import types
from collections.abc import Callable
from typing import Any, Protocol

from mava.environments.base import Environment, JaxEnvironment
from mava.environments.registry import (
    ADAPTER_OPTIONS,
    WRAPPER_OPTIONS,
    AnyEnvironment,
    check_name,
    make,
    wrapped,
)
from mava.errors import ConfigurationError

_METHODS = ("reset", "step")
_LONGEST = 80


class Buildable(Protocol):
    """Makes environments of one kind."""

    def build(self) -> AnyEnvironment: ...


@dataclasses.dataclass(frozen=True)
class EnvironmentFactory:
    """How to build an environment.

    Attributes:
        source: a name for ``make``, or a callable that returns a ``ParallelEnv``, an ``AECEnv``, or
            an environment of Mava. To cross into other processes it must pickle: a function or
            class of a module, not a lambda.
        kwargs: its arguments, by name in sorted order. Those that ``adapt`` names (``groups``,
            ``global_state``, ``reset_kwargs``, ``parallel``, ``waiting``) go to the adapter, and
            ``frame_stack`` and ``death_masking`` wrap what was made, as in ``make``.
    """

    source: str | Callable[..., Any]
    kwargs: tuple[tuple[str, Any], ...] = ()

    @property
    def name(self) -> str:
        """For messages and records; the same in every process, at most 80 characters.

        A name for ``make`` is itself, a function or class its ``__qualname__``; a
        ``functools.partial`` shows its arguments, ``Lights(size=3)``; a lambda has its module and
        first line, ``mine.<lambda>:12``, so two on one line share a name. ``kwargs`` are not part
        of it.
        """
        return _bounded(_name_of(self.source))

    def build(self) -> AnyEnvironment:
        """A new environment.

        Raises:
            ConfigurationError: as ``make``, or the callable returned something else.
        """
        kwargs = dict(self.kwargs)
        if isinstance(self.source, str):
            return make(self.source, **kwargs)
        options = {key: kwargs.pop(key) for key in ADAPTER_OPTIONS if key in kwargs}
        wrapping = {key: kwargs.pop(key) for key in WRAPPER_OPTIONS if key in kwargs}
        made = self.source(**kwargs)
        if not isinstance(made, (Environment, JaxEnvironment)):
            from mava.environments.pettingzoo import adapt

            return wrapped(adapt(made, **options), **wrapping)
        if options:
            raise ConfigurationError(
                f"{self.name}: {', '.join(options)} only for a factory of PettingZoo environments"
            )
        return wrapped(made, **wrapping)


def as_factory(
    environment: str | Callable[..., Any] | EnvironmentFactory, **kwargs: Any
) -> EnvironmentFactory:
    """A factory from a registered name, a callable, or a factory whose arguments ``kwargs`` then
    extend.

    Raises:
        ConfigurationError: an unknown name, or an environment in place of a callable that makes
            one.
    """
    if isinstance(environment, EnvironmentFactory):
        return as_factory(environment.source, **{**dict(environment.kwargs), **kwargs})
    if isinstance(environment, str):
        check_name(environment)
    elif not isinstance(environment, type) and _is_environment(environment):
        raise ConfigurationError(
            f"got an environment of type {type(environment).__name__}, need a callable that makes "
            "one, since each run makes several: pass the class, a function, or functools.partial"
        )
    elif not callable(environment):
        raise ConfigurationError(
            f"an environment is a name or a callable that makes one, not {environment!r}"
        )
    return EnvironmentFactory(environment, tuple(sorted(kwargs.items())))


def _name_of(source: Any) -> str:
    if isinstance(source, str):
        return source
    if isinstance(source, functools.partial):
        given = [*map(_brief, source.args)]
        given += [f"{key}={_brief(value)}" for key, value in sorted(source.keywords.items())]
        return f"{_name_of(source.func)}({', '.join(given)})"
    if isinstance(source, types.FunctionType) and source.__name__ == "<lambda>":
        return f"{source.__module__}.<lambda>:{source.__code__.co_firstlineno}"
    named = getattr(source, "__qualname__", None) or type(source).__qualname__
    return str(named).replace("<locals>.", "")


def _brief(value: Any) -> str:
    if isinstance(value, (type, types.FunctionType, functools.partial)):
        return _name_of(value)
    text = " ".join(repr(value).split())
    # An address would be another in each process.
    return type(value).__qualname__ if " at 0x" in text else text


def _bounded(name: str) -> str:
    if len(name) <= _LONGEST:
        return name
    digest = hashlib.sha256(name.encode()).hexdigest()[:8]
    return f"{name[: _LONGEST - 12]}...-{digest}"


def _is_environment(value: Any) -> bool:
    return all(callable(getattr(value, method, None)) for method in _METHODS)
