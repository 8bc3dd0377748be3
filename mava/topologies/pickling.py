"""Systems as bytes."""

from __future__ import annotations

import dataclasses
from typing import Any

import cloudpickle

from mava.core.system import System
from mava.errors import ConfigurationError, first_line


def pickled_system(system: System, consequence: str) -> bytes:
    """The system as bytes, for another process.

    Args:
        system: what to pickle.
        consequence: of one that does not pickle, for the message.

    Raises:
        ConfigurationError: naming the component and the field that do not pickle.
    """
    try:
        return bytes(cloudpickle.dumps(system))
    except Exception as error:
        for component in system.components:
            for field in dataclasses.fields(component):  # type: ignore[arg-type]
                if not _pickles(getattr(component, field.name)):
                    raise ConfigurationError(
                        f"{component.name}.{field.name} does not pickle ({first_line(error)}), so "
                        f"{consequence}; make it a value or a function of a module"
                    ) from error
        raise ConfigurationError(
            f"the environment of {system.name} does not pickle ({first_line(error)}), so "
            f"{consequence}; make it from a name or a function of a module"
        ) from error


def _pickles(value: Any) -> bool:
    try:
        cloudpickle.dumps(value)
    except Exception:
        return False
    return True
