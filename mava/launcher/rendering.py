"""Videos of a run's policy."""

from __future__ import annotations

import dataclasses
import os
import pathlib
from collections.abc import Callable
from typing import Any

import numpy as np

from mava.environments.base import Environment
from mava.environments.pictures import build_to_draw, frame_of
from mava.environments.seeds import episode_seed
from mava.errors import ConfigurationError
from mava.launcher.policy import Policy, load_policy
from mava.launcher.run_dir import RunDirectory
from mava.launcher.video import video
from mava.topologies.host_episodes import EVALUATION_STREAM

FPS = 10
MOST_STEPS = 500
_HOLD = 1.0
"""Seconds for which the end of an episode is shown on."""


@dataclasses.dataclass(frozen=True)
class Rendering:
    """A video, and the episodes that it shows.

    Attributes:
        path: of the video.
        frames: in it, the first and the last of each episode among them.
        returns: per episode, the mean over agents of their undiscounted returns.
        lengths: per episode, in environment steps.
        cut: how many of the episodes were left before they ended.
    """

    path: pathlib.Path
    frames: int
    returns: tuple[float, ...]
    lengths: tuple[int, ...]
    cut: int

    def as_json(self) -> dict[str, Any]:
        fields = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        return {**fields, "path": str(self.path)}


def render(
    run_dir: str | os.PathLike[str],
    path: str | os.PathLike[str],
    *,
    episodes: int = 1,
    seed: int = 0,
    policy: str = "best",
    fps: int = FPS,
    max_steps: int = MOST_STEPS,
    seed_index: int = 0,
) -> Rendering:
    """Writes a video of a run's greedy policy in its environment.

    Every step is a frame, from the first observation to the true last one, which is shown for a
    second. The same seed gives the same episodes, and those of ``mava evaluate``.

    A run's directory holds pickles: load only runs that you trust.

    Args:
        run_dir: of ``launch``.
        path: the file; ``.gif``, or ``.mp4`` where there is ffmpeg. It replaces an older one once
            it is complete.
        episodes: one after the other.
        seed: of the episodes.
        policy: ``"best"``, by mean return in evaluation, or ``"last"``.
        fps: steps per second, up to 50.
        max_steps: an episode is left after so many.
        seed_index: of the runs that were trained together, from 0.

    Raises:
        ConfigurationError: as ``load_policy``; the environment has no picture; or the file cannot
            be written.
        CheckpointError: the checkpoint cannot be read.
        EnvironmentFault: the environment failed.
    """
    for name, value in (("episodes", episodes), ("max_steps", max_steps)):
        if value < 1:
            raise ConfigurationError(f"{name} is {value}; give at least 1")
    output = pathlib.Path(path).expanduser()
    made = video(output, fps)
    acting = load_policy(run_dir, policy, seed_index)
    system = RunDirectory(pathlib.Path(run_dir).expanduser()).load_system()
    environment = build_to_draw(system.environment)
    try:
        environment.reset(seed)
        frame_of(environment)  # what has no picture is refused before anything is written
        with made:
            played = [
                play(
                    acting,
                    environment,
                    episode_seed(seed, EVALUATION_STREAM, 0, index),
                    lambda frame, over: made.add(frame, _HOLD if over else 0.0),
                    max_steps,
                )
                for index in range(episodes)
            ]
    finally:
        environment.close()
    returns, lengths, ended = zip(*played, strict=True)
    return Rendering(output, made.frames, returns, lengths, cut=ended.count(False))


def play(
    policy: Policy,
    environment: Environment,
    seed: int,
    show: Callable[[np.ndarray, bool], None],
    max_steps: int = MOST_STEPS,
) -> tuple[float, int, bool]:
    """Plays one episode and shows each of its frames.

    Args:
        policy: what acts.
        environment: with a picture; see ``mava.environments.pictures.build_to_draw``.
        seed: of the episode.
        show: given a frame, uint8 ``[height, width, 3]``, and whether it is the last.
        max_steps: at most.

    Returns:
        The mean over agents of their undiscounted returns, the steps, and whether the episode
        ended.

    Raises:
        ConfigurationError: the environment has no picture.
        EnvironmentFault: it failed.
    """
    policy.reset()
    timestep = environment.reset(seed)
    totals = [np.zeros(group.num_agents) for group in environment.spec.groups]
    names = environment.spec.group_names
    length = 0
    show(frame_of(environment), False)
    while not timestep.end and length < max_steps:
        timestep = environment.step(policy(timestep))
        totals = [total + timestep.reward[name] for name, total in zip(names, totals, strict=True)]
        length += 1
        show(frame_of(environment), bool(timestep.end) or length == max_steps)
    return float(np.concatenate(totals).mean()), length, bool(timestep.end)
