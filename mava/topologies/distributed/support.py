"""Where the distributed topology runs; found out without importing its engines."""

from __future__ import annotations

import importlib.util
import platform
import sys

from mava.errors import ConfigurationError

_SUPPORTED = "Linux x86_64 with CPython 3.10"
_ENGINES = ("launchpad", "courier", "reverb", "tensorflow")


def check_supported() -> None:
    """Refuses a system or Python for which Launchpad and Reverb have no wheels, and one where they
    are not installed.

    Raises:
        ConfigurationError: with what is needed, what is here, and what to do.
    """
    python = f"{platform.python_implementation()} {'.'.join(map(str, sys.version_info[:2]))}"
    here = f"{platform.system()} {platform.machine()} with {python}"
    if here != _SUPPORTED:
        _refuse(f"this is {here}")
    missing = [name for name in _ENGINES if importlib.util.find_spec(name) is None]
    if missing:
        _refuse(f"here {', '.join(missing)} cannot be found")


def _refuse(reason: str) -> None:
    raise ConfigurationError(
        f"the distributed topology needs {_SUPPORTED}, and the packages of Launchpad and Reverb; "
        f"{reason}. Install them there with `pip install 'mava[distributed]'`, or in a checkout "
        f"with `make setup-distributed`, which fills .venv-distributed. topology='single_process' "
        f"runs the same system anywhere"
    )
