"""A transition as one row of bytes; fault F13: what drifts from its specification is named."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mava.errors import ConfigurationError, EnvironmentFault
from mava.topologies.distributed.packing import Packing
from mava.types import PyTree


def item() -> PyTree:
    def shape(size: tuple[int, ...], dtype: object) -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct(size, dtype)

    return {
        "observation": {"a": shape((2, 3), jnp.float32), "b": shape((1, 4), jnp.uint8)},
        "action": {"a": shape((2,), jnp.int32)},
        "legal_actions": {"a": shape((2, 0), jnp.bool_), "b": shape((1, 3), jnp.bool_)},
        "half": shape((3,), jnp.bfloat16),
        "end": shape((), jnp.bool_),
        "state": None,
    }


def transitions(*leading: int, seed: int = 0) -> PyTree:
    rng = np.random.default_rng(seed)

    def random(leaf: jax.ShapeDtypeStruct) -> np.ndarray:
        return rng.integers(0, 100, (*leading, *leaf.shape)).astype(leaf.dtype)

    return jax.tree.map(random, item())


def assert_same(one: PyTree, other: PyTree) -> None:
    assert jax.tree.structure(one) == jax.tree.structure(other)
    for x, y in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True):
        assert x.dtype == y.dtype
        np.testing.assert_array_equal(np.asarray(x, np.float64), np.asarray(y, np.float64))


def test_a_row_has_room_for_all_leaves_and_nothing_else() -> None:
    # observation 24 + 4, action 8, flags 0 + 3, half 6, end 1
    assert Packing(item()).num_bytes == 46


def test_unpacking_gives_what_was_packed() -> None:
    packing, items = Packing(item()), transitions(5, 2)
    rows = packing.pack(items)
    assert rows.dtype == np.uint8
    assert rows.shape == (5, 2, 46)
    assert_same(packing.unpack(rows), items)


def test_each_row_is_one_transition_of_one_environment() -> None:
    packing, items = Packing(item()), transitions(5, 2)
    row = packing.pack(items)[3, 1]
    assert_same(packing.unpack(row), jax.tree.map(lambda x: x[3, 1], items))


def test_bytes_lie_in_the_order_in_which_jax_flattens() -> None:
    shape = jax.ShapeDtypeStruct
    packing = Packing({"b": shape((2,), np.uint8), "a": shape((), np.uint16)})
    rows = packing.pack({"a": np.full((1, 1), 258, "<u2"), "b": np.array([[[7, 8]]], np.uint8)})
    np.testing.assert_array_equal(rows, [[[2, 1, 7, 8]]])


def test_jax_arrays_and_strided_ones_are_packed_too() -> None:
    packing, items = Packing(item()), transitions(4, 3)
    backwards = jax.tree.map(lambda x: np.asfortranarray(x)[::-1][::-1], items)
    expected = packing.pack(items)
    np.testing.assert_array_equal(packing.pack(backwards), expected)
    np.testing.assert_array_equal(packing.pack(jax.tree.map(jnp.asarray, items)), expected)


def test_what_is_unpacked_shares_no_memory_with_the_rows() -> None:
    packing = Packing({"x": jax.ShapeDtypeStruct((4,), np.uint8)})
    rows = np.zeros((2, 1, 4), np.uint8)
    unpacked = packing.unpack(rows)["x"]
    rows[:] = 1
    assert not unpacked.any()
    assert unpacked.flags.c_contiguous
    assert unpacked.flags.writeable


@pytest.mark.parametrize(
    ("drift", "leaf"),
    [
        (lambda t: t["observation"].update(a=t["observation"]["a"].astype(float)), "float64"),
        (lambda t: t["legal_actions"].update(b=t["legal_actions"]["b"].astype("i1")), "int8"),
        (lambda t: t["action"].update(a=t["action"]["a"].astype(np.int64)), "int64"),
        (lambda t: t["observation"].update(b=t["observation"]["b"][..., :3]), "[5, 2, 1, 3]"),
        (lambda t: t["observation"].update(b=t["observation"]["b"][:4]), "[4, 2, 1, 4]"),
        (lambda t: t.update(end=np.zeros(5, bool)), "[5]"),
    ],
)
def test_f13_drift_of_dtype_or_shape_is_refused_with_the_leaf(drift, leaf) -> None:  # type: ignore[no-untyped-def]
    items = transitions(5, 2)
    before = {jax.tree_util.keystr(p): x for p, x in jax.tree_util.tree_leaves_with_path(items)}
    drift(items)
    after = {jax.tree_util.keystr(p): x for p, x in jax.tree_util.tree_leaves_with_path(items)}
    (changed,) = (name for name in before if after[name] is not before[name])
    with pytest.raises(EnvironmentFault) as refused:
        Packing(item()).pack(items)
    assert changed in str(refused.value)
    assert leaf in str(refused.value)


def test_other_fields_are_refused_by_name() -> None:
    items = transitions(5, 2)
    items["extra"] = items.pop("half")
    with pytest.raises(EnvironmentFault, match=r"\['half'\] missing; \['extra'\] not expected"):
        Packing(item()).pack(items)


def test_rows_of_another_program_are_refused() -> None:
    with pytest.raises(ValueError, match="46"):
        Packing(item()).unpack(np.zeros((2, 45), np.uint8))


def test_typed_random_keys_have_no_bytes() -> None:
    key = jax.eval_shape(lambda: jax.random.key(0))
    with pytest.raises(ConfigurationError, match=r"\['noise'\].*key_data"):
        Packing({"noise": key})
