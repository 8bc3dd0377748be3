"""From the command line's text to a system: values, arguments of environments, settings."""

from __future__ import annotations

import ast
import typing
from typing import Any

from absl import flags

from mava.cli.flags import FlagValues
from mava.errors import ConfigurationError, nearest

if typing.TYPE_CHECKING:
    from mava.core.system import System
    from mava.environments import EnvironmentFactory


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
        "an argument of the system, such as recurrent=true, or a component's field, such as "
        "adam.learning_rate=1e-3; may be repeated; see mava describe",
        flag_values=values,
    )


def make_system(values: FlagValues) -> System:
    """The system of the flags.

    Raises:
        ConfigurationError: an unknown system, environment, argument, component or field, with the
            nearest name; a malformed setting; or a value of the wrong type.
    """
    from mava.core.settings import parse_options
    from mava.systems import SYSTEMS

    if values.system not in SYSTEMS:
        hint = nearest(values.system, SYSTEMS)
        raise ConfigurationError(f"unknown system {values.system!r}{hint}")
    make, settings = SYSTEMS[values.system], values["set"].value or ()
    arguments = [setting for setting in settings if "." not in setting.partition("=")[0]]
    fields = [setting for setting in settings if setting not in arguments]
    return make(make_factory(values), **parse_options(make, arguments)).set(*fields)


def make_factory(values: FlagValues) -> EnvironmentFactory:
    """The environment that the flags describe; it is not made yet.

    Raises:
        ConfigurationError: an unknown name, with the nearest, or a malformed argument.
    """
    from mava.core.settings import parse_value
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


def parse_arguments(text: str) -> dict[str, Any]:
    """What stands between the parentheses of a call, names only.

    >>> parse_arguments("max_cycles=50, size=(3, 4), local=true")
    {'max_cycles': 50, 'size': (3, 4), 'local': True}
    """
    try:
        call = ast.parse(f"f({text})", mode="eval").body
        if not isinstance(call, ast.Call) or call.args or any(k.arg is None for k in call.keywords):
            raise ValueError
        return {str(k.arg): _argument(k.value) for k in call.keywords}
    except ConfigurationError:
        raise
    except (SyntaxError, ValueError) as error:
        raise ConfigurationError(
            f"--env_args={text} is not of the form name=value,name=value; give values with awkward "
            f"characters by --env_arg"
        ) from error


def _argument(node: ast.expr) -> Any:
    """Raises ``ValueError`` for an expression that ``parse_value`` would take for words."""
    from mava.core.settings import parse_value

    value = parse_value(ast.unparse(node))
    if isinstance(value, str) and not isinstance(node, (ast.Name, ast.Constant)):
        raise ValueError
    return value
