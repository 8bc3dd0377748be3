"""What a node prints, in a file that cannot fill the disk."""

from __future__ import annotations

import contextlib
import os
import pathlib
import threading

MOST_BYTES = 10_000_000


class BoundedLog:
    """A pipe into a file: whatever is written to ``descriptor`` is appended, the first
    ``most_bytes`` of it.

    Args:
        path: of the file.
        most_bytes: that are kept; then a line says so, and the rest is dropped.
    """

    def __init__(self, path: pathlib.Path, most_bytes: int = MOST_BYTES) -> None:
        self._path, self._left = path, most_bytes
        self._reader, self.descriptor = os.pipe()
        self._thread = threading.Thread(target=self._copy, daemon=True)
        self._thread.start()

    def _copy(self) -> None:
        with self._path.open("ab", buffering=0) as file:
            while part := os.read(self._reader, 65536):
                with contextlib.suppress(OSError):  # a full disk must not hold up the node
                    file.write(part[: self._left])
                    if 0 < self._left <= len(part):
                        file.write(b"\n[this log is full; what follows is not kept]\n")
                self._left = max(0, self._left - len(part))

    def close(self, seconds: float = 1.0) -> None:
        """Ends the file, once every process that writes to it has ended."""
        os.close(self.descriptor)
        self._thread.join(seconds)
        if not self._thread.is_alive():
            os.close(self._reader)
