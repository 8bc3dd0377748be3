"""Loops in plain Python give what compiled ones give."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mava.functional import loops


def test_plain_python_ends_with_its_block() -> None:
    def fail() -> None:
        with loops.plain_python():
            assert loops.is_plain()
            raise KeyError

    assert not loops.is_plain()
    with pytest.raises(KeyError):
        fail()
    assert not loops.is_plain()
    with jax.disable_jit():
        assert loops.is_plain()


@pytest.mark.parametrize("in_axes", [0, (0, None), (None, 0)])
def test_plain_vmap_equals_vmap(in_axes: Any) -> None:
    def function(x: Any, y: Any) -> Any:
        return {"sum": x["a"].sum() + y.sum(), "empty": (), "both": (x["a"], y)}

    arguments = ({"a": jnp.arange(6.0).reshape(3, 2)}, jnp.arange(3.0))
    mapped = loops.vmap(function, in_axes)
    compiled = mapped(*arguments)
    with loops.plain_python():
        plain = mapped(*arguments)
    assert str(jax.tree.structure(compiled)) == str(jax.tree.structure(plain))
    jax.tree.map(np.testing.assert_array_equal, plain, compiled)


def test_plain_vmap_runs_on_concrete_values() -> None:
    seen = []

    def function(x: Any) -> Any:
        seen.append(float(x))  # fails on a tracer
        return x

    with loops.plain_python():
        loops.vmap(function)(jnp.arange(3.0))
    assert seen == [0.0, 1.0, 2.0]


def test_vmap_refuses_other_axes() -> None:
    with pytest.raises(ValueError, match="move the axis to the front"):
        loops.vmap(lambda x: x, in_axes=1)


def test_where_tree_keeps_dtypes() -> None:
    trees = {"a": jnp.ones(2), "b": jnp.zeros(3, jnp.int8)}, {"a": jnp.zeros(2), "b": jnp.ones(3)}
    chosen = loops.where_tree(jnp.asarray(True), trees[0], trees[0])
    assert {name: x.dtype for name, x in chosen.items()} == {"a": jnp.float32, "b": jnp.int8}
    np.testing.assert_array_equal(loops.where_tree(jnp.asarray(False), *trees)["a"], [0.0, 0.0])


def add(memory: Any, x: Any) -> Any:
    """Running sums."""
    return memory + x, {"before": memory, "sum": memory + x}


@pytest.mark.parametrize("plain", [False, True])
def test_scan_with_reset(plain: bool) -> None:
    inputs = jnp.asarray([1.0, 2.0, 3.0, 4.0, 5.0])
    start = jnp.asarray([False, False, True, False, True])
    memory, initial = jnp.asarray(10.0), jnp.asarray(-1.0)

    def run() -> Any:
        return loops.scan_with_reset(add, memory, initial, inputs, start)

    if plain:
        with loops.plain_python():
            outputs = run()
    else:
        outputs = jax.jit(run)()
    np.testing.assert_array_equal(outputs["sum"], [11.0, 13.0, 2.0, 6.0, 4.0])
    np.testing.assert_array_equal(outputs["before"], [10.0, 11.0, -1.0, 2.0, -1.0])


def test_a_reset_forgets_memory_that_is_not_finite() -> None:
    outputs = loops.scan_with_reset(
        add, jnp.asarray(jnp.nan), jnp.asarray(0.0), jnp.ones(2), jnp.asarray([True, False])
    )
    np.testing.assert_array_equal(outputs["sum"], [1.0, 2.0])


def test_plain_scan_equals_scan() -> None:
    def step(carry: Any, x: Any) -> Any:
        return carry + x["a"], {"before": carry, "twice": (2 * x["a"],)}

    inputs = {"a": jnp.arange(6.0).reshape(3, 2)}
    compiled = loops.scan(step, jnp.ones(2), inputs)
    with loops.plain_python():
        plain = loops.scan(step, jnp.ones(2), inputs)
    np.testing.assert_array_equal(plain[0], [7.0, 10.0])
    jax.tree.map(np.testing.assert_array_equal, plain, compiled)
