"""What is refused before a run begins."""

from __future__ import annotations

import operator
from typing import Any

from mava.core.system import System
from mava.errors import ConfigurationError
from mava.launcher.comparing import differences, same_stops
from mava.launcher.driver import TOTAL_STEPS
from mava.launcher.run_dir import RunDirectory


def check_whole(name: str, value: Any, least: int, below: int | None = None) -> int:
    """The value as an int.

    Raises:
        ConfigurationError: it is no whole number, or out of bounds.
    """
    try:
        number = operator.index(value)
    except TypeError as error:
        raise ConfigurationError(f"{name} is {value!r}; it must be a whole number") from error
    if isinstance(value, bool) or number < least or (below is not None and number >= below):
        bounds = f"at least {least}" + ("" if below is None else f" and below {below}")
        raise ConfigurationError(f"{name} is {value!r}; it must be {bounds}")
    return number


def check_vacant(directory: RunDirectory) -> None:
    """Raises:
    ConfigurationError: the directory already holds a run.
    """
    if directory.holds_run:
        raise ConfigurationError(
            f"{directory.path} already holds a run; resume it (resume=True, --resume), or choose "
            f"another run_dir"
        )


def check_resumable(
    directory: RunDirectory, system: System, facts: dict[str, Any]
) -> dict[str, Any] | None:
    """Checks that a run can go on as asked.

    Args:
        directory: of the run.
        system: as asked for now.
        facts: ``topology``, ``seed`` and ``total_steps`` as asked for now.

    Returns:
        The record of its result when the run is finished and nothing more is asked for.

    Raises:
        ConfigurationError: there is nothing to resume, or it is another run; names the differences.
        CheckpointError: what is there cannot be read.
    """
    step = directory.checkpoints.last_step
    if step is None:
        raise ConfigurationError(
            f"{directory.path} has no checkpoint to resume from; start the run without resume"
        )
    config, old = directory.load_config(), directory.load_system()
    found = differences(old, system)
    found += [
        f"the {name} was {config[name]}, is {facts[name]}"
        for name in ("topology", "seed")
        if config[name] != facts[name]
    ]
    if found:
        raise ConfigurationError(
            f"{directory.path} holds another run: {'; '.join(found)}. Resume it as it was, or "
            f"choose another run_dir"
        )
    if facts["total_steps"] < step:
        raise ConfigurationError(
            f"total_steps is {facts['total_steps']}, and the run in {directory.path} has already "
            f"made {step} environment steps; total_steps counts them too"
        )
    record = directory.load_result()
    if record is None or facts["total_steps"] > config["total_steps"]:
        return None
    # A run that a stop condition ended goes on when the conditions have changed.
    return record if record["reason"] == TOTAL_STEPS or same_stops(old, system) else None
