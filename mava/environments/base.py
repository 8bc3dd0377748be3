"""The two kinds of environment: stepped by the host, or pure JAX functions.

Neither resets by itself: the timestep whose ``end`` is true is the true end of an episode, and
whoever steps the environment resets it.
"""

from __future__ import annotations

import abc
from collections.abc import Mapping
from typing import ClassVar

import jax
import numpy as np

from mava.types import EnvironmentSpec, PyTree, TimeStep

Actions = Mapping[str, np.ndarray]


class Environment(abc.ABC):
    """An environment that the host steps: stateful, numpy in and out.

    Attributes:
        checks_finite: whether ``reset`` and ``step`` themselves raise for rewards, observations and
            states that are not finite; else ``mava.environments.check_finite`` does.
    """

    checks_finite: ClassVar[bool] = False

    @property
    @abc.abstractmethod
    def spec(self) -> EnvironmentSpec: ...

    @abc.abstractmethod
    def reset(self, seed: int) -> TimeStep:
        """Starts an episode. The same seed and the same actions give the same episode."""

    @abc.abstractmethod
    def step(self, actions: Actions) -> TimeStep:
        """Takes the joint action, per group ``[N, *actions.array.shape]``; rows of agents that are
        not alive are ignored. Arrays returned earlier are not written to again.

        Raises:
            mava.errors.EnvironmentFault: the environment failed, or returned what its own spaces do
                not allow; the message names the agent and the leaf.
        """

    def render(self) -> np.ndarray | None:
        """The current frame, uint8 ``[height, width, 3]``; ``None`` where there is no picture."""
        return None

    def close(self) -> None:  # noqa: B027 (most environments hold nothing)
        """Frees windows and files. Calling it twice is harmless."""


class JaxEnvironment(abc.ABC):
    """An environment of pure functions, to be jitted, vmapped and scanned."""

    @property
    @abc.abstractmethod
    def spec(self) -> EnvironmentSpec: ...

    @abc.abstractmethod
    def reset(self, key: jax.Array) -> tuple[PyTree, TimeStep]:
        """Starts an episode: the environment's state and the first timestep."""

    @abc.abstractmethod
    def step(self, state: PyTree, actions: Mapping[str, jax.Array]) -> tuple[PyTree, TimeStep]:
        """One transition. Never resets; randomness comes from a key held in ``state``."""

    def render(self, state: PyTree) -> np.ndarray | None:
        """A picture of a state, uint8 ``[height, width, 3]``; ``None`` where there is none. Stays
        outside of compiled programs: ``state`` holds concrete arrays."""
        return None
