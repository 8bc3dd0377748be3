"""From the command line's text to a system: values, arguments of environments, settings."""

from __future__ import annotations

import ast
import inspect
import types
import typing
from collections.abc import Sequence
from typing import Any

from absl import flags

from mava.cli.flags import FlagValues
from mava.errors import ConfigurationError, nearest

if typing.TYPE_CHECKING:
    from mava.core.component import Component
    from mava.core.system import System
    from mava.environments import EnvironmentFactory

_WORDS = {"true": True, "false": False, "none": None}


def define(values: FlagValues) -> None:
    """The flags that make a system."""
    text, several = flags.DEFINE_string, flags.DEFINE_multi_string
    text("system", None, "the system's name; see mava list", flag_values=values)
    text("env", None, "the environment's name; see mava list", flag_values=values)
    several(
        "env_args",
        [],
        "arguments of the environment's constructor, such as max_cycles=50,continuous_actions=True",
        flag_values=values,
    )
    several("env_arg", [], "one of them; may be repeated", flag_values=values)
    several(
        "set",
        [],
        "a component's field, such as adam.learning_rate=1e-3; may be repeated; see mava describe",
        flag_values=values,
    )


def make_system(values: FlagValues) -> System:
    """The system of the flags.

    Raises:
        ConfigurationError: an unknown system, environment, component or field, with the nearest
            name; a malformed setting; or a value of the wrong type.
    """
    from mava.systems import SYSTEMS

    if values.system not in SYSTEMS:
        hint = nearest(values.system, SYSTEMS)
        raise ConfigurationError(f"unknown system {values.system!r}{hint}")
    return apply(SYSTEMS[values.system](make_factory(values)), values["set"].value or ())


def make_factory(values: FlagValues) -> EnvironmentFactory:
    """The environment that the flags describe; it is not made yet.

    Raises:
        ConfigurationError: an unknown name, with the nearest, or a malformed argument.
    """
    from mava.environments import as_factory

    arguments: dict[str, Any] = {}
    for text in values.env_args:
        arguments.update(parse_arguments(text))
    for text in values.env_arg:
        name, equals, value = text.partition("=")
        if not (equals and name.strip().isidentifier()):
            raise ConfigurationError(f"--env_arg={text} is not of the form name=value")
        arguments[name.strip()] = parse_value(value)
    return as_factory(values.env, **arguments)


def apply(system: System, settings: Sequence[str]) -> System:
    """Applies settings ``component.field=value``, the value as in ``parse_value``.

    Those of one component are applied together: one alone may not fit what the others replace.

    Raises:
        ConfigurationError: as ``make_system``.
    """
    changes: dict[str, dict[str, Any]] = {}
    for setting in settings:
        path, equals, text = setting.partition("=")
        name, dot, field = path.strip().partition(".")
        if not (equals and dot and name and field):
            raise ConfigurationError(f"--set={setting} is not of the form component.field=value")
        component: Component = system[name]
        value, hint = parse_value(text), _hints(type(component)).get(field, Any)
        if not fits(value, hint):
            raise ConfigurationError(
                f"{name}.{field} takes {_shown(hint)}, and got {text.strip()!r}"
            )
        changes.setdefault(name, {})[field] = value
    for name, fields in changes.items():
        try:
            system = system.replace(name, **fields)
        except TypeError as error:
            raise ConfigurationError(f"{name} cannot take {fields}: {error}") from error
    return system


def parse_value(text: str) -> Any:
    """A Python literal, a schedule such as ``Linear(1.0, 0.05, 10000)``, ``true``, ``false``,
    ``none``, or a bare word.

    >>> parse_value("[64, 64]"), parse_value("false"), parse_value("shared")
    ((64, 64), False, 'shared')
    """
    text = text.strip()
    try:
        return _value(ast.parse(text, mode="eval").body)
    except ConfigurationError:
        raise
    except (SyntaxError, ValueError):
        return text


def parse_arguments(text: str) -> dict[str, Any]:
    """What stands between the parentheses of a call, names only.

    >>> parse_arguments("max_cycles=50, size=(3, 4), local=true")
    {'max_cycles': 50, 'size': (3, 4), 'local': True}
    """
    try:
        call = ast.parse(f"f({text})", mode="eval").body
        if not isinstance(call, ast.Call) or call.args:
            raise ValueError
        return {str(keyword.arg): _value(keyword.value) for keyword in call.keywords if keyword.arg}
    except ConfigurationError:
        raise
    except (SyntaxError, ValueError) as error:
        raise ConfigurationError(
            f"--env_args={text} is not of the form name=value,name=value; give values with awkward "
            f"characters by --env_arg"
        ) from error


def _value(node: ast.expr) -> Any:
    """Raises ``ValueError`` for what is neither a literal nor a schedule nor a word."""
    if isinstance(node, ast.Name):
        return _WORDS.get(node.id.lower(), node.id)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return _schedule(node.func.id, node)
    value = ast.literal_eval(node)
    return tuple(value) if isinstance(value, list) else value


def _schedule(name: str, node: ast.Call) -> Any:
    from mava.functional.schedules import SCHEDULES

    if name not in SCHEDULES:
        raise ConfigurationError(f"unknown schedule {name!r}{nearest(name, SCHEDULES)}")
    positional = [_value(argument) for argument in node.args]
    named = {str(keyword.arg): _value(keyword.value) for keyword in node.keywords}
    try:
        return SCHEDULES[name](*positional, **named)
    except TypeError as error:
        raise ConfigurationError(f"{ast.unparse(node)}: {error}") from error


def fits(value: Any, hint: Any) -> bool:
    """Whether a value is of an annotated type, as far as that can be told."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return any(fits(value, each) for each in arguments)
    if origin is typing.Literal:
        return value in arguments
    if origin is tuple:
        each = arguments[0] if arguments[1:] == (...,) else Any
        return isinstance(value, tuple) and all(fits(item, each) for item in value)
    if hint in (int, float):
        numbers = (int,) if hint is int else (int, float)
        return isinstance(value, numbers) and not isinstance(value, bool)
    kind = hint if origin is None else origin
    return not inspect.isclass(kind) or _is_instance(value, kind)


def _is_instance(value: Any, kind: type) -> bool:
    try:
        return isinstance(value, kind)
    except TypeError:  # a protocol that cannot be checked
        return True


def _hints(kind: type) -> dict[str, Any]:
    try:
        return typing.get_type_hints(kind)
    except Exception:  # names that exist for type checkers only
        return {}


def _shown(hint: Any) -> str:
    names: Sequence[Any] = typing.get_args(hint) or (hint,)
    if typing.get_origin(hint) not in (typing.Union, types.UnionType):
        names = (hint,)
    words = {int: "a whole number", float: "a number", str: "a word", bool: "true or false"}
    shown = [words.get(name, getattr(name, "__name__", str(name))) for name in names]
    return " or ".join("none" if name == "NoneType" else name for name in shown)
