"""Flags of one subcommand, on absl, with errors for people."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Sequence
from typing import Any

from absl import flags

from mava.errors import ConfigurationError, nearest

FlagValues = flags.FlagValues
Define = Callable[[FlagValues], None]

_HELP = ("-h", "-help", "--help", "--helpshort", "--helpfull")


def asks_for_help(argv: Sequence[str]) -> bool:
    return any(argument in _HELP for argument in argv)


def parse(command: str, define: Define, argv: Sequence[str]) -> tuple[FlagValues, list[str]]:
    """Flag values, and what is left: the arguments that are no flags.

    Raises:
        ConfigurationError: an unknown flag, with the nearest name, or a value of the wrong type.
    """
    values = _defined(define)
    try:
        rest = values(["mava", *argv], known_only=False)
    except flags.UnrecognizedFlagError as error:
        known = [f"--{name}" for name in values]
        unknown = f"--{error.flagname.lstrip('-')}"
        raise ConfigurationError(
            f"mava {command} has no flag {unknown}{nearest(unknown, known)}"
        ) from error
    except flags.Error as error:
        raise ConfigurationError(_explained(values, str(error))) from error
    return values, list(rest[1:])


def require(command: str, values: FlagValues, *names: str) -> None:
    """Raises ``ConfigurationError`` for the first flag that was not given."""
    for name in names:
        if not values[name].present:
            raise ConfigurationError(f"mava {command} needs --{name}: {values[name].help}")


def no_more(command: str, arguments: Sequence[str]) -> None:
    """Raises ``ConfigurationError`` where there is an argument that is no flag."""
    if arguments:
        raise ConfigurationError(
            f"mava {command} takes flags only, and got {arguments[0]!r}; write --name=value"
        )


def help_text(usage: str, summary: str, define: Define) -> str:
    """Usage, what the command does, and its flags in the order defined."""
    values = _defined(define)
    lines = [f"usage: {usage}", "", *textwrap.wrap(summary, 96), "", "flags:"]
    for name, flag in values.flag_values_dict().items():
        default = "" if flag is None or flag is False or flag == [] else f" (default: {flag})"
        described = values[name].help.split(";     repeat this option")[0]
        wrapped = textwrap.wrap(f"{described}{default}", 76)
        lines.append(f"  --{name:<15} {wrapped[0]}")
        lines += [" " * 20 + line for line in wrapped[1:]]
    return "\n".join(lines)


def _defined(define: Define) -> FlagValues:
    values = FlagValues()  # type: ignore[no-untyped-call]
    values.set_gnu_getopt(True)
    define(values)
    flags.DEFINE_boolean("debug", False, "on an error, print the traceback too", flag_values=values)
    return values


def _explained(values: FlagValues, message: str) -> str:
    """A message of absl in the words of the flag's type."""
    found = re.match(r"flag --(\w+)=(.*?): ", message, re.DOTALL)
    if found is None or found[1] not in values:
        return message
    parser: Any = values[found[1]].parser
    wanted = parser.syntactic_help or "true or false"
    return f"--{found[1]}={found[2]}: give {wanted}"
