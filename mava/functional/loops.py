"""``vmap`` and ``scan`` that become Python loops when a system runs as plain Python.

Inside ``plain_python()`` every iteration runs by itself on concrete arrays, so a breakpoint in the
body stops where values can be read. (``jax.disable_jit()`` has the same effect here, but also takes
the library's own functions apart, which is many times slower.)
"""

from __future__ import annotations

import contextlib
import contextvars
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import jax
import jax.numpy as jnp

from mava.types import Array, PyTree

_PLAIN = contextvars.ContextVar("mava_plain_python", default=False)


@contextlib.contextmanager
def plain_python() -> Iterator[None]:
    """Turns the loops of this module into Python loops inside the ``with`` block."""
    token = _PLAIN.set(True)
    try:
        yield
    finally:
        _PLAIN.reset(token)


def is_plain() -> bool:
    return _PLAIN.get() or bool(jax.config.jax_disable_jit)  # type: ignore[attr-defined]


Output = TypeVar("Output")
Carry = TypeVar("Carry")


def vmap(
    fn: Callable[..., Output], in_axes: int | Sequence[int | None] | None = 0
) -> Callable[..., Output]:
    """``jax.vmap`` over leading axes (``in_axes`` of 0 or ``None``), looped in plain Python.

    Raises:
        ValueError: for an axis other than 0 or ``None``.
    """
    axes = in_axes if isinstance(in_axes, Sequence) else None
    if any(axis not in (0, None) for axis in (axes or (in_axes,))):
        raise ValueError(f"in_axes must be 0 or None, got {in_axes}; move the axis to the front")
    mapped = jax.vmap(fn, in_axes=in_axes if axes is None else tuple(axes))

    def call(*args: Any) -> Output:
        if not is_plain():
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
        return stack_trees(outputs)

    return call


def shapes_of(fn: Callable[..., Output], *args: Any) -> Output:
    """What ``fn`` returns, as shapes and dtypes. Nothing is computed, save in plain Python, where
    ``fn`` runs on zeros so that breakpoints stop on values.

    Args:
        fn: a function of trees of arrays.
        args: trees of arrays, or of their shapes.
    """
    if not is_plain():
        return jax.eval_shape(fn, *args)  # type: ignore[no-any-return]
    outputs = fn(*jax.tree.map(_zeros, args))
    return jax.tree.map(lambda x: jax.ShapeDtypeStruct(jnp.shape(x), jnp.result_type(x)), outputs)  # type: ignore[no-any-return]


def _zeros(leaf: Any) -> Any:
    if not isinstance(leaf, jax.ShapeDtypeStruct):
        return leaf
    if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
        return jax.random.key(0)
    return jnp.zeros(leaf.shape, leaf.dtype)


def stack_trees(trees: Sequence[Output]) -> Output:
    """Stacks the leaves of equal trees along a new first axis."""
    return jax.tree.map(lambda *leaves: jnp.stack(leaves), *trees)  # type: ignore[no-any-return]


def where_tree(condition: Array, on_true: PyTree, on_false: PyTree) -> PyTree:
    """``jnp.where`` with one scalar condition over two trees of the same structure."""
    return jax.tree.map(lambda x, y: jnp.where(condition, x, y), on_true, on_false)


def unroll(
    step: Callable[[PyTree, PyTree], tuple[PyTree, PyTree]],
    memory: PyTree,
    initial: PyTree,
    inputs: PyTree,
    start: Array,
) -> tuple[PyTree, PyTree]:
    """Runs ``step(input, memory) -> (output, memory)`` over a batch of sequences.

    Without memory all steps run at once; with it they are scanned, and where ``start`` is true the
    memory is ``initial`` before the step.

    Args:
        step: for one step of one sequence.
        memory: before the first steps, leaves ``[B, ...]``.
        initial: for one sequence.
        inputs: leaves ``[B, T, ...]``.
        start: bool ``[B, T]``.

    Returns:
        The outputs and the memory after each step, leaves ``[B, T, ...]``.
    """
    if not jax.tree.leaves(initial):
        return vmap(vmap(lambda x: step(x, initial)[0]))(inputs), initial

    def advance(before: PyTree, x: PyTree) -> tuple[PyTree, tuple[PyTree, PyTree]]:
        output, after = step(x, before)
        return after, (output, after)

    def one(memory: PyTree, inputs: PyTree, start: Array) -> tuple[PyTree, PyTree]:
        outputs, memories = scan_with_reset(advance, memory, initial, inputs, start)
        return outputs, memories

    return vmap(one)(memory, inputs, start)


def scan(
    step: Callable[[Carry, Any], tuple[Carry, Output]],
    carry: Carry,
    inputs: PyTree,
    reverse: bool = False,
) -> tuple[Carry, Output]:
    """``jax.lax.scan`` over leading axes, looped in plain Python."""
    if not is_plain():
        return jax.lax.scan(step, carry, inputs, reverse=reverse)
    indices = list(range(jax.tree.leaves(inputs)[0].shape[0]))
    outputs = []
    for index in reversed(indices) if reverse else indices:
        carry, output = step(carry, jax.tree.map(lambda x, i=index: x[i], inputs))
        outputs.append(output)
    return carry, stack_trees(outputs[::-1] if reverse else outputs)


def cond(
    condition: Array,
    on_true: Callable[..., Output],
    on_false: Callable[..., Output],
    *args: PyTree,
) -> Output:
    """``jax.lax.cond``: runs only the function that a scalar condition chooses; an ``if`` in plain
    Python."""
    if not is_plain():
        return jax.lax.cond(condition, on_true, on_false, *args)  # type: ignore[no-any-return]
    return on_true(*args) if condition else on_false(*args)


def scan_with_reset(
    step: Callable[[PyTree, Array], tuple[PyTree, PyTree]],
    memory: PyTree,
    initial: PyTree,
    inputs: PyTree,
    start: Array,
) -> Any:
    """Scans ``step(memory, input) -> (memory, output)`` over time; where ``start[t]`` is true the
    memory is ``initial`` before input ``t``.

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

    return scan(body, memory, (inputs, start))[1]
