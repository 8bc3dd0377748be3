"""Observation spaces: the array that an agent's observation becomes, and how to write it there.

A space that is one ``Box`` keeps its shape, and its dtype where JAX has it (64 bits become 32). Any
other space becomes a float32 vector: the leaves one after the other, in the order of the space; a
``Box`` or ``MultiBinary`` flat in C order, each choice of a ``Discrete`` or ``MultiDiscrete``
one-hot from its start.

An action mask is not part of the observation: the ``action_mask`` of a ``Dict`` space is taken out
first.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np
from gymnasium import spaces

from mava.types import ArraySpec

MASK = "action_mask"
_NARROWED = {"float64": "float32", "int64": "int32", "uint64": "uint32"}

Path = tuple[str | int, ...]
Leaves = tuple[tuple[Path, spaces.Space[Any]], ...]


class LeafFault(Exception):
    """A value that its space does not allow: which leaf, and why."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"{name_of(path)} {reason}")


class UnsupportedSpace(Exception):
    """A space, or a leaf of it, that has no array form."""


def name_of(path: Path) -> str:
    return "observation" + "".join(f"[{key!r}]" for key in path)


def narrow(dtype: Any) -> np.dtype[Any]:
    """The dtype that JAX keeps by default.

    >>> narrow("float64"), narrow("uint8")
    (dtype('float32'), dtype('uint8'))
    """
    declared: np.dtype[Any] = np.dtype(dtype)
    narrowed: np.dtype[Any] = np.dtype(_NARROWED.get(declared.name, declared))
    return narrowed


def has_mask(space: spaces.Space[Any]) -> bool:
    return isinstance(space, spaces.Dict) and MASK in space.spaces


def leaves_of(space: spaces.Space[Any]) -> Leaves:
    """The leaves in the order of the space, without the mask."""
    without = {MASK} if has_mask(space) else set()
    return _walk(space, (), without)


def _walk(space: spaces.Space[Any], path: Path, without: set[str]) -> Leaves:
    children: list[tuple[str | int, spaces.Space[Any]]]
    if isinstance(space, spaces.Dict):
        children = [(key, child) for key, child in space.spaces.items() if key not in without]
    elif isinstance(space, spaces.Tuple):
        children = list(enumerate(space.spaces))
    else:
        return ((path, space),)
    return tuple(leaf for key, child in children for leaf in _walk(child, (*path, key), set()))


def encoder_for(leaves: Leaves) -> Encoder:
    """Raises ``UnsupportedSpace`` where a leaf has no array form."""
    if len(leaves) == 1 and isinstance(leaves[0][1], spaces.Box):
        path, box = leaves[0]
        shape = tuple(box.shape or ())
        return ArrayEncoder(path, shape, ArraySpec(shape, narrow(box.dtype)))
    parts: list[Part] = []
    size = 0
    for path, space in leaves:
        part = _part(path, space, size)
        size = part.stop
        parts.append(part)
    return VectorEncoder(ArraySpec((size,), np.dtype(np.float32)), tuple(parts))


def _part(path: Path, space: spaces.Space[Any], begin: int) -> Part:
    if isinstance(space, (spaces.Box, spaces.MultiBinary)):
        shape = tuple(space.shape or ())
        return FlatPart(path, shape, begin, begin + int(np.prod(shape)))
    if isinstance(space, spaces.Discrete):
        return one_hot_part(path, (), [int(space.n)], [int(space.start)], begin)
    if isinstance(space, spaces.MultiDiscrete):
        sizes, starts = choices(space)
        return one_hot_part(path, space.nvec.shape, sizes, starts, begin)
    raise UnsupportedSpace(f"{name_of(path)} is a {type(space).__name__}: {space}")


def choices(space: Any) -> tuple[list[int], list[int]]:
    """Number of options and first option of each choice of a ``MultiDiscrete``, in C order."""
    start = getattr(space, "start", np.zeros_like(space.nvec))
    return space.nvec.reshape(-1).tolist(), np.asarray(start).reshape(-1).tolist()


