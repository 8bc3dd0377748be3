"""The parameter server: the newest variables, by version."""

from __future__ import annotations

import threading
from typing import Any

from mava.topologies.distributed.remote import exposed

_PATIENCE = 0.5


class ParameterServer:
    """Holds what the trainer published last.

    A version is the number of trainer steps that made it. Executors ask for another version
    than they have, so that nothing is sent twice.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._version = -1
        self._held: Any = None

    @exposed
    def publish(self, version: int, priority: float, variables: Any) -> None:
        """Replaces what is held.

        Args:
            version: trainer steps.
            priority: that new items of a prioritised replay begin with.
            variables: what acting needs, in numpy arrays.
        """
        with self._changed:
            self._version, self._held = version, (version, priority, variables)
            self._changed.notify_all()

    @exposed
    def other_than(self, version: int) -> tuple[int, float, Any] | None:
        """Version, priority and variables, or ``None`` where they are of that version; waits a
        moment for the first. (After a trainer was restarted the newest may have a lower version.)
        """
        with self._changed:
            self._changed.wait_for(lambda: self._held is not None, _PATIENCE)
            return self._held if self._version != version else None
