"""A run's directory: what was run, its checkpoints, and its result.

============================  ======================================================
``config.json``               what was run, for people
``system.pkl``                the system itself
``checkpoints/last/<step>``   the whole state, for resuming
``checkpoints/best/<step>``   what acting needs, at the best evaluation
``result.json``               written when the run is finished
``.lock``                     locked while a process works here, whose number it holds
============================  ======================================================
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import pathlib
import pickle
import uuid
from collections.abc import Iterator
from typing import Any

from mava.core.system import System
from mava.errors import CheckpointError, ConfigurationError, first_line
from mava.launcher.checkpoints import Checkpoints

_LOCK = ".lock"
_CANNOT_LOCK = (errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOLCK)


class RunDirectory:
    """The files of one run; reading is possible before anything is written."""

    def __init__(self, path: pathlib.Path) -> None:
        self.path = path
        self.checkpoints = Checkpoints(path / "checkpoints")

    @property
    def content(self) -> list[str]:
        """Names of what is there, sorted, but for the lock; empty also without a directory."""
        if not self.path.is_dir():
            return []
        return sorted(path.name for path in self.path.iterdir() if path.name != _LOCK)

    @property
    def has_lock(self) -> bool:
        """Whether a run ever locked the directory."""
        return (self.path / _LOCK).exists()

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Makes the directory, and keeps other runs out of it while entered.

        Where the file system has no locks there is none.

        Raises:
            ConfigurationError: another process works there, or the directory cannot be written;
                names it and the reason.
        """
        with _refusing(self.path):
            self.path.mkdir(parents=True, exist_ok=True)
            file = open(self.path / _LOCK, "a+")  # noqa: SIM115  # closed below
        with file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                if error.errno not in _CANNOT_LOCK:
                    file.seek(0)
                    raise ConfigurationError(
                        f"process {file.read().strip() or 'of an unknown number'} is running in "
                        f"{self.path}; wait until it has ended, or choose another run_dir"
                    ) from error
            with _refusing(self.path):
                file.truncate(0)
                file.write(f"{os.getpid()}\n")
                file.flush()
            try:
                yield
            finally:
                # Closing is not enough: a worker that an environment forked shares the lock.
                with contextlib.suppress(OSError):
                    fcntl.flock(file, fcntl.LOCK_UN)

    def check_writable(self) -> None:
        """Writes to the directory, and to that of its checkpoints if there is one.

        Raises:
            ConfigurationError: naming the directory and the reason.
        """
        for folder in (self.path, self.path / "checkpoints"):
            if folder == self.path or folder.exists():
                probe = folder / f".probe-{uuid.uuid4().hex}"
                with _refusing(folder):
                    probe.write_bytes(b"mava")
                    probe.unlink()

    def write_config(self, system: System, pickled: bytes, facts: dict[str, Any]) -> None:
        """Writes what is run: for people with ``facts`` about it, and the system to load.

        Args:
            system: what is run.
            pickled: the same, by ``pickled_system``.
            facts: JSON.
        """
        _write(self.path / "system.pkl", pickled)
        config = {
            **facts,
            "system": system.name,
            "environment": system.environment.name,
            "environment_kwargs": {
                name: repr(value) for name, value in getattr(system.environment, "kwargs", ())
            },
            "components": {c.name: repr(c) for c in system.components},
            "description": system.describe().splitlines(),
        }
        _write(self.path / "config.json", (json.dumps(config, indent=2) + "\n").encode())

    def load_config(self) -> dict[str, Any]:
        """``config.json``.

        Raises:
            CheckpointError: it cannot be read.
        """
        return self._json("config.json")

    def load_system(self) -> System:
        """The system as it was run.

        Raises:
            CheckpointError: it cannot be read, for example since its classes have moved.
        """
        path = self.path / "system.pkl"
        try:
            system = pickle.loads(path.read_bytes())
        except Exception as error:
            raise CheckpointError(f"{path} cannot be read: {first_line(error)}") from error
        if not isinstance(system, System):
            raise CheckpointError(f"{path} holds no system but {type(system).__name__}")
        return system

    def write_result(self, record: dict[str, Any] | None) -> None:
        """Writes ``result.json``, or takes it away before the run goes on (``None``)."""
        path = self.path / "result.json"
        if record is None:
            path.unlink(missing_ok=True)
        else:
            _write(path, (json.dumps(record, indent=2) + "\n").encode())

    def load_result(self) -> dict[str, Any] | None:
        """``result.json``; ``None`` when the run has not finished."""
        return self._json("result.json") if (self.path / "result.json").exists() else None

    def _json(self, name: str) -> dict[str, Any]:
        path = self.path / name
        try:
            found: dict[str, Any] = json.loads(path.read_text())
        except (OSError, ValueError) as error:
            raise CheckpointError(f"{path} cannot be read: {first_line(error)}") from error
        return found


def _write(path: pathlib.Path, data: bytes) -> None:
    unfinished = path.with_name(f".{path.name}.unfinished")
    try:
        unfinished.write_bytes(data)
        os.replace(unfinished, path)
    except OSError as error:
        raise CheckpointError(f"{path} cannot be written: {first_line(error)}") from error


@contextlib.contextmanager
def _refusing(folder: pathlib.Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise ConfigurationError(
            f"the run directory {folder} cannot be written ({error.strerror or error}); "
            f"choose another run_dir"
        ) from error
