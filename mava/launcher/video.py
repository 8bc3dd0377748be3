"""Videos, frame by frame: GIF by Pillow, MP4 by ffmpeg where there is one.

A file appears when it is complete; until then, and after a failure, what was there stays.
"""

from __future__ import annotations

import abc
import contextlib
import importlib
import os
import pathlib
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from types import TracebackType
from typing import IO, TYPE_CHECKING

import numpy as np

from mava.errors import ConfigurationError

if TYPE_CHECKING:
    from PIL.Image import Image

MOST_FPS = 50
"""Frames last at least two hundredths of a second: viewers of GIF take less for far more."""


class Video(abc.ABC):
    """A file in the making; a context, which is completed where its body does not raise.

    Args:
        path: of the file.
        fps: frames per second, from 1 to 50.
    """

    def __init__(self, path: pathlib.Path, fps: int) -> None:
        self.frames = 0
        self._path, self._fps = path, fps
        self._unfinished = path.with_name(f".{path.stem}.unfinished{path.suffix}")
        self._shape: tuple[int, ...] = ()

    def __enter__(self) -> Video:
        with _refusing(self._path):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._unfinished.touch()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            if kind is None:
                with _refusing(self._path):
                    self._complete()
                    os.replace(self._unfinished, self._path)
        finally:
            self._release()
            self._unfinished.unlink(missing_ok=True)

    def add(self, frame: np.ndarray, seconds: float = 0.0) -> None:
        """Shows a frame, uint8 ``[height, width, 3]``, for its time and ``seconds`` longer.

        Raises:
            ConfigurationError: its size is not that of the others, or it cannot be written.
        """
        if frame.shape != (self._shape or frame.shape):
            raise ConfigurationError(
                f"a frame of shape {frame.shape} follows others of {self._shape}; a video has one "
                f"size, so record episodes one by one"
            )
        self._shape = frame.shape
        self.frames += 1
        with _refusing(self._path):
            self._add(np.ascontiguousarray(frame), 1 / self._fps + seconds)

    @abc.abstractmethod
    def _add(self, frame: np.ndarray, seconds: float) -> None: ...

    @abc.abstractmethod
    def _complete(self) -> None:
        """Writes the unfinished file to its end."""

    def _release(self) -> None:  # noqa: B027 (most hold nothing)
        """Frees what is held, whether the file is complete or given up."""


class GIF(Video):
    """Frames of 256 colours each, that are played over and over. Equal frames in a row become one
    that is shown for as long."""

    def __init__(self, path: pathlib.Path, fps: int) -> None:
        super().__init__(path, fps)
        self._images: list[Image] = []
        self._milliseconds: list[int] = []

    def _add(self, frame: np.ndarray, seconds: float) -> None:
        from PIL import Image

        full = Image.fromarray(frame)
        self._images.append(full.quantize(256, dither=Image.Dither.NONE))
        self._milliseconds.append(10 * round(100 * seconds))  # GIF counts in hundredths

    def _complete(self) -> None:
        first, *rest = self._images
        times = self._milliseconds
        first.save(self._unfinished, save_all=True, append_images=rest, duration=times, loop=0)


class MP4(Video):
    """H.264 by ffmpeg, of the system or of the package ``imageio-ffmpeg``.

    Raises:
        ConfigurationError: there is no ffmpeg.
    """

    def __init__(self, path: pathlib.Path, fps: int) -> None:
        super().__init__(path, fps)
        self._ffmpeg = _ffmpeg()
        if self._ffmpeg is None:
            raise ConfigurationError(
                f"{path} needs ffmpeg: install it, or pip install imageio-ffmpeg, or write a .gif"
            )
        self._process: subprocess.Popen[bytes] | None = None
        self._said: IO[bytes] | None = None

    def _add(self, frame: np.ndarray, seconds: float) -> None:
        self._process = self._process or self._start(*frame.shape[:2])
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(frame.tobytes() * max(1, round(self._fps * seconds)))
        except BrokenPipeError:
            self._complete()
            raise

    def _start(self, height: int, width: int) -> subprocess.Popen[bytes]:
        raw = f"-f rawvideo -pix_fmt rgb24 -s {width}x{height} -r {self._fps} -i -"
        # The codec takes even sizes only.
        coded = "-an -c:v libx264 -pix_fmt yuv420p -vf pad=ceil(iw/2)*2:ceil(ih/2)*2"
        command = [str(self._ffmpeg), "-y", "-loglevel", "error", *raw.split(), *coded.split()]
        command.append(str(self._unfinished))
        self._said = tempfile.TemporaryFile()  # noqa: SIM115  # a pipe could be full
        return subprocess.Popen(command, stdin=subprocess.PIPE, stderr=self._said)

    def _complete(self) -> None:
        assert self._process is not None
        assert self._said is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.communicate()
        if self._process.wait():
            self._said.seek(0)
            said = self._said.read().decode(errors="replace").strip().splitlines()
            raise OSError(f"ffmpeg failed: {said[-1] if said else self._process.returncode}")

    def _release(self) -> None:
        if self._process is not None:
            if self._process.poll() is None:
                self._process.kill()
            with contextlib.suppress(OSError, ValueError):
                self._process.communicate()
        if self._said is not None:
            self._said.close()


_KINDS: dict[str, type[Video]] = {".gif": GIF, ".mp4": MP4}


def video(path: pathlib.Path, fps: int) -> Video:
    """A video of the kind that the file's ending says.

    Raises:
        ConfigurationError: an ending of no kind, no ffmpeg, or frames per second out of bounds.
    """
    kind = _KINDS.get(path.suffix.lower())
    if kind is None:
        raise ConfigurationError(f"{path} ends in {path.suffix!r}; a video is a .gif or an .mp4")
    if path.is_dir():
        raise ConfigurationError(f"{path} is a directory; give the video another name")
    if isinstance(fps, bool) or not isinstance(fps, int) or not 1 <= fps <= MOST_FPS:
        raise ConfigurationError(f"fps is {fps!r}; give a whole number from 1 to {MOST_FPS}")
    return kind(path, fps)


def _ffmpeg() -> str | None:
    found = shutil.which("ffmpeg")
    if found is None:
        with contextlib.suppress(ImportError, RuntimeError):  # it is not there, or has no binary
            found = str(importlib.import_module("imageio_ffmpeg").get_ffmpeg_exe())
    return found


@contextlib.contextmanager
def _refusing(path: pathlib.Path) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError) as error:
        if isinstance(error, ConfigurationError):
            raise
        raise ConfigurationError(f"the video {path} cannot be written: {error}") from error
