"""Ctrl-C and termination as a request that the driver looks at between steps."""

from __future__ import annotations

import signal
import threading
from types import FrameType
from typing import Any


class Interruption:
    """While entered, the first SIGINT or SIGTERM sets ``requested``; the second raises.

    Only the main thread can own signal handlers: anywhere else this does nothing.

    Raises:
        KeyboardInterrupt: at the second signal, wherever the program is.
    """

    def __init__(self) -> None:
        self.requested: str | None = None
        self._previous: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Interruption:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self._previous[number] = signal.signal(number, self._handle)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._previous.items():
            # None stands for a handler that was not installed from Python and cannot be put back.
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
        self._previous.clear()

    def _handle(self, number: int, _: FrameType | None) -> None:
        if self.requested is not None:
            raise KeyboardInterrupt
        self.requested = signal.Signals(number).name
