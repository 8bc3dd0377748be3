"""A transition as one row of bytes.

A replay server's price is per array, not per byte: one transition written as 20 arrays costs five
times what it costs as one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from mava.errors import ConfigurationError, EnvironmentFault
from mava.types import PyTree


class Field(NamedTuple):
    """One leaf of a transition, and where its bytes lie in a row.

    Attributes:
        name: the leaf's path, such as ``['reward']['agents']``.
        shape: without leading axes.
        dtype: of its elements.
        start: of its bytes in the row.
        end: one after the last of them.
    """

    name: str
    shape: tuple[int, ...]
    dtype: np.dtype
    start: int
    end: int

    @property
    def size(self) -> int:
        """Elements in the leaf."""
        return math.prod(self.shape)


class Packing:
    """A transition's fields as one row of bytes, laid out by the program's shapes: the leaves in
    the order in which JAX flattens them, in C order, without gaps, in the machine's byte order.

    Args:
        item: leaves with ``shape`` and ``dtype``; ``program.item``.

    Attributes:
        num_bytes: in a row.

    Raises:
        ConfigurationError: a leaf that is not numbers, such as JAX's typed random keys.
    """

    def __init__(self, item: PyTree) -> None:
        leaves, structure = jax.tree_util.tree_flatten_with_path(item)
        self._structure: Any = structure
        self._fields: list[Field] = []
        self.num_bytes = 0
        for path, leaf in leaves:
            name = jax.tree_util.keystr(path)
            if jnp.issubdtype(leaf.dtype, jax.dtypes.extended):
                raise ConfigurationError(
                    f"the batch field {name} is of dtype {leaf.dtype}, which has no bytes that "
                    "could be sent to another process; record its numbers (jax.random.key_data)"
                )
            dtype, start = np.dtype(leaf.dtype), self.num_bytes
            self.num_bytes += math.prod(leaf.shape) * dtype.itemsize
            self._fields.append(Field(name, tuple(leaf.shape), dtype, start, self.num_bytes))

    def pack(self, items: PyTree) -> np.ndarray:
        """Leaves ``[T, E, ...]`` -> uint8 ``[T, E, num_bytes]``.

        Raises:
            EnvironmentFault: another structure, shape or dtype than the program's; the message
                names the leaf.
        """
        leaves, structure = jax.tree_util.tree_flatten_with_path(items)
        if structure != self._structure:
            held = {jax.tree_util.keystr(path): leaf for path, leaf in leaves}
            raise EnvironmentFault(f"a transition has other fields than {self._difference(held)}")
        arrays = [np.asarray(leaf) for _, leaf in leaves]
        leading = arrays[0].shape[:2]
        rows = np.empty((*leading, self.num_bytes), np.uint8)
        for field, array in zip(self._fields, arrays, strict=True):
            _check(field, array, leading)
            if field.size:
                flat = np.ascontiguousarray(array).reshape(*leading, field.size)
                rows[..., field.start : field.end] = flat.view(np.uint8)
        return rows

    def unpack(self, rows: np.ndarray) -> PyTree:
        """uint8 ``[..., num_bytes]`` -> leaves ``[..., *shape]``, each an array of its own.

        Raises:
            ValueError: rows of another dtype or length.
        """
        if rows.dtype != np.uint8 or rows.shape[-1:] != (self.num_bytes,):
            raise ValueError(
                f"rows are {rows.dtype}{list(rows.shape)}, not uint8[..., {self.num_bytes}]"
            )
        leading = rows.shape[:-1]
        leaves = []
        for field in self._fields:
            leaf = np.empty((*leading, *field.shape), field.dtype)
            if field.size:
                flat = leaf.reshape(*leading, field.size)
                flat.view(np.uint8)[...] = rows[..., field.start : field.end]
            leaves.append(leaf)
        return jax.tree.unflatten(self._structure, leaves)

    def _difference(self, held: Mapping[str, object]) -> str:
        names = {field.name for field in self._fields}
        missing, unknown = sorted(names - set(held)), sorted(set(held) - names)
        parts = []
        if missing:
            parts.append(f"{', '.join(missing)} missing")
        if unknown:
            parts.append(f"{', '.join(unknown)} not expected")
        return f"the program's: {'; '.join(parts) or 'the same leaves in other containers'}"


def _check(field: Field, array: np.ndarray, leading: tuple[int, ...]) -> None:
    if array.dtype == field.dtype and array.shape == (*leading, *field.shape) and len(leading) == 2:
        return
    raise EnvironmentFault(
        f"the batch field {field.name} is {array.dtype}{list(array.shape)}, but the program "
        f"promised {field.dtype}[T, E{''.join(f', {size}' for size in field.shape)}]; the "
        "environment, or the component that records the field, does not keep its specification"
    )