def descend(value: Any, path: Path) -> Any:
    for depth, key in enumerate(path):
        try:
            value = value[key]
        except (KeyError, IndexError, TypeError) as error:
            raise LeafFault(path[: depth + 1], "is missing") from error
    return value


def cast(array: np.ndarray, dtype: np.dtype[Any], path: Path) -> np.ndarray:
    """Any number becomes the float that the space declares; integers must keep their value."""
    with np.errstate(invalid="ignore", over="ignore"):
        result = array.astype(dtype)
    if dtype.kind != "f" and not np.array_equal(result, array):
        raise LeafFault(path, f"has values of {array.dtype} that {dtype} cannot hold")
    return result


def as_shape(value: Any, shape: tuple[int, ...], path: Path) -> np.ndarray:
    array = np.asarray(value)
    if array.shape != shape:
        raise LeafFault(path, f"has shape {array.shape}, its space has {shape}")
    return array


@dataclasses.dataclass(frozen=True)
class ArrayEncoder:
    """One ``Box``."""

    path: Path
    shape: tuple[int, ...]
    spec: ArraySpec

    def write(self, value: Any, row: np.ndarray) -> None:
        """Writes an agent's observation into its row. Raises ``LeafFault``."""
        array = np.asarray(descend(value, self.path) if self.path else value)
        if array.shape != self.shape:
            raise LeafFault(self.path, f"has shape {array.shape}, its space has {self.shape}")
        row[...] = (
            array if array.dtype == self.spec.dtype else cast(array, self.spec.dtype, self.path)
        )

    def leaf_at(self, index: int) -> str:
        return name_of(self.path)


@dataclasses.dataclass(frozen=True)
class FlatPart:
    """A leaf that keeps its numbers."""

    path: Path
    shape: tuple[int, ...]
    begin: int
    stop: int

    def write(self, value: Any, row: np.ndarray) -> None:
        row[self.begin : self.stop] = as_shape(value, self.shape, self.path).reshape(-1)


@dataclasses.dataclass(frozen=True)
class OneHotPart:
    """A leaf of choices."""

    path: Path
    shape: tuple[int, ...]
    begin: int
    stop: int
    sizes: np.ndarray
    starts: np.ndarray
    offsets: np.ndarray

    def write(self, value: Any, row: np.ndarray) -> None:
        index = as_shape(value, self.shape, self.path).reshape(-1) - self.starts
        if np.any((index < 0) | (index >= self.sizes)):
            raise LeafFault(self.path, f"is {value}, outside of its space")
        row[self.begin : self.stop] = 0
        row[self.offsets + index.astype(np.int64)] = 1


Part = FlatPart | OneHotPart


def one_hot_part(
    path: Path, shape: tuple[int, ...], sizes: list[int], starts: list[int], begin: int
) -> OneHotPart:
    ends = begin + np.cumsum(sizes)
    return OneHotPart(
        path, shape, begin, int(ends[-1]), np.array(sizes), np.array(starts), ends - sizes
    )


@dataclasses.dataclass(frozen=True)
class VectorEncoder:
    """Any other space."""

    spec: ArraySpec
    parts: tuple[Part, ...]

    def write(self, value: Any, row: np.ndarray) -> None:
        """Writes an agent's observation into its row. Raises ``LeafFault``."""
        for part in self.parts:
            part.write(descend(value, part.path), row)

    def leaf_at(self, index: int) -> str:
        return next(name_of(part.path) for part in self.parts if index < part.stop)


Encoder = ArrayEncoder | VectorEncoder


def mask_row(mask: Any, choices_: int) -> np.ndarray:
    """Bool ``[A]`` from a flat mask, or from one mask per choice of a ``MultiDiscrete``."""
    if isinstance(mask, (tuple, list)) and mask and np.ndim(mask[0]) > 0:
        mask = np.concatenate([np.asarray(part).reshape(-1) for part in mask])
    row = np.asarray(mask)
    if row.shape != (choices_,):
        raise ValueError(f"has shape {row.shape}, its action space needs ({choices_},)")
    return row.astype(bool)


def observation_mask(value: Any) -> Any:
    """The mask in an observation whose space has one; ``None`` where the value has none."""
    return value.get(MASK) if isinstance(value, Mapping) else None
