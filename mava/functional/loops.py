"""``vmap`` and ``scan`` that become Python loops when JAX runs without compiling.

Under ``jax.disable_jit()`` every iteration runs by itself on concrete arrays, so a breakpoint in the body
stops where the value can be read. JAX does that for ``scan`` but not for ``vmap``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import jax
import jax.numpy as jnp

from mava.types import Array, PyTree

Output = TypeVar("Output")


def vmap(fn: Callable[..., Output], in_axes: int | None | Sequence[int | None] = 0) -> Callable[..., Output]:
    """``jax.vmap`` over leading axes (``in_axes`` of 0 or ``None``), looped under ``jax.disable_jit()``.

    Raises:
        ValueError: for an axis other than 0 or ``None``.
    """
    axes = in_axes if isinstance(in_axes, Sequence) else None
    if any(axis not in (0, None) for axis in (axes or (in_axes,))):
        raise ValueError(f"in_axes must be 0 or None, got {in_axes}; move the axis to the front")
    mapped = jax.vmap(fn, in_axes=in_axes if axes is None else tuple(axes))

    def call(*args: Any) -> Output:
        if not jax.config.jax_disable_jit:
            return mapped(*args)
        each = axes if axes is not None else (in_axes,) * len(args)
        size = next(
            leaf.shape[0]
            for arg, axis in zip(args, each, strict=True)
            if axis == 0
            for leaf in jax.tree.leaves(arg)
        )

        def pick(index: int) -> tuple[Any, ...]:
            return tuple(
                jax.tree.map(lambda x: x[index], arg) if axis == 0 else arg
                for arg, axis in zip(args, each, strict=True)
            )

        outputs = [fn(*pick(index)) for index in range(size)]
        return jax.tree.map(lambda *leaves: jnp.stack([jnp.asarray(x) for x in leaves]), *outputs)

    return call


def where_tree(condition: Array, on_true: PyTree, on_false: PyTree) -> PyTree:
    """``jnp.where`` with one scalar condition over two trees of the same structure."""
    return jax.tree.map(lambda x, y: jnp.where(condition, x, y), on_true, on_false)


def scan_with_reset(
    step: Callable[[PyTree, Array], tuple[PyTree, PyTree]],
    memory: PyTree,
    initial: PyTree,
    inputs: PyTree,
    start: Array,
) -> PyTree:
    """Scans ``step(memory, input) -> (memory, output)`` over time; where ``start[t]`` is true the memory is
    ``initial`` before input ``t``.

    Args:
        memory, initial: trees of the same structure.
        inputs: leaves ``[T, ...]``.
        start: bool ``[T]``.

    Returns:
        The outputs, leaves ``[T, ...]``.
    """

    def body(carry: PyTree, slice_: tuple[PyTree, Array]) -> tuple[PyTree, PyTree]:
        x, first = slice_
        return step(where_tree(first, initial, carry), x)

    _, outputs = jax.lax.scan(body, memory, (inputs, start))
    return outputs
