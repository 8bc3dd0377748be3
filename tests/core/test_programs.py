"""Programs of systems of every kind: compiled as one loop, pickled, watched."""

from __future__ import annotations

import dataclasses
import hashlib
import pickle
import subprocess
import sys
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mava.components.observers import ConsoleLog
from mava.components.stopping import StopAfter
from mava.components.trainers.trainer import GradientNorm
from mava.core.contexts import LearnContext
from mava.core.lifecycle import Measure
from mava.core.system import System, build
from mava.testing.small_systems import SMALL_SYSTEMS
from tests.core.looping import LOOPED, run


@pytest.mark.parametrize("name", SMALL_SYSTEMS)
def test_it_builds(name: str) -> None:
    system = SMALL_SYSTEMS[name]()
    program = build(system)
    assert program.system == system.name
    assert program == dataclasses.replace(program)


def close(left: Any, right: Any) -> None:
    assert jax.tree.structure(left) == jax.tree.structure(right)
    for (path, a), b in zip(
        jax.tree_util.tree_leaves_with_path(left), jax.tree.leaves(right), strict=True
    ):
        name = jax.tree_util.keystr(path)
        assert a.dtype == b.dtype, name
        a, b = np.asarray(a, np.float64), np.asarray(b, np.float64)
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5, err_msg=name)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["recurrent", "mixing", "normalised", "continuous"])
def test_one_compiled_loop_equals_a_loop_in_python(name: str) -> None:
    """Acting, stepping, recording, adding, sampling and learning; environments vmapped, steps and
    rounds scanned, in one function; or one environment and one step after the other."""
    compiled, done = run(SMALL_SYSTEMS[name]())
    looped, done_too = run(SMALL_SYSTEMS[name](), way=LOOPED)
    close(compiled.learner, looped.learner)
    close((compiled.memory, compiled.timestep), (looped.memory, looped.timestep))
    close(done, done_too)
    items, metrics = done
    assert np.any(items["end"])
    assert all(np.isfinite(x).all() for x in jax.tree.leaves(metrics))
    assert int(compiled.learner.updates) == int(looped.learner.updates) >= 3


def equal_bits(left: Any, right: Any) -> bool:
    pairs = zip(jax.tree.leaves(left), jax.tree.leaves(right), strict=True)
    return all(np.asarray(a).tobytes() == np.asarray(b).tobytes() for a, b in pairs)


@dataclasses.dataclass(frozen=True)
class RandomProbe(Measure):
    """Reads everything it is given, and draws."""

    def measure(self, gradients: Any, batch: Any, context: LearnContext) -> Any:
        drawn = jax.random.normal(context.key, ())
        scores = context.unroll(context.target_params, batch).scores
        return {"drawn": drawn, "scores": jnp.stack([x.sum() for x in scores.values()]).sum()}


@pytest.mark.slow
def test_probes_and_observers_change_no_bit() -> None:
    system = SMALL_SYSTEMS["feed_forward"]()
    watched = system.with_(GradientNorm(), RandomProbe(), ConsoleLog(), StopAfter(seconds=1.0))
    plain, (items, _) = run(system)
    probed, (watched_items, metrics) = run(watched)
    assert "random_probe/drawn" in metrics
    assert equal_bits(plain.learner, probed.learner)
    assert equal_bits(items, watched_items)


def test_one_seed_one_run() -> None:
    system = SMALL_SYSTEMS["feed_forward"]()
    (first, _), (again, _), (other, _) = run(system), run(system), run(system, seed=1)
    assert equal_bits(first, again)
    assert not equal_bits(first.learner.params, other.learner.params)


def digest(system: System) -> str:
    """Of the first parameters that a system's program makes."""
    learner = jax.jit(build(system).init_learner)(jax.random.key(3))
    leaves = [np.asarray(x).tobytes() for x in jax.tree.leaves(learner)]
    return hashlib.sha256(b"".join(leaves)).hexdigest()


@pytest.mark.slow
def test_a_pickled_system_is_the_same_in_another_process() -> None:
    names = ("normalised", "continuous")
    systems = [SMALL_SYSTEMS[name]() for name in names]
    code = (
        "import pickle, sys; from tests.core.test_programs import digest;"
        "print(*map(digest, pickle.load(sys.stdin.buffer)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], input=pickle.dumps(systems), capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr.decode()
    assert done.stdout.decode().split() == [digest(system) for system in systems]
