"""The process that holds the replay's table."""

from __future__ import annotations

import contextlib
import io
import pathlib
import shutil
import tempfile
import time
import zipfile
from collections.abc import Callable
from typing import Any, NamedTuple

import reverb
from reverb.platform.checkpointers_lib import DefaultCheckpointer

from mava.errors import CheckpointError
from mava.topologies.distributed.tables import TABLE

_ATTEMPTS = 10


class Counts(NamedTuple):
    """What a table has seen.

    Attributes:
        size: items that it holds.
        inserted: items inserted, over the whole run.
        sampled: items sampled, over the whole run; those drawn ahead among them.
    """

    size: int
    inserted: int
    sampled: int


class ReplayServer:
    """The server, in this process.

    It listens on every interface, since Reverb offers no choice, and asks nobody who they are.

    Args:
        make: makes the table; called again by ``load``.
        port: where to listen.
    """

    def __init__(self, make: Callable[[], reverb.Table], port: int) -> None:
        self._make, self._port = make, port
        self._start(None)

    @property
    def address(self) -> str:
        return f"localhost:{self._port}"

    def _start(self, checkpoint: bytes | None) -> None:
        # The folder exists only while a checkpoint is written or read, so that a server that is
        # killed leaves nothing behind.
        with tempfile.TemporaryDirectory(prefix="mava-replay-") as folder:
            if checkpoint is not None:
                with zipfile.ZipFile(io.BytesIO(checkpoint)) as archive:
                    archive.extractall(folder)
            self._server: Any = reverb.Server(
                [self._make()], port=self._port, checkpointer=DefaultCheckpointer(folder)
            )
        self._client = reverb.Client(self.address)
        self._answers()

    def _answers(self) -> None:
        """Waits for the server's first answer. A connection that this process had to the server
        before may still be open, and its end is an error to whoever uses it next."""
        for _ in range(_ATTEMPTS - 1):
            with contextlib.suppress(RuntimeError):
                self._client.server_info(timeout=30)
                return
            time.sleep(0.1)
        self._client.server_info(timeout=30)

    def counts(self) -> Counts:
        info = self._client.server_info(timeout=30)[TABLE]
        limiter = info.rate_limiter_info
        return Counts(
            info.current_size, limiter.insert_stats.completed, limiter.sample_stats.completed
        )

    def save(self) -> bytes:
        """The table as it is at one moment: items, priorities and the limiter's counts. Items
        drawn and not yet trained on are counted as sampled; a queue no longer has them."""
        path = pathlib.Path(self._client.checkpoint())
        written = io.BytesIO()
        try:
            with zipfile.ZipFile(written, "w") as archive:
                for file in sorted(path.rglob("*")):
                    archive.write(file, file.relative_to(path.parent))
        finally:
            shutil.rmtree(path.parent)
        return written.getvalue()

    def load(self, checkpoint: bytes) -> None:
        """Starts anew, on the same port, from what ``save`` gave. Connect writers and samplers
        afterwards; where some are connected it takes up to five seconds.

        Raises:
            CheckpointError: these are not the bytes of a checkpoint of such a table.
        """
        if not _is_whole(checkpoint):
            raise CheckpointError(
                "the replay's checkpoint is damaged; resume from an earlier checkpoint of the run"
            )
        self.close()
        try:
            self._start(checkpoint)
        except (RuntimeError, zipfile.BadZipFile) as error:
            raise CheckpointError(f"the replay's checkpoint cannot be read: {error}") from error

    def close(self) -> None:
        """Ends the server; up to five seconds where somebody is connected."""
        if self._server is not None:
            self._server.stop()
            self._server = None


def _is_whole(checkpoint: bytes) -> bool:
    """Whether Reverb finished writing it, and all of it is there."""
    file = io.BytesIO(checkpoint)
    if not zipfile.is_zipfile(file):
        return False
    with zipfile.ZipFile(file) as archive:
        return any(pathlib.PurePath(name).name == "DONE" for name in archive.namelist())
