"""Whether what an environment shows are finite numbers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mava.errors import EnvironmentFault
from mava.types import Array, EnvironmentSpec, TimeStep


def all_finite(array: np.ndarray) -> bool:
    """Whether a float array has neither NaN nor infinities."""
    # One dot product is the cheapest pass; it may overflow, so a bad sum is only a suspicion.
    return math.isfinite(np.vdot(array, array)) or bool(np.isfinite(array).all())


def bad_entry(rows: np.ndarray, counted: np.ndarray) -> tuple[int, tuple[int, ...]] | None:
    """Row and index in it of the first entry that is not finite, among rows that count.

    Args:
        rows: ``[N, ...]``.
        counted: bool ``[N]``.
    """
    found = np.argwhere(~np.isfinite(rows) & counted.reshape(-1, *(1,) * (rows.ndim - 1)))
    return (int(found[0][0]), tuple(found[0][1:].tolist())) if len(found) else None


def check_finite(
    timestep: TimeStep, spec: EnvironmentSpec, where: str, before: TimeStep | None = None
) -> TimeStep:
    """Checks rewards, observations and the global state of one environment; integers are not
    looked at. Environments whose ``checks_finite`` is true need no such check.

    The rows of an agent count if it is alive, or was before the step, so the last observation of
    one that ended counts and what is shown of the dead later does not.

    Args:
        timestep: without leading axes.
        spec: of the environment.
        where: begins the error's message, such as ``"mine, step 3"``.
        before: the timestep that was acted on; ``None`` after a reset. Without it, agents with a
            flag count.

    Returns:
        The timestep, with zeros for what is not finite in rows that do not count.

    Raises:
        EnvironmentFault: naming agent, leaf and value.
    """
    for field in ("observation", "reward"):
        rows_of: dict[str, Array] = getattr(timestep, field)
        for name, rows in rows_of.items():
            if rows.dtype.kind == "f" and not all_finite(np.asarray(rows)):
                counted = _counted(timestep, before, name)
                mended = _mended(np.asarray(rows), counted, spec, name, f"{where}: ", field)
                rows_of = {**rows_of, name: mended}
                changed: dict[str, Any] = {field: rows_of}
                timestep = timestep._replace(**changed)
    state = timestep.state
    if state is not None and state.dtype.kind == "f" and not all_finite(np.asarray(state)):
        raise EnvironmentFault(f"{where}: the global state has values that are not finite")
    return timestep


def _counted(timestep: TimeStep, before: TimeStep | None, name: str) -> np.ndarray:
    if before is None:
        acted = np.asarray(timestep.termination[name]) | np.asarray(timestep.truncation[name])
    else:
        acted = np.asarray(before.alive[name])
    counted: np.ndarray = np.asarray(timestep.alive[name]) | acted
    return counted


def _mended(
    rows: np.ndarray, counted: np.ndarray, spec: EnvironmentSpec, name: str, where: str, leaf: str
) -> np.ndarray:
    found = bad_entry(rows, counted)
    if found is not None:
        row, index = found
        place = f"[{', '.join(map(str, index))}]" if index else ""
        raise EnvironmentFault(
            f"{where}agent {spec[name].agents[row]!r}: {leaf}{place} has the value "
            f"{rows[(row, *index)]}"
        )
    return np.where(np.isfinite(rows), rows, np.zeros((), rows.dtype))
