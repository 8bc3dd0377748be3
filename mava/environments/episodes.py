"""Episodes that are under way: their seeds, their actions, and how to open them again."""

from __future__ import annotations

import pickle
from typing import Any, NamedTuple

import jax
import numpy as np

from mava.environments.base import Environment
from mava.types import EnvironmentSpec, TimeStep

MOST_BYTES = 64 * 2**20

MOST_STEPS = 100_000
"""An episode's actions are recorded up to this step; a longer one is brought back by its pickle."""


class OpenEpisode(NamedTuple):
    """All that brings an episode back.

    Attributes:
        episode: which reset of the environment started it.
        seed: given to that reset.
        steps: taken since.
        actions: the joint actions of those steps, per group ``[steps, N, *actions.array.shape]``;
            none at all of an episode with more than ``MOST_STEPS`` steps.
        timestep: the one to act on.
        pickled: the environment at this moment, where it pickles to at most 64 MiB.
    """

    episode: int
    seed: int
    steps: int
    actions: dict[str, np.ndarray]
    timestep: TimeStep
    pickled: bytes | None


class ActionRecord:
    """The actions of an episode under way.

    Attributes:
        steps: of the episode so far.
    """

    def __init__(self, spec: EnvironmentSpec, most_steps: int = MOST_STEPS) -> None:
        self._most = most_steps
        self._spec = spec
        self._buffers = self._empty()
        self.steps = 0

    def append(self, actions: dict[str, np.ndarray]) -> None:
        steps = self.steps
        self.steps = steps + 1
        if steps >= self._most:
            if steps == self._most:
                self._buffers = self._empty()
            return
        for name, buffer in self._buffers.items():
            if steps == len(buffer):
                self._buffers[name] = buffer = np.concatenate([buffer, np.zeros_like(buffer)])
            buffer[steps] = actions[name]

    def clear(self) -> None:
        self.steps = 0

    def copy(self) -> dict[str, np.ndarray]:
        kept = self.steps if self.steps <= self._most else 0
        return {name: buffer[:kept].copy() for name, buffer in self._buffers.items()}

    def go_on_from(self, opened: OpenEpisode) -> None:
        self.clear()
        for t in range(_recorded(opened)):
            self.append({name: taken[t] for name, taken in opened.actions.items()})
        self.steps = opened.steps

    def _empty(self) -> dict[str, np.ndarray]:
        return {
            group.name: np.zeros((64, group.num_agents, *array.shape), array.dtype)
            for group in self._spec.groups
            for array in (group.actions.array,)
        }


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
    for t in range(opened.steps):
        timestep = environment.step({name: taken[t] for name, taken in opened.actions.items()})
    return timestep


def why_not_replayed(environment: Environment, opened: OpenEpisode) -> str | None:
    """Plays a recorded episode again; ``None`` where the environment is then as it was, for all
    that its timestep and its pickle show, else what is amiss."""
    if _recorded(opened) < opened.steps:
        return f"it has {opened.steps} steps, and actions are recorded up to step {MOST_STEPS}"
    try:
        timestep = replay(environment, opened)
    except Exception as error:  # whatever fails, there may be a pickle
        return f"playing it again failed: {error}"
    if not same(timestep, opened.timestep):
        return "playing it again from its seed and actions led to another timestep"
    # Environments may hide from a timestep what will tell later, such as a random generator that no
    # reset seeds. Bytes that differ although nothing else does cost nothing: the pickle is exact.
    if opened.pickled is not None and pickled(environment) != opened.pickled:
        return "playing it again led to the same timestep with another inner state"
    return None


def unpickled(opened: OpenEpisode, spec: EnvironmentSpec) -> Environment | None:
    """The pickled environment, where there is one and it fits the specification."""
    if opened.pickled is None:
        return None
    try:
        environment = pickle.loads(opened.pickled)
    except Exception:  # as for pickling: it does not pickle
        return None
    fits = isinstance(environment, Environment) and environment.spec == spec
    return environment if fits else None


def _recorded(opened: OpenEpisode) -> int:
    return len(next(iter(opened.actions.values())))
