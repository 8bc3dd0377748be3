"""What is counted: trainer steps by environment steps, target copies by trainer steps, and steps by
environments, not agents."""

from __future__ import annotations

import functools
import json
import pathlib
from typing import Any

import jax
import numpy as np
import pytest

import mava
from mava.testing.toys import Echo
from tests.faults.collecting import Kept
from tests.topologies.running import small, started


@pytest.mark.slow
@pytest.mark.parametrize(("environments", "agents"), [(1, 2), (4, 5)])
def test_f21_a_thousand_trainer_steps_are_five_copies_whatever_collects(
    environments: int, agents: int
) -> None:
    factory = functools.partial(Echo, ids=tuple(range(agents)))
    system = small(factory, num_environments=environments, update_every=4, target_period=200)
    runner = started(system)
    copies, before = [], _learner(runner)
    assert _equal(before.target_params, before.params)
    for steps in range(environments, 16 + 4 * 1_000, environments):
        runner.advance(steps)
        assert runner.trainer_steps == (0 if steps < 16 else (steps - 16) // 4 + 1)
        now = _learner(runner)
        if now is not before and not _equal(now.target_params, before.target_params):
            copies.append(runner.trainer_steps)
            assert _equal(now.target_params, now.params)
        before = now
    assert runner.trainer_steps == 1_000
    assert copies == [200, 400, 600, 800, 1_000]
    assert int(before.updates) == 1_000


def _learner(runner: Any) -> Any:
    return runner._learner


def _equal(one: Any, other: Any) -> bool:
    pairs = zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True)
    return all(np.array_equal(x, y) for x, y in pairs)


@pytest.mark.slow
def test_f22_the_step_limit_counts_steps_of_environments(tmp_path: pathlib.Path) -> None:
    echo = Kept(_CountsIntoFile, tmp_path)
    system = small(echo, num_environments=2, update_every=20)
    system = system.replace("evaluator", episodes=2, every=100)
    result = mava.launch(system, total_steps=401, run_dir=tmp_path / "run", seed=3)
    assert result.environment_steps == 400
    training = [int(toy.path.read_text()) for toy in echo.made[:2]]
    assert training == [200, 200]  # of three agents each, which do not count
    lines = (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()
    records = [json.loads(line) for line in lines]
    assert max(r["step"] for r in records if r["kind"] in ("training", "evaluation")) == 400
    assert [e.step for e in result.evaluations] == [0, 100, 200, 300, 400]
    assert result.trainer_steps == (400 - 16) // 20 + 1
    assert result.episodes == 2 * (200 // 7)


class _CountsIntoFile(Echo):
    count = 0

    def __init__(self, place: pathlib.Path) -> None:
        super().__init__(ids=("a", "b", "c"))
        _CountsIntoFile.count += 1
        self.path = place / f"steps of {_CountsIntoFile.count}"

    def step(self, actions: Any) -> Any:
        outcome = super().step(actions)
        self.path.write_text(str(len(self.actions)))
        return outcome


@pytest.mark.slow
@pytest.mark.parametrize("environments", [1, 4])
def test_f25_a_buffer_as_small_as_its_batch_blocks_nothing(environments: int) -> None:
    system = small(
        Echo, num_environments=environments, capacity=4, min_size=4, batch_size=4, update_every=1
    )
    runner = started(system)
    runner.advance(400)
    assert runner.environment_steps == 400
    assert runner.trainer_steps == 397
