"""Checkpoints: to the bit, all or nothing, and refused where they do not fit."""

import logging
import os
import resource
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mava.errors import CheckpointError
from mava.launcher.arrays import read_arrays, write_arrays
from mava.launcher.checkpoints import Checkpoints
from mava.topologies.base import RunnerState


class Pair(NamedTuple):
    left: Any
    right: Any


def awkward() -> Any:
    """What a run's state may hold, and checkpoint libraries stumble over."""
    random = np.random.default_rng(0)
    return {
        "bool": np.array([True, False]),
        "uint8": random.integers(0, 255, (2, 3), np.uint8),
        "scalar": np.asarray(7, np.int32),
        "int64": np.array([2**40]),
        "float64": random.normal(size=3),
        "special": np.array([np.nan, -0.0, np.inf, 1e-45], np.float32),
        "bfloat16": jnp.ones((2, 2), jnp.bfloat16) / 3,
        "key": jax.random.key(3),
        "keys": jax.random.split(jax.random.key(4), 2),
        "no rows": np.zeros((0, 4), np.float32),
        "nothing": (),
        "none": None,
        "an/odd name": {"": {}, "agent 1/x": Pair([jnp.arange(3)], ())},
    }


def bits(leaf: Any) -> tuple[str, tuple[int, ...], bytes]:
    data = leaf
    if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
        data = jax.random.key_data(leaf)
    return str(leaf.dtype), leaf.shape, np.asarray(data).tobytes()


def emptied(leaf: Any) -> Any:
    if isinstance(leaf, np.ndarray):
        return np.zeros_like(leaf)
    return jax.eval_shape(lambda: leaf)


def assert_same(found: Any, expected: Any) -> None:
    assert jax.tree.structure(found) == jax.tree.structure(expected)
    for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        assert isinstance(one, jax.Array) == isinstance(other, jax.Array)
        assert bits(one) == bits(other)


def test_an_awkward_tree_comes_back_to_the_bit(tmp_path: Path) -> None:
    write_arrays(tmp_path / "tree", awkward())
    like = jax.tree.map(emptied, awkward())
    assert_same(read_arrays(tmp_path / "tree", like), awkward())


@pytest.mark.parametrize("tree", [(), {}, {"a": {}}, np.zeros((0,)), np.asarray(1.0)])
def test_a_tree_of_almost_nothing_comes_back(tmp_path: Path, tree: Any) -> None:
    write_arrays(tmp_path / "tree", tree)
    assert_same(read_arrays(tmp_path / "tree", tree), tree)


def test_arrays_that_come_back_can_be_written_to(tmp_path: Path) -> None:
    write_arrays(tmp_path / "tree", np.zeros(3))
    read_arrays(tmp_path / "tree", np.ones(3))[0] = 1


def test_shapes_are_enough_to_read(tmp_path: Path) -> None:
    tree = {"w": jnp.arange(3.0), "key": jax.random.key(1)}
    write_arrays(tmp_path / "tree", tree)
    assert_same(read_arrays(tmp_path / "tree", jax.eval_shape(lambda: tree)), tree)


@pytest.mark.parametrize(
    ("like", "text"),
    [
        (
            {"a": np.zeros(2), "b": np.zeros(3)},
            r"\['b'\] is float64\[2\] there and float64\[3\] here",
        ),
        (
            {"a": np.zeros(2, np.int32), "b": np.zeros(2)},
            r"\['a'\] is float64\[2\] there and int32",
        ),
        ({"a": np.zeros(2)}, r"\['b'\] is float64\[2\] there and absent here"),
        ({"a": np.zeros(2), "c": np.zeros(2)}, r"\['c'\] is absent there"),
    ],
)
def test_the_first_path_that_does_not_fit_is_named(tmp_path: Path, like: Any, text: str) -> None:
    write_arrays(tmp_path / "tree", {"a": np.zeros(2), "b": np.zeros(2)})
    with pytest.raises(CheckpointError, match=text):
        read_arrays(tmp_path / "tree", like)


def state(value: float, size: int = 4) -> RunnerState:
    return RunnerState({"w": np.full(size, value)}, {"value": value})


def save(checkpoints: Checkpoints, step: int, size: int = 4, best: int | None = None) -> None:
    content = state(float(step), size)
    checkpoints.save_last(step, content, content.arrays, {"at": step}, best)  # type: ignore[arg-type]


def loads(checkpoints: Checkpoints, step: int) -> bool:
    found = checkpoints.load_last(state(0.0).arrays)
    assert found.extra == {"value": step}
    assert checkpoints.load_driver() == {"at": step}
    assert checkpoints.last_step == step
    return bool((found.arrays["w"] == step).all())


def test_the_last_replaces_the_one_before(tmp_path: Path) -> None:
    checkpoints = Checkpoints(tmp_path)
    assert checkpoints.last_step is None
    for step in (0, 5, 5, 10):
        save(checkpoints, step)
        assert loads(checkpoints, step)
    assert [path.name for path in (tmp_path / "last").iterdir()] == ["10"]


def test_the_best_stays_until_a_checkpoint_has_a_better_one(tmp_path: Path) -> None:
    checkpoints = Checkpoints(tmp_path)
    checkpoints.save_best(3, {"w": np.zeros(2)})  # type: ignore[arg-type]
    save(checkpoints, 3, best=3)
    checkpoints.save_best(8, {"w": np.ones(2)})  # type: ignore[arg-type]
    assert {path.name for path in (tmp_path / "best").iterdir()} == {"3", "8"}
    save(checkpoints, 9, best=8)
    assert {path.name for path in (tmp_path / "best").iterdir()} == {"8"}
    checkpoints.discard_best_after(7)
    assert checkpoints.best_step is None


