"""The same seed gives the same run in a fresh process; seeds reach the environment, each once."""

from __future__ import annotations

import hashlib
import os
import pathlib
import subprocess
import sys

import jax
import numpy as np
import pytest

from mava.testing.toys import Echo
from tests.faults.collecting import Kept, collected
from tests.topologies.running import params, ran, small, stored

STEPS = 200
ENVIRONMENT = "mpe2/simple_tag_v3"


def digests(seed: int) -> list[str]:
    """Of the first observations, actions and rewards, and of the parameters after them."""
    runner = ran(small(ENVIRONMENT, num_environments=2), STEPS, seed)
    held = stored(runner, STEPS)
    played = {name: held[name] for name in ("observation", "action", "reward")}
    return [_digest(played), _digest(params(runner))]


def _digest(tree: object) -> str:
    digest = hashlib.sha256()
    for path, leaf in jax.tree_util.tree_leaves_with_path(tree):
        digest.update(jax.tree_util.keystr(path).encode() + np.asarray(leaf).tobytes())
    return digest.hexdigest()


@pytest.mark.slow
def test_f27_two_fresh_processes_of_one_seed_play_and_learn_the_same_and_another_seed_not() -> None:
    code = f"import sys; from {__name__} import digests; print(*digests(int(sys.argv[1])))"
    found = []
    for hashing in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-c", code, "5"],
            cwd=pathlib.Path(__file__).parents[2],
            env={**os.environ, "PYTHONHASHSEED": hashing, "JAX_PLATFORMS": "cpu"},
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
        assert done.returncode == 0, done.stderr
        found.append(done.stdout.split())
    assert found[0] == found[1]
    assert not set(found[0]) & set(digests(6))


@pytest.mark.slow
def test_f27_every_episode_of_every_environment_has_a_seed_of_its_own() -> None:
    seeds = []
    for seed in (0, 0, 1):
        echo = Kept(Echo)
        collected(small(echo, num_environments=2), 70, seed)
        seeds.append([given for toy in echo.made[:2] for given in toy.seeds])
        assert len(seeds[-1]) == len(set(seeds[-1])) == 12
    assert seeds[0] == seeds[1]
    assert not set(seeds[0]) & set(seeds[2])


def test_f27_episodes_do_not_all_start_alike() -> None:
    runner = collected(small("mpe2/simple_spread_v3"), 100)
    held = stored(runner, 100)
    starts = held["observation"]["agents"][0][held["start"][0]]
    assert len(starts) == 4
    assert len(np.unique(starts[:, 0], axis=0)) == 4
