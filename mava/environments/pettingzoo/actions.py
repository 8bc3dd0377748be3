"""Action spaces: Mava's form of an action, and the way back to the environment's."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from gymnasium import spaces

from mava.environments.pettingzoo.spaces import UnsupportedSpace, choices
from mava.types import ContinuousActions, DiscreteActions, MultiDiscreteActions

_MOST_OPTIONS = 4096


def decoder_for(space: spaces.Space[Any]) -> Decoder:
    """Raises ``UnsupportedSpace`` where Mava has no such action."""
    if isinstance(space, spaces.Discrete):
        return DiscreteDecoder(DiscreteActions(int(space.n), int(space.start)))
    if isinstance(space, spaces.MultiDiscrete):
        sizes, starts = choices(space)
        return _integers(sizes, starts, space)
    if isinstance(space, spaces.MultiBinary):
        size = int(np.prod(space.shape))
        return _integers([2] * size, [0] * size, space)
    if isinstance(space, spaces.Box) and np.issubdtype(space.dtype, np.floating):
        low, high = space.low.reshape(-1).tolist(), space.high.reshape(-1).tolist()
        actions = ContinuousActions(tuple(space.shape), tuple(low), tuple(high))
        return ArrayDecoder(actions, tuple(space.shape), np.dtype(space.dtype))
    if isinstance(space, spaces.Box):
        return _integer_box(space)
    raise UnsupportedSpace(f"a {type(space).__name__}: {space}")


def _integers(sizes: list[int], starts: list[int], space: spaces.Space[Any]) -> ArrayDecoder:
    actions = MultiDiscreteActions(tuple(sizes), tuple(starts))
    dtype = np.dtype(space.dtype or np.int64)
    return ArrayDecoder(actions, tuple(space.shape or ()), dtype)


def _integer_box(space: spaces.Box) -> ArrayDecoder:
    # A fraction would be cut off on the way to the environment: whole numbers are choices.
    low = space.low.astype(np.int64).reshape(-1)
    sizes = space.high.astype(np.int64).reshape(-1) - low + 1
    if np.any(sizes < 1) or np.any(sizes > _MOST_OPTIONS):
        raise UnsupportedSpace(
            f"a Box of whole numbers with more than {_MOST_OPTIONS} options each: {space}; "
            "declare it float32 if it is continuous"
        )
    return _integers(sizes.tolist(), low.tolist(), space)


@dataclasses.dataclass(frozen=True)
class DiscreteDecoder:
    actions: DiscreteActions

    def decode(self, joint: np.ndarray) -> list[Any]:
        """``[N]`` -> one ``int`` per agent."""
        values: list[Any] = joint.tolist()
        start = self.actions.start
        return [value + start for value in values] if start else values

    @property
    def idle(self) -> Any:
        """What an agent does that is out of the game and yet asked."""
        return self.actions.start


@dataclasses.dataclass(frozen=True)
class ArrayDecoder:
    """Actions that are arrays of ``shape`` and ``dtype`` on the environment's side."""

    actions: MultiDiscreteActions | ContinuousActions
    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    def decode(self, joint: np.ndarray) -> list[Any]:
        """``[N, *]`` -> one new array per agent."""
        if isinstance(self.actions, MultiDiscreteActions):
            joint = joint + np.asarray(self.actions.start)
        return list(joint.astype(self.dtype).reshape(len(joint), *self.shape))

    @property
    def idle(self) -> Any:
        """What an agent does that is out of the game and yet asked."""
        if isinstance(self.actions, MultiDiscreteActions):
            flat = np.asarray(self.actions.start)
        else:
            flat = np.clip(0.0, self.actions.low, self.actions.high)
        return flat.astype(self.dtype).reshape(self.shape)


Decoder = DiscreteDecoder | ArrayDecoder
