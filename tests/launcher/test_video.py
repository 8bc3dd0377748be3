"""Videos: every frame, for its time, and only whole files."""

from __future__ import annotations

import pathlib
import shutil
import subprocess
from typing import Any

import numpy as np
import pytest
from PIL import Image

from mava.errors import ConfigurationError
from mava.launcher.video import video


def frames(number: int, height: int = 8, width: int = 12) -> list[np.ndarray]:
    """Frames of few colours, each another."""
    made = []
    for index in range(number):
        frame = np.full((height, width, 3), 255, np.uint8)
        frame[:, index : index + 2] = (0, 114, 40 * index)
        made.append(frame)
    return made


def write(path: pathlib.Path, shown: list[np.ndarray], fps: int = 10, hold: float = 0.5) -> None:
    with video(path, fps) as made:
        for index, frame in enumerate(shown):
            made.add(frame, hold if index == len(shown) - 1 else 0.0)
        assert made.frames == len(shown)


def read(path: pathlib.Path) -> tuple[list[np.ndarray], list[int]]:
    """The frames of a GIF, and how many milliseconds each is shown."""
    found, times = [], []
    with Image.open(path) as image:
        for index in range(image.n_frames):  # type: ignore[attr-defined]
            image.seek(index)
            found.append(np.asarray(image.convert("RGB")))
            times.append(int(image.info["duration"]))
    return found, times


def test_a_gif_has_every_frame_for_its_time(tmp_path: pathlib.Path) -> None:
    shown = frames(4)
    write(tmp_path / "new folder" / "a.gif", shown, fps=20)
    found, times = read(tmp_path / "new folder" / "a.gif")
    assert times == [50, 50, 50, 550]
    np.testing.assert_array_equal(found, shown)


def test_times_of_a_gif_are_to_the_nearest_hundredth(tmp_path: pathlib.Path) -> None:
    write(tmp_path / "a.gif", frames(2), fps=15)
    assert read(tmp_path / "a.gif")[1] == [70, 570]


def test_equal_frames_in_a_row_are_one_for_as_long(tmp_path: pathlib.Path) -> None:
    first, second = frames(2)
    write(tmp_path / "a.gif", [first, first, first, second])
    found, times = read(tmp_path / "a.gif")
    assert times == [300, 600]
    np.testing.assert_array_equal(found, [first, second])


class Stop(BaseException):
    pass


@pytest.mark.parametrize("kind", [ValueError, Stop])
def test_a_failure_keeps_the_old_file_and_leaves_no_other(
    tmp_path: pathlib.Path, kind: Any
) -> None:
    path = tmp_path / "a.gif"
    path.write_bytes(b"old")

    def fail() -> None:
        with video(path, 10) as made:
            made.add(frames(1)[0])
            raise kind

    with pytest.raises(kind):
        fail()
    assert [(file.name, file.read_bytes()) for file in tmp_path.iterdir()] == [("a.gif", b"old")]


def test_frames_have_one_size(tmp_path: pathlib.Path) -> None:
    small, large = frames(1)[0], frames(1, height=10)[0]
    with pytest.raises(ConfigurationError, match=r"shape \(10, 12, 3\) follows others of \(8"):
        write(tmp_path / "a.gif", [small, large])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "fps", "message"),
    [
        ("a.avi", 10, "ends in '.avi'; a video is a .gif or an .mp4"),
        ("a", 10, "ends in ''"),
        ("a.gif", 0, "fps is 0; give a whole number from 1 to 50"),
        ("a.gif", 51, "fps is 51"),
        ("folder.gif", 10, "is a directory"),
    ],
)
def test_refused(tmp_path: pathlib.Path, name: str, fps: int, message: str) -> None:
    (tmp_path / "folder.gif").mkdir()
    with pytest.raises(ConfigurationError, match=message):
        video(tmp_path / name, fps)
    assert len(list(tmp_path.iterdir())) == 1


def test_where_it_cannot_be_written(tmp_path: pathlib.Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigurationError, match=r"the video .*a\.gif cannot be written"):
        write(tmp_path / "file" / "a.gif", frames(1))


def test_mp4_needs_ffmpeg(tmp_path: pathlib.Path, monkeypatch: Any) -> None:
    monkeypatch.setattr("mava.launcher.video._ffmpeg", lambda: None)
    with pytest.raises(ConfigurationError, match=r"a\.mp4 needs ffmpeg: install it, or pip"):
        video(tmp_path / "a.mp4", 10)


def test_mp4_is_what_ffmpeg_is_told(tmp_path: pathlib.Path, monkeypatch: Any) -> None:
    """By a program in its place that keeps its arguments and what it is sent."""
    kept, program = tmp_path / "kept", tmp_path / "ffmpeg"
    kept.mkdir()
    program.write_text(
        f'#!/bin/sh\nprintf "%s\\n" "$@" >{kept}/told\ncat >{kept}/sent\n'
        'for last; do :; done\necho video >"$last"\n'
    )
    program.chmod(0o755)
    monkeypatch.setattr("mava.launcher.video._ffmpeg", lambda: str(program))
    shown = frames(3, height=7)
    write(tmp_path / "a.mp4", shown, fps=4, hold=1.0)
    told = (kept / "told").read_text().split()
    assert told[told.index("-s") + 1] == "12x7"
    assert told[told.index("-r") + 1] == "4"
    assert (tmp_path / "a.mp4").read_text() == "video\n"
    # The last one is shown for a second more: four times more.
    sent = np.frombuffer((kept / "sent").read_bytes(), np.uint8).reshape(-1, 7, 12, 3)
    np.testing.assert_array_equal(sent, [*shown[:2], *[shown[2]] * 5])


@pytest.mark.parametrize("first", ["cat >/dev/null", "exec <&-"])
def test_a_failure_of_ffmpeg_is_told(tmp_path: pathlib.Path, monkeypatch: Any, first: str) -> None:
    """Whether it comes before or after the frames were taken."""
    program = tmp_path / "ffmpeg"
    program.write_text(f"#!/bin/sh\n{first}\necho 'Unknown encoder' >&2\nexit 1\n")
    program.chmod(0o755)
    monkeypatch.setattr("mava.launcher.video._ffmpeg", lambda: str(program))
    with pytest.raises(ConfigurationError, match=r"cannot be written: ffmpeg failed: Unknown enc"):
        write(tmp_path / "a.mp4", frames(3, height=300, width=400))
    assert [file.name for file in tmp_path.iterdir()] == ["ffmpeg"]


@pytest.mark.skipif(shutil.which("ffmpeg") is None, reason="there is no ffmpeg")
def test_mp4_by_ffmpeg(tmp_path: pathlib.Path) -> None:
    write(tmp_path / "a.mp4", frames(6, height=63, width=65))
    command = ["ffmpeg", "-i", str(tmp_path / "a.mp4"), "-f", "rawvideo", "-pix_fmt", "rgb24", "-"]
    raw = subprocess.run(command, check=True, capture_output=True).stdout
    # Padded to even sizes; the last is shown for six times as long.
    assert len(raw) == 11 * 64 * 66 * 3
