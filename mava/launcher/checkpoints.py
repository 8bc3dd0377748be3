"""Checkpoints of a run: the last, which a run resumes from, and the best, which people use.

``last/<step>`` holds the runner's arrays, what acting needs, and one pickle with the runner's other
values and the driver's own. ``best/<step>`` holds what acting needs. A folder gets its name only
once it is complete, and what it replaces is deleted only after that.
"""

from __future__ import annotations

import os
import pathlib
import pickle
import re
import shutil
from collections.abc import Callable
from typing import Any

from mava.core.learner import Variables
from mava.errors import CheckpointError, first_line
from mava.launcher.arrays import read_arrays, write_arrays
from mava.topologies.base import RunnerState
from mava.types import PyTree

_NAME = re.compile(r"(\d+)(?:\.(\d+))?")
_UNFINISHED = "unfinished-"
_EXTRA = "extra.pkl"
_SYSTEM_ERROR = re.compile(r"(?:os_error_code='|OS error |Errno )(\d+)")


class Checkpoints:
    """The checkpoints in one folder.

    A failed save raises ``CheckpointError`` and leaves every earlier checkpoint as it was.
    """

    def __init__(self, folder: pathlib.Path) -> None:
        self._last = folder / "last"
        self._best = folder / "best"

    @property
    def last_step(self) -> int | None:
        """Environment steps of the last checkpoint; ``None`` without one."""
        found = _complete(self._last)
        return _step(found[-1]) if found else None

    @property
    def best_step(self) -> int | None:
        """Environment steps of the best checkpoint; ``None`` without one."""
        found = _complete(self._best)
        return _step(found[-1]) if found else None

    def save_last(
        self,
        step: int,
        state: RunnerState,
        variables: Variables,
        driver: Any,
        best_step: int | None,
    ) -> None:
        """Replaces the last checkpoint.

        Args:
            step: environment steps.
            state: the runner's.
            variables: what acting needs.
            driver: the driver's own values; anything that pickles.
            best_step: of the best checkpoint that belongs to this one. Other best ones are deleted.

        Raises:
            CheckpointError: it could not be written, or ``state.extra`` does not pickle.
        """

        def fill(folder: pathlib.Path) -> None:
            _dump({"runner": state.extra, "driver": driver}, folder / _EXTRA)
            write_arrays(folder / "variables", variables)
            write_arrays(folder / "state", state.arrays)

        new = _publish(self._last, step, fill)
        _delete([old for old in _complete(self._last) if old != new])
        self._keep_best(best_step)

    def save_driver(self, driver: Any, best_step: int | None) -> None:
        """Replaces the driver's values in the last checkpoint; the rest of it stays.

        Args:
            driver: as ``save_last``.
            best_step: as ``save_last``.

        Raises:
            CheckpointError: there is no last checkpoint, or it could not be read or written.
        """
        path = self._newest(self._last) / _EXTRA
        extra = {**self._extra(), "driver": driver}
        unfinished = path.with_name(f".{path.name}.unfinished")
        try:
            _dump(extra, unfinished)
            _sync(unfinished)
            os.replace(unfinished, path)
            _sync(path.parent)
        except Exception as error:
            raise CheckpointError(f"{path} could not be written: {_reason(error)}") from error
        self._keep_best(best_step)

    def save_best(self, step: int, variables: Variables) -> None:
        """Adds a best checkpoint; ``save_last`` deletes those that it replaces.

        Raises:
            CheckpointError: it could not be written.
        """
        _publish(self._best, step, lambda folder: write_arrays(folder / "variables", variables))

    def load_driver(self) -> Any:
        """The driver's values in the last checkpoint.

        Raises:
            CheckpointError: there is none, or it cannot be read.
        """
        return self._extra()["driver"]

    def load_last(self, like: PyTree) -> RunnerState:
        """The runner's state in the last checkpoint; ``like`` is its ``arrays`` as they are now.

        Raises:
            CheckpointError: there is none, or it cannot be read or does not fit; names the path.
        """
        extra = self._extra()["runner"]
        return RunnerState(read_arrays(self._newest(self._last) / "state", like), extra)

    def load_variables(self, which: str, like: PyTree, step: int | None = None) -> Variables:
        """What acting needs, from the ``"last"`` or ``"best"`` checkpoint.

        Args:
            which: of the two.
            like: its structure, shapes and dtypes.
            step: of the checkpoint; ``None`` for the newest.

        Raises:
            CheckpointError: as ``load_last``.
        """
        folder = self._newest({"last": self._last, "best": self._best}[which], step)
        variables: Variables = read_arrays(folder / "variables", like)
        return variables

    def discard_best_after(self, step: int | None) -> None:
        """Deletes best checkpoints newer than ``step``: a resumed run makes them again."""
        _delete([old for old in _complete(self._best) if step is None or _step(old) > step])

    def _extra(self) -> dict[str, Any]:
        path = self._newest(self._last) / _EXTRA
        try:
            extra: dict[str, Any] = pickle.loads(path.read_bytes())
        except Exception as error:
            raise CheckpointError(f"{path} could not be read: {first_line(error)}") from error
        return extra

    def _keep_best(self, step: int | None) -> None:
        """Deletes all best checkpoints but the newest one of ``step``."""
        found = _complete(self._best)
        kept = [path for path in found if _step(path) == step][-1:]
        _delete([path for path in found if path not in kept])

    def _newest(self, folder: pathlib.Path, step: int | None = None) -> pathlib.Path:
        found = [path for path in _complete(folder) if step is None or _step(path) == step]
        if not found:
            which = "" if step is None else f" of step {step}"
            raise CheckpointError(f"there is no checkpoint{which} in {folder}")
        return found[-1]


