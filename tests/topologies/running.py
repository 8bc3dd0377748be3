"""Small runs of real systems."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from mava.core.system import System
from mava.systems import madqn
from mava.topologies.single_process import SingleProcess
from mava.types import PyTree


def small(environment: Any, **options: Any) -> System:
    """MADQN with a network and a buffer that compile in a second or two."""
    defaults: dict[str, Any] = {
        "hidden_sizes": (16,),
        "capacity": 1_000,
        "min_size": 16,
        "batch_size": 8,
        "update_every": 4,
    }
    return madqn(environment, **{**defaults, **options})


def started(system: System, seed: int = 0, jit: bool = True) -> SingleProcess:
    runner = SingleProcess(system, seed, jit=jit)
    runner.start(lambda text: None)
    return runner


def ran(system: System, steps: int, seed: int = 0, jit: bool = True) -> SingleProcess:
    runner = started(system, seed, jit)
    runner.advance(steps)
    return runner


def params(runner: SingleProcess) -> PyTree:
    return runner.variables().params


def stored(runner: SingleProcess, steps: int) -> PyTree:
    """Everything recorded, in order: fields ``[E, T, ...]``, of the buffer and the rollout."""
    state = runner.state()
    held = jax.tree.map(lambda x: np.asarray(x), state.arrays["buffer"].experience)
    rollout = state.extra["rollout"]
    in_buffer = steps // runner.program.num_environments
    if rollout is not None:
        waiting = jax.vmap(jax.vmap(runner.program.record))(rollout)
        waiting = jax.tree.map(lambda x: np.swapaxes(np.asarray(x), 0, 1), waiting)
        in_buffer -= jax.tree.leaves(waiting)[0].shape[1]
        held = jax.tree.map(lambda x: x[:, :in_buffer], held)
        return jax.tree.map(lambda x, y: np.concatenate([x, y], axis=1), held, waiting)
    return jax.tree.map(lambda x: x[:, :in_buffer], held)


def assert_equal(one: PyTree, other: PyTree) -> None:
    """To the bit."""
    ours, theirs = (jax.tree_util.tree_leaves_with_path(tree) for tree in (one, other))
    assert [path for path, _ in ours] == [path for path, _ in theirs]
    for (path, x), (_, y) in zip(ours, theirs, strict=True):
        assert np.asarray(x).tobytes() == np.asarray(y).tobytes(), jax.tree_util.keystr(path)


def differs(one: PyTree, other: PyTree) -> bool:
    pairs = zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True)
    return any(np.asarray(x).tobytes() != np.asarray(y).tobytes() for x, y in pairs)
