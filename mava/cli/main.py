"""The ``mava`` command: subcommands, exit codes and error messages.

====  ==========================================================================
0     done
1     failed; the message says why
2     refused: an unknown name or a value that cannot work; nothing was started
130   interrupted; what was done so far is saved
====  ==========================================================================
"""

from __future__ import annotations

import bdb
import importlib
import os
import sys
import traceback
from collections.abc import Sequence

from mava.cli import flags
from mava.errors import CheckpointError, ConfigurationError, MavaError, WiringError, nearest

COMMANDS = {
    "train": "train a system on an environment, or go on with a run",
    "evaluate": "run episodes with the policy of a run",
    "describe": "show the wiring of a system",
    "list": "show what there is: systems, environments, components",
    "plot": "draw the learning curves of runs",
    "render": "write a video of the policy of a run",
}

_SELF_CONTAINED = (ConfigurationError, WiringError, CheckpointError)
"""Errors whose message holds all that their cause would tell."""


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command.

    Args:
        argv: the arguments after the program's name; those of the process when absent.

    Returns:
        The exit code.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    _find_modules_here()
    debug = bool(os.environ.get("MAVA_DEBUG")) or bool({"--debug", "--debug=true"} & set(arguments))
    try:
        return _dispatch(arguments)
    except KeyboardInterrupt:
        _complain("interrupted")
        return 130
    except BrokenPipeError:
        # The reader of our output has left; Python must not complain when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except bdb.BdbQuit:
        return 1
    except (ConfigurationError, WiringError) as error:
        _report(error, debug)
        return 2
    except MavaError as error:
        _report(error, debug)
        return 1
    except Exception:
        traceback.print_exc()
        return 1


def _dispatch(arguments: list[str]) -> int:
    if not arguments or flags.asks_for_help(arguments[:1]) or arguments[0] == "help":
        print(_overview())
        return 0 if arguments else 2
    if arguments[0] in ("--version", "version"):
        print(_version())
        return 0
    command, *rest = arguments
    if command not in COMMANDS:
        raise ConfigurationError(f"unknown command {command!r}{nearest(command, COMMANDS)}")
    module = importlib.import_module(f"mava.cli.{command}")
    if flags.asks_for_help(rest):
        print(flags.help_text(module.USAGE, module.SUMMARY, module.define))
        return 0
    values, others = flags.parse(command, module.define, rest)
    code: int = module.run(values, others)
    return code


def _find_modules_here() -> None:
    """A console script, unlike ``python -m``, does not find the modules of the current directory,
    where the environment or component of a run to load may be."""
    here = os.getcwd()
    if not {"", here} & set(sys.path):
        sys.path.append(here)


def _overview() -> str:
    lines = ["usage: mava COMMAND [--flag=value]...", "", "commands:"]
    lines += [f"  {name:<9} {summary}" for name, summary in COMMANDS.items()]
    return "\n".join([*lines, "", "mava COMMAND --help shows the flags of a command"])


def _version() -> str:
    from importlib import metadata

    try:
        return f"mava {metadata.version('mava')}"
    except metadata.PackageNotFoundError:
        return "mava, not installed"


def _report(error: MavaError, debug: bool) -> None:
    """The message; with the traceback of the user's own code, where the error began there."""
    if debug:
        traceback.print_exception(error)
    elif error.__cause__ is not None and not isinstance(error, _SELF_CONTAINED):
        traceback.print_exception(error.__cause__)
    _complain(str(error))


def _complain(text: str) -> None:
    print(f"mava: {text}", file=sys.stderr)