def _publish(parent: pathlib.Path, step: int, fill: Callable[[pathlib.Path], None]) -> pathlib.Path:
    """Fills a folder under another name and then gives it its own, in one move."""
    try:
        parent.mkdir(parents=True, exist_ok=True)
        _delete(list(parent.glob(f"{_UNFINISHED}*")))
        name, copies = str(step), 0
        while (parent / name).exists():
            copies += 1
            name = f"{step}.{copies}"
        unfinished = parent / f"{_UNFINISHED}{name}"
        unfinished.mkdir()
        try:
            fill(unfinished)
            _sync_all(unfinished)
            os.replace(unfinished, parent / name)
            _sync(parent)
        except BaseException:
            _delete([unfinished])
            raise
    except Exception as error:
        kept = _complete(parent)
        raise CheckpointError(
            f"the checkpoint of step {step} could not be written to {parent}: {_reason(error)}; "
            + (f"the one before it, {kept[-1]}, is kept" if kept else "there is none before it")
        ) from error
    return parent / name


def _dump(value: Any, path: pathlib.Path) -> None:
    with open(path, "wb") as file:
        pickle.dump(value, file)


def _sync_all(folder: pathlib.Path) -> None:
    """Waits until the folder is on the disk, so that a power failure cannot take it back."""
    for place, _, names in os.walk(folder):
        for name in names:
            _sync(pathlib.Path(place, name))
        _sync(pathlib.Path(place))


def _sync(path: pathlib.Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _reason(error: Exception) -> str:
    """The operating system's own words, where Orbax passes its number on."""
    number = _SYSTEM_ERROR.search(str(error))
    return os.strerror(int(number[1])) if number else first_line(error)


def _complete(parent: pathlib.Path) -> list[pathlib.Path]:
    """The complete checkpoints of a folder, the newest last."""
    if not parent.is_dir():
        return []
    return sorted((path for path in parent.iterdir() if _NAME.fullmatch(path.name)), key=_order)


def _order(path: pathlib.Path) -> tuple[int, int]:
    step, _, copy = path.name.partition(".")
    return int(step), int(copy or 0)


def _step(path: pathlib.Path) -> int:
    return _order(path)[0]


def _delete(folders: list[pathlib.Path]) -> None:
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)
