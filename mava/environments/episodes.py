"""Episodes that are under way: their seeds, their actions, and how to open them again."""

from __future__ import annotations

import pickle
from typing import Any, NamedTuple

import jax
import numpy as np

from mava.environments.base import Environment
from mava.types import EnvironmentSpec, TimeStep

MOST_BYTES = 64 * 2**20


def episode_seed(seed: int, stream: int, environment: int, episode: int) -> int:
    """The seed of one episode, below 2**31.

    Args:
        seed: of the run.
        stream: keeps users of the same seed apart (training, evaluation).
        environment: index among environments stepped together.
        episode: counts the resets of that environment.
    """
    entropy = np.random.SeedSequence((seed, stream, environment, episode))
    return int(entropy.generate_state(1)[0] >> 1)


class OpenEpisode(NamedTuple):
    """All that brings an episode back.

    Attributes:
        episode: which reset of the environment started it.
        seed: given to that reset.
        actions: taken since; per group ``[T, N, *actions.array.shape]``.
        timestep: the one to act on.
        pickled: the environment at this moment, where it pickles to at most 64 MiB.
    """

    episode: int
    seed: int
    actions: dict[str, np.ndarray]
    timestep: TimeStep
    pickled: bytes | None


class ActionRecord:
    """The actions of an episode under way."""

    def __init__(self, spec: EnvironmentSpec) -> None:
        self.length = 0
        self._buffers = {
            group.name: np.zeros((64, group.num_agents, *group.actions.array.shape), dtype)
            for group in spec.groups
            for dtype in (group.actions.array.dtype,)
        }

    def append(self, actions: dict[str, np.ndarray]) -> None:
        length = self.length
        for name, buffer in self._buffers.items():
            if length == len(buffer):
                self._buffers[name] = buffer = np.concatenate([buffer, np.zeros_like(buffer)])
            buffer[length] = actions[name]
        self.length = length + 1

    def clear(self) -> None:
        self.length = 0

    def copy(self) -> dict[str, np.ndarray]:
        return {name: buffer[: self.length].copy() for name, buffer in self._buffers.items()}


def pickled(environment: Environment) -> bytes | None:
    """The environment as bytes, or ``None`` where it does not pickle or is larger than 64 MiB.

    Gymnasium's ``EzPickle`` counts as neither: it brings back a new environment, not this moment.
    """
    try:
        data = pickle.dumps(environment)
    except Exception:  # any error of a foreign __getstate__ means the same: it does not pickle
        return None
    return None if len(data) > MOST_BYTES or b"_ezpickle_args" in data else data


def same(left: TimeStep, right: TimeStep) -> bool:
    """Whether two timesteps are equal to the bit."""
    structure: Any
    other: Any
    first, structure = jax.tree.flatten(left)
    second, other = jax.tree.flatten(right)
    return bool(structure == other) and all(
        a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
        for a, b in zip(map(np.asarray, first), map(np.asarray, second), strict=True)
    )


def replay(environment: Environment, opened: OpenEpisode) -> TimeStep:
    """Plays a recorded episode again, up to where it was."""
    timestep = environment.reset(opened.seed)
    for t in range(len(next(iter(opened.actions.values())))):
        timestep = environment.step({name: taken[t] for name, taken in opened.actions.items()})
    return timestep
