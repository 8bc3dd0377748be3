"""Trees of arrays on disk, through Orbax, to the bit.

Orbax takes neither empty nodes nor arrays of size zero, and both occur in a run's state. So a tree
is written as its leaves by number, beside a manifest of their paths, shapes and dtypes, and is read
back into the structure of a tree that its reader already has.
"""

from __future__ import annotations

import contextlib
import json
import logging
import pathlib
from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from mava.errors import CheckpointError, first_line
from mava.types import PyTree

_MANIFEST = "manifest.json"
_LEAVES = "leaves"


def write_arrays(folder: pathlib.Path, tree: PyTree) -> None:
    """Writes a tree of arrays into a new folder; returns when everything is on disk.

    Raises:
        Exception: whatever Orbax or the file system raises.
    """
    import orbax.checkpoint as ocp

    folder.mkdir(parents=True)
    manifest, leaves = [], {}
    for index, (path, leaf) in enumerate(jax.tree_util.tree_leaves_with_path(tree)):
        data, implementation = _data(leaf)
        manifest.append(
            {
                "path": jax.tree_util.keystr(path),
                "type": _type(leaf),
                "shape": list(data.shape),
                "dtype": str(data.dtype),
                "key": implementation,
            }
        )
        if data.size:
            leaves[str(index)] = data
    if leaves:
        with _quiet(), ocp.StandardCheckpointer() as checkpointer:
            checkpointer.save((folder / _LEAVES).absolute(), leaves)
            checkpointer.wait_until_finished()
    (folder / _MANIFEST).write_text(json.dumps(manifest, indent=1))


def read_arrays(folder: pathlib.Path, like: PyTree) -> PyTree:
    """Reads a tree of arrays.

    Args:
        folder: what ``write_arrays`` made.
        like: a tree of that structure, shapes and dtypes, of arrays or ``jax.ShapeDtypeStruct``.

    Returns:
        The tree: numpy arrays where ``like`` has them, JAX arrays elsewhere.

    Raises:
        CheckpointError: naming the first path that differs from ``like``, or what cannot be read.
    """
    try:
        manifest = json.loads((folder / _MANIFEST).read_text())
        _check_fit(manifest, like, folder)
        found = _read_leaves(folder, manifest)
    except CheckpointError:
        raise
    except Exception as error:
        raise CheckpointError(f"{folder} could not be read: {first_line(error)}") from error
    targets, structure = jax.tree_util.tree_flatten(like)
    leaves = []
    for target, entry in zip(targets, manifest, strict=True):
        # One at a time, so that a large buffer is not there twice.
        leaves.append(_as(target, found.pop(0), entry["key"]))
    return jax.tree_util.tree_unflatten(structure, leaves)


def _read_leaves(folder: pathlib.Path, manifest: list[dict[str, Any]]) -> list[np.ndarray]:
    import orbax.checkpoint as ocp

    empty = [np.empty(entry["shape"], np.dtype(entry["dtype"])) for entry in manifest]
    target = {str(index): leaf for index, leaf in enumerate(empty) if leaf.size}
    found: dict[str, np.ndarray] = {}
    if target:
        with _quiet(), ocp.StandardCheckpointer() as checkpointer:
            found = checkpointer.restore((folder / _LEAVES).absolute(), target)
    return [found.get(str(index), leaf) for index, leaf in enumerate(empty)]


def _check_fit(manifest: list[dict[str, Any]], like: PyTree, folder: pathlib.Path) -> None:
    stored = {entry["path"]: entry["type"] for entry in manifest}
    expected = {
        jax.tree_util.keystr(path): _type(leaf)
        for path, leaf in jax.tree_util.tree_leaves_with_path(like)
    }
    for path in [*expected, *stored]:
        if stored.get(path) != expected.get(path):
            raise CheckpointError(
                f"{folder} does not fit this system: {path or 'the array'} is "
                f"{stored.get(path, 'absent')} there and {expected.get(path, 'absent')} here"
            )


def _type(leaf: Any) -> str:
    """Dtype and shape as text.

    >>> _type(np.zeros((2, 3), np.uint8))
    'uint8[2,3]'
    """
    array = leaf if hasattr(leaf, "dtype") else np.asarray(leaf)
    return f"{array.dtype}[{','.join(map(str, array.shape))}]"


def _is_key(leaf: Any) -> bool:
    return hasattr(leaf, "dtype") and bool(jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key))


def _data(leaf: Any) -> tuple[np.ndarray, str | None]:
    """A leaf as plain numbers, and the implementation's name where it is a typed random key."""
    if _is_key(leaf):
        return np.asarray(jax.random.key_data(leaf)), str(jax.random.key_impl(leaf))
    return np.asarray(leaf), None


def _as(target: Any, data: np.ndarray, implementation: str | None) -> Any:
    if implementation is not None:
        return jax.random.wrap_key_data(jnp.array(data), impl=implementation)
    if isinstance(target, (jax.Array, jax.ShapeDtypeStruct)):
        return jnp.array(data)
    return data


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Keeps Orbax off the terminal: it logs each failure several times over, and raises it too."""
    logger = logging.getLogger("absl")
    disabled, logger.disabled = logger.disabled, True
    try:
        yield
    finally:
        logger.disabled = disabled
