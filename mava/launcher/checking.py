"""What is refused before a run begins."""

from __future__ import annotations

import operator
from typing import Any, NamedTuple

from mava.core.system import System
from mava.errors import ConfigurationError
from mava.launcher.comparing import compare, same_stops
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
    ConfigurationError: there is anything in the directory; names some of it.
    """
    content = directory.content
    if directory.checkpoints.last_step is not None:
        raise ConfigurationError(
            f"{directory.path} already holds a run; resume it (resume=True, --resume), or choose "
            f"another run_dir"
        )
    if content:
        shown = ", ".join(content[:3]) + (", ..." if len(content) > 3 else "")
        raise ConfigurationError(
            f"the run directory {directory.path} is not empty ({shown}), and nothing there can be "
            f"resumed; choose another run_dir, or delete what a failed run left there"
        )


LAYOUT = ("num_devices", "num_seeds")
"""Options of topologies that decide which arrays a run has; 1 where a topology has none."""

CONDITIONS = ("jit", "mava", "jax", "backend")
"""Facts that change no more than the last bits of numbers."""


class Resumption(NamedTuple):
    """How a run goes on.

    Attributes:
        finished: the record of its result when it is finished and nothing more is asked for.
        notes: a sentence for each reason why it may not go on bit for bit.
    """

    finished: dict[str, Any] | None = None
    notes: tuple[str, ...] = ()


def check_resumable(directory: RunDirectory, system: System, facts: dict[str, Any]) -> Resumption:
    """Checks that a run can go on as asked.

    Args:
        directory: of the run.
        system: as asked for now.
        facts: ``topology``, ``seed``, ``total_steps`` and ``CONDITIONS`` as they are now.

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
    found, unsure = compare(old, system)
    found += [
        f"the {name} was {config.get(name, 1)}, is {facts[name]}"
        for name in ("topology", "seed", *LAYOUT)
        if config.get(name, 1) != facts.get(name, 1)
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
    # A run that a stop condition ended goes on when the conditions have changed.
    if (
        record is not None
        and facts["total_steps"] <= config["total_steps"]
        and (record["reason"] == TOTAL_STEPS or same_stops(old, system))
    ):
        return Resumption(record)
    notes = _changed_conditions(config, facts)
    if unsure:
        notes.append(
            f"nothing shows whether {', '.join(unsure)} changed since the run began; it goes on as "
            f"if not"
        )
    return Resumption(None, tuple(notes))


def _changed_conditions(config: dict[str, Any], facts: dict[str, Any]) -> list[str]:
    names = [name for name in CONDITIONS if config.get(name, facts[name]) != facts[name]]
    if not names:
        return []
    was, now = (", ".join(f"{name}={values[name]}" for name in names) for values in (config, facts))
    return [f"this run had {was} and goes on with {now}, so it does not go on bit for bit"]
