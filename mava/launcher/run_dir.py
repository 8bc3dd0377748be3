"""A run's directory: what was run, its checkpoints, and its result.

============================  ======================================================
``config.json``               what was run, for people
``system.pkl``                the system itself
``checkpoints/last/<step>``   the whole state, for resuming
``checkpoints/best/<step>``   what acting needs, at the best evaluation
``result.json``               written when the run is finished
============================  ======================================================
"""

from __future__ import annotations

import dataclasses
import json
import os
import pathlib
import pickle
import uuid
from typing import Any

import cloudpickle

from mava.core.system import System
from mava.errors import CheckpointError, ConfigurationError
from mava.launcher.arrays import first_line
from mava.launcher.checkpoints import Checkpoints


class RunDirectory:
    """The files of one run; reading is possible before anything is written."""

    def __init__(self, path: pathlib.Path) -> None:
        self.path = path
        self.checkpoints = Checkpoints(path / "checkpoints")

    @property
    def holds_run(self) -> bool:
        """Whether something would be lost by starting a run here."""
        return self.checkpoints.last_step is not None or (self.path / "result.json").exists()

    def check_writable(self) -> None:
        """Makes the directories and writes to each.

        Raises:
            ConfigurationError: naming the directory and the reason.
        """
        for folder in (self.path, self.path / "checkpoints"):
            probe = folder / f".probe-{uuid.uuid4().hex}"
            try:
                folder.mkdir(parents=True, exist_ok=True)
                probe.write_bytes(b"mava")
                probe.unlink()
            except OSError as error:
                raise ConfigurationError(
                    f"the run directory {folder} cannot be written ({error.strerror or error}); "
                    f"choose another run_dir"
                ) from error

    def write_config(self, system: System, facts: dict[str, Any]) -> None:
        """Writes what is run: for people with ``facts`` about it, and the system to load.

        Raises:
            ConfigurationError: naming the component and the field that do not pickle.
        """
        _write(self.path / "system.pkl", _pickled(system))
        config = {
            **facts,
            "system": system.name,
            "environment": system.environment.name,
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


def _pickled(system: System) -> bytes:
    try:
        return bytes(cloudpickle.dumps(system))
    except Exception as error:
        for component in system.components:
            for field in dataclasses.fields(component):  # type: ignore[arg-type]
                if not _pickles(getattr(component, field.name)):
                    raise ConfigurationError(
                        f"{component.name}.{field.name} does not pickle ({first_line(error)}), so "
                        f"the run could not be loaded again; make it a value or a function of a "
                        f"module"
                    ) from error
        raise ConfigurationError(
            f"the environment of {system.name} does not pickle ({first_line(error)}), so the run "
            f"could not be loaded again; make it from a name or a function of a module"
        ) from error


def _pickles(value: Any) -> bool:
    try:
        cloudpickle.dumps(value)
    except Exception:
        return False
    return True
