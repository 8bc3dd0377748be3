"""Ports of this machine that no other run takes."""

from __future__ import annotations

import fcntl
import os
import pathlib
import socket
import tempfile
from typing import IO

_TRIES = 100


class Ports:
    """Hands out free TCP ports, each locked by a file as long as this object is open.

    The servers of Launchpad and Reverb share a port with another such server without a word, so a
    free port is not enough: between asking for one and using it another run might do the same.
    """

    def __init__(self, folder: pathlib.Path | None = None) -> None:
        self._folder = folder or pathlib.Path(tempfile.gettempdir()) / f"mava-ports-{os.getuid()}"
        self._held: list[tuple[IO[str], pathlib.Path]] = []

    def take(self) -> int:
        """A port that nothing listens on and no other run holds.

        Raises:
            OSError: there is none.
        """
        self._folder.mkdir(mode=0o700, exist_ok=True)
        for _ in range(_TRIES):
            port = _free_port()
            path = self._folder / str(port)
            file = path.open("a")
            if _locked(file) and _is_still(file, path):
                self._held.append((file, path))
                return port
            file.close()
        raise OSError(f"found no free port in {_TRIES} tries")

    def close(self) -> None:
        """Gives all ports back."""
        for file, path in self._held:
            path.unlink(missing_ok=True)
            file.close()
        self._held = []


def _locked(file: IO[str]) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _is_still(file: IO[str], path: pathlib.Path) -> bool:
    """Whether the file was not deleted, by the run that held it before, since it was opened."""
    try:
        return os.fstat(file.fileno()).st_ino == path.stat().st_ino
    except FileNotFoundError:
        return False


def _free_port() -> int:
    with socket.socket(socket.AF_INET6 if socket.has_ipv6 else socket.AF_INET) as probe:
        probe.bind(("", 0))
        return int(probe.getsockname()[1])
