"""Real systems, stopped at odd moments and resumed, end in the state of the uninterrupted run."""

import json
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax
import numpy as np
import orbax.checkpoint as ocp
import pytest

import mava
from mava.core.system import System

pytestmark = pytest.mark.slow

TOTAL = 60


@pytest.fixture(scope="module", autouse=True)
def compiled_once(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Runs of one system share what XLA compiles, as runs in other processes may."""
    options = {
        "jax_compilation_cache_dir": str(tmp_path_factory.mktemp("xla")),
        "jax_persistent_cache_min_compile_time_secs": 0.0,
    }
    before = {name: getattr(jax.config, name) for name in options}
    for name, value in options.items():
        jax.config.update(name, value)
    yield
    for name, value in before.items():
        jax.config.update(name, value)


def small(**options: Any) -> System:
    system = mava.systems.madqn(
        hidden_sizes=(8,), capacity=40, min_size=12, batch_size=4, update_every=3, **options
    )
    return system.replace("evaluator", every=25, episodes=1)


def final(run_dir: Path) -> tuple[Any, Any]:
    """Arrays and other values of the runner in the last checkpoint."""
    (folder,) = (run_dir / "checkpoints" / "last").iterdir()
    manifest = json.loads((folder / "state" / "manifest.json").read_text())
    with ocp.StandardCheckpointer() as checkpointer:
        leaves = checkpointer.restore(folder.absolute() / "state" / "leaves")
    paths = {manifest[int(index)]["path"]: np.asarray(leaf) for index, leaf in leaves.items()}
    assert sum(0 not in entry["shape"] for entry in manifest) == len(paths)
    return paths, pickle.loads((folder / "extra.pkl").read_bytes())["runner"]


def assert_same(found: Any, expected: Any) -> None:
    ours, theirs = (jax.tree_util.tree_leaves_with_path(tree) for tree in (found, expected))
    assert [path for path, _ in ours] == [path for path, _ in theirs]
    for (path, one), (_, other) in zip(ours, theirs, strict=True):
        name = jax.tree_util.keystr(path)
        if hasattr(one, "__dict__"):
            assert_same(vars(one), vars(other))
            continue
        assert np.asarray(one).dtype == np.asarray(other).dtype, name
        assert np.asarray(one).tobytes() == np.asarray(other).tobytes(), name


@pytest.mark.parametrize(
    ("options", "stops"),
    [
        ({"environment": "matrix/climbing"}, (1, 11, 13, 41)),
        (
            {"environment": "matrix/two_step", "num_environments": 2, "prioritised": True},
            (7, 14, 37),
        ),
    ],
)
def test_a_resumed_run_equals_the_uninterrupted_one_to_the_bit(
    tmp_path: Path, options: Any, stops: tuple[int, ...]
) -> None:
    system = small(**options)
    whole = mava.launch(system, total_steps=TOTAL, seed=3, run_dir=tmp_path / "whole")
    for number, total in enumerate((*stops, TOTAL)):
        parts = mava.launch(
            system, total_steps=total, seed=3, run_dir=tmp_path / "parts", resume=number > 0
        )
    assert parts.trainer_steps == whole.trainer_steps > 0
    for found, expected in zip(final(tmp_path / "parts"), final(tmp_path / "whole"), strict=True):
        assert_same(found, expected)
    by_step = {evaluation.step: evaluation for evaluation in parts.evaluations}
    assert [by_step[evaluation.step] for evaluation in whole.evaluations] == list(whole.evaluations)


def test_seeds_and_only_seeds_decide(tmp_path: Path) -> None:
    system = small(environment="matrix/climbing")
    for name, seed in (("one", 0), ("same", 0), ("other", 1)):
        mava.launch(system, total_steps=30, seed=seed, run_dir=tmp_path / name)
    assert_same(final(tmp_path / "one"), final(tmp_path / "same"))
    with pytest.raises(AssertionError):
        assert_same(final(tmp_path / "one")[0], final(tmp_path / "other")[0])