@pytest.fixture
def small_disk() -> Iterator[None]:
    """Files of this process may not grow above 100 kB."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.usefixtures("small_disk")
def test_a_failed_save_keeps_the_one_before(tmp_path: Path, capfd: Any) -> None:
    checkpoints = Checkpoints(tmp_path)
    save(checkpoints, 5)
    noise = RunnerState({"w": np.random.default_rng(0).normal(size=10**6)}, {})
    with pytest.raises(CheckpointError, match=r"step 6 .* File too large; the .*/5, is kept"):
        checkpoints.save_last(6, noise, {}, None, None)  # type: ignore[arg-type]
    assert loads(checkpoints, 5)
    assert [path.name for path in (tmp_path / "last").iterdir()] == ["5"]
    assert capfd.readouterr() == ("", "")
    assert not logging.getLogger("absl").disabled


def test_what_does_not_pickle_fails_the_same_way(tmp_path: Path) -> None:
    checkpoints = Checkpoints(tmp_path)
    save(checkpoints, 5)
    with pytest.raises(CheckpointError, match="step 6 could not be written"):
        checkpoints.save_last(6, RunnerState({}, {"f": lambda: 0}), (), None, None)  # type: ignore[arg-type]
    assert loads(checkpoints, 5)


def test_what_a_killed_process_left_is_never_loaded(tmp_path: Path) -> None:
    checkpoints = Checkpoints(tmp_path)
    save(checkpoints, 5)
    unfinished = tmp_path / "last" / "unfinished-6"
    unfinished.mkdir()
    (unfinished / "extra.pkl").write_bytes(b"half")
    assert loads(checkpoints, 5)
    save(checkpoints, 7)
    assert [path.name for path in (tmp_path / "last").iterdir()] == ["7"]


def test_a_damaged_checkpoint_is_an_error(tmp_path: Path) -> None:
    checkpoints = Checkpoints(tmp_path)
    with pytest.raises(CheckpointError, match="there is no checkpoint in"):
        checkpoints.load_driver()
    save(checkpoints, 5)
    (tmp_path / "last" / "5" / "extra.pkl").write_bytes(b"half")
    with pytest.raises(CheckpointError, match=r"extra\.pkl could not be read"):
        checkpoints.load_driver()


def test_a_best_checkpoint_that_a_dead_run_left_is_not_taken_for_the_new_one(
    tmp_path: Path,
) -> None:
    checkpoints = Checkpoints(tmp_path)
    checkpoints.save_best(8, {"w": np.zeros(2)})  # type: ignore[arg-type]
    checkpoints.save_best(12, {"w": np.zeros(2)})  # type: ignore[arg-type]
    checkpoints.save_best(8, {"w": np.ones(2)})  # type: ignore[arg-type]
    like = {"w": np.zeros(2)}
    found = checkpoints.load_variables("best", like, step=8)
    np.testing.assert_array_equal(found["w"], np.ones(2))  # type: ignore[call-overload]
    with pytest.raises(CheckpointError, match="no checkpoint of step 9 in"):
        checkpoints.load_variables("best", like, step=9)
    save(checkpoints, 9, best=8)
    assert [path.name for path in (tmp_path / "best").iterdir()] == ["8.1"]


def test_the_driver_alone_can_be_replaced(tmp_path: Path) -> None:
    checkpoints = Checkpoints(tmp_path)
    save(checkpoints, 5)
    before = checkpoints.load_last(state(0.0).arrays)
    checkpoints.save_driver({"at": "the end"}, None)
    assert checkpoints.load_driver() == {"at": "the end"}
    after = checkpoints.load_last(state(0.0).arrays)
    assert after.extra == before.extra
    np.testing.assert_array_equal(after.arrays["w"], before.arrays["w"])


def test_everything_is_on_the_disk_before_the_one_before_it_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkpoints = Checkpoints(tmp_path)
    save(checkpoints, 5)
    done: list[Path] = []
    fsync, rmtree, replace = os.fsync, shutil.rmtree, os.replace

    def note_fsync(descriptor: int) -> None:
        done.append(Path(os.readlink(f"/proc/self/fd/{descriptor}")))
        fsync(descriptor)

    def note_replace(source: Any, target: Any) -> None:
        if Path(target) == tmp_path / "last" / "6":
            files = list(Path(source).rglob("*"))
            assert {*files, Path(source)} <= set(done)
            done.clear()
        replace(source, target)

    def note_rmtree(path: Any, **options: Any) -> None:
        if Path(path) == tmp_path / "last" / "5":
            assert tmp_path / "last" in done
            done.append(Path("deleted"))
        rmtree(path, **options)

    monkeypatch.setattr(os, "fsync", note_fsync)
    monkeypatch.setattr(os, "replace", note_replace)
    monkeypatch.setattr(shutil, "rmtree", note_rmtree)
    save(checkpoints, 6)
    assert Path("deleted") in done


def test_a_damaged_array_is_told_briefly(tmp_path: Path) -> None:
    checkpoints = Checkpoints(tmp_path)
    save(checkpoints, 5)
    for path in (tmp_path / "last" / "5" / "state" / "leaves").rglob("*"):
        if path.is_file():
            path.write_bytes(b"half")
    with pytest.raises(CheckpointError, match="could not be read") as caught:
        checkpoints.load_last(state(0.0).arrays)
    assert len(str(caught.value)) < 250 + len(str(tmp_path))
