"""Values written as text, and whether a field can hold them."""

from __future__ import annotations

import ast
import inspect
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from mava.errors import ConfigurationError, nearest
from mava.functional.schedules import SCHEDULES, Schedule

_CONSTANTS = {"true": True, "false": False, "none": None}
_WORDS: dict[Any, str] = {
    int: "a whole number",
    float: "a number",
    str: "a word",
    bool: "true or false",
    Schedule: "a schedule",
}


def parse_setting(setting: str) -> tuple[str, str, str]:
    """``component.field=text`` -> its three parts.

    Raises:
        ConfigurationError: a setting of another form.
    """
    path, equals, text = setting.partition("=")
    component, dot, field = path.strip().partition(".")
    if not (equals and dot and component and field):
        raise ConfigurationError(f"setting {setting!r} is not of the form component.field=value")
    return component, field, text.strip()


def parse_value(text: str) -> Any:
    """A Python literal, a schedule, ``true``, ``false``, ``none``, or a bare word; nothing is run.

    >>> parse_value("[64, 64]"), parse_value("shared"), parse_value("Linear(1.0, 0.05, 10000)")
    ((64, 64), 'shared', Linear(start=1.0, end=0.05, steps=10000))

    Raises:
        ConfigurationError: an unknown schedule, with the nearest name, or wrong values for one.
    """
    try:
        return _value(ast.parse(text.strip(), mode="eval").body)
    except ConfigurationError:
        raise
    except (SyntaxError, ValueError):
        return text.strip()


def parse_field(owner: str, value: Any, field: str, text: str) -> Any:
    """What ``text`` means for a field of the dataclass ``value``. A word that is also a constant,
    such as ``none``, stays a word where the field takes no such constant.

    Raises:
        ConfigurationError: for what the field's annotation does not allow, naming the owner, the
            field and what it holds now; or as ``parse_value``.
    """
    if not hasattr(value, field):
        return parse_value(text)
    hint = _hints(type(value)).get(field, Any)
    return _fitting(f"{owner}.{field}", hint, text, getattr(value, field))


def parse_options(function: Callable[..., Any], settings: Sequence[str]) -> dict[str, Any]:
    """Arguments of a function by keyword, from texts of the form ``name=value``.

    >>> def make(environment, *, recurrent: bool = False, widths: tuple[int, ...] = ()): ...
    >>> parse_options(make, ["recurrent=true", "widths=(64, 64)"])
    {'recurrent': True, 'widths': (64, 64)}

    Raises:
        ConfigurationError: for another form, an unknown name, with the nearest, or a value that its
            annotation does not allow.
    """
    owner = getattr(function, "__name__", repr(function))
    parameters = inspect.signature(function).parameters.values()
    known = {p.name: p.default for p in parameters if p.kind is p.KEYWORD_ONLY}
    hints, options = _hints(function), {}
    for setting in settings:
        name, equals, text = setting.partition("=")
        name = name.strip()
        if not equals:
            raise ConfigurationError(f"setting {setting!r} is not of the form name=value")
        if name not in known:
            raise ConfigurationError(f"{owner} has no argument {name!r}{nearest(name, known)}")
        hint = hints.get(name, Any)
        options[name] = _fitting(f"{owner}'s {name}", hint, text.strip(), known[name])
    return options


def _fitting(owner: str, hint: Any, text: str, now: Any) -> Any:
    new = parse_value(text)
    if fits(new, hint):
        return new
    if text.isidentifier() and fits(text, hint):
        return text
    raise ConfigurationError(f"{owner} takes {shown(hint)}, not {new!r}; it is {now!r} now")


def fits(value: Any, hint: Any) -> bool:
    """Whether a value is of an annotated type, as far as that can be told. Whole numbers are
    numbers; flags are not."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return any(fits(value, each) for each in arguments)
    if origin is typing.Literal:
        return value in arguments
    if origin is tuple:
        if not isinstance(value, tuple):
            return False
        each = arguments[:1] * len(value) if arguments[1:] == (...,) else arguments
        return len(value) == len(each) and all(map(fits, value, each))
    if hint in (int, float):
        numbers = (int,) if hint is int else (int, float)
        return isinstance(value, numbers) and not isinstance(value, bool)
    kind = types.NoneType if hint is None else (origin or hint)
    return not inspect.isclass(kind) or _is_instance(value, kind)


def shown(hint: Any) -> str:
    """An annotated type, for people.

    >>> shown(int), shown(float | None), shown(tuple[int, ...])
    ('a whole number', 'a number or none', 'tuple[int, ...]')
    """
    union = typing.get_origin(hint) in (typing.Union, types.UnionType)
    parts = typing.get_args(hint) if union else (hint,)
    return " or ".join(_shown(part) for part in parts)


def _shown(hint: Any) -> str:
    if hint in _WORDS:
        return _WORDS[hint]
    if hint is types.NoneType:
        return "none"
    return str(hint) if typing.get_args(hint) else str(getattr(hint, "__name__", hint))


def _value(node: ast.expr) -> Any:
    """Raises ``ValueError`` for what is neither a literal nor a schedule nor a word."""
    if isinstance(node, ast.Name):
        return _CONSTANTS.get(node.id.lower(), node.id)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return _schedule(node.func.id, node)
    return _frozen(ast.literal_eval(node))


def _frozen(value: Any) -> Any:
    return tuple(map(_frozen, value)) if isinstance(value, list | tuple) else value


def _schedule(name: str, node: ast.Call) -> Any:
    if name not in SCHEDULES:
        raise ConfigurationError(f"there is no schedule {name!r}{nearest(name, SCHEDULES)}")
    kind = SCHEDULES[name]
    try:
        given = inspect.signature(kind).bind(
            *(_value(argument) for argument in node.args),
            **{str(keyword.arg): _value(keyword.value) for keyword in node.keywords},
        )
    except TypeError as error:
        raise ConfigurationError(f"{ast.unparse(node)}: {error}") from error
    hints = _hints(kind)
    for field, value in given.arguments.items():
        if not fits(value, hints[field]):
            raise ConfigurationError(
                f"{ast.unparse(node)}: {field} takes {shown(hints[field])}, not {value!r}"
            )
    return kind(*given.args, **given.kwargs)


def _hints(kind: Callable[..., Any]) -> Mapping[str, Any]:
    try:
        return typing.get_type_hints(kind)
    except Exception:  # names that exist for type checkers only
        return {}


def _is_instance(value: Any, kind: type) -> bool:
    try:
        return isinstance(value, kind)
    except TypeError:  # a protocol that cannot be checked
        return True
