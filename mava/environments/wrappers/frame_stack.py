"""The last observations side by side."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from mava.environments.wrappers.wrap import Wrapper
from mava.errors import ConfigurationError
from mava.types import Array, ArraySpec, EnvironmentSpec, PyTree, TimeStep


@dataclasses.dataclass(frozen=True)
class FrameStack(Wrapper):
    """Shows each agent its last ``frames`` observations, the oldest first (Mnih et al., 2015).

    They lie along the last axis: ``[O]`` becomes ``[frames * O]``, an image ``[H, W, C]`` becomes
    ``[H, W, frames * C]``. An episode begins with copies of its first observation; its last stack
    ends with its true last observation. The global state and the masks stay as they are. A replay
    buffer keeps every stack, so it needs ``frames`` times the memory.

    Attributes:
        frames: observations in a stack.

    Raises:
        ConfigurationError: for fewer than 1 frame.
    """

    frames: int = 4

    def __post_init__(self) -> None:
        if isinstance(self.frames, bool) or not isinstance(self.frames, int) or self.frames < 1:
            raise ConfigurationError(
                f"frames in a stack are {self.frames!r}; give a whole number of at least 1"
            )

    def spec(self, spec: EnvironmentSpec) -> EnvironmentSpec:
        groups = tuple(
            dataclasses.replace(group, observation=self._stacked(group.observation))
            for group in spec.groups
        )
        return dataclasses.replace(spec, groups=groups)

    def first(self, timestep: TimeStep) -> tuple[PyTree, TimeStep]:
        stacks = {
            name: _joined([_last_axis(x)] * self.frames) for name, x in timestep.observation.items()
        }
        return stacks, timestep._replace(observation=stacks)

    def following(self, carried: PyTree, timestep: TimeStep) -> tuple[PyTree, TimeStep]:
        stacks = {}
        for name, observation in timestep.observation.items():
            newest = _last_axis(observation)
            stacks[name] = _joined([carried[name][..., newest.shape[-1] :], newest])
        return stacks, timestep._replace(observation=stacks)

    def _stacked(self, spec: ArraySpec) -> ArraySpec:
        *rest, size = spec.shape or (1,)
        return ArraySpec((*rest, self.frames * size), spec.dtype)


def _last_axis(observation: Array) -> Array:
    """``[N, *O]``, with an axis for observations that are one number."""
    return observation[:, None] if observation.ndim == 1 else observation


def _joined(parts: list[Any]) -> Array:
    on_device = any(isinstance(part, jax.Array) for part in parts)
    return jnp.concatenate(parts, axis=-1) if on_device else np.concatenate(parts, axis=-1)
