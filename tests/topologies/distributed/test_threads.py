"""Whole runs whose nodes are threads of the test's process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mava
from mava.core.evaluation import ActFunction
from mava.core.system import System
from mava.errors import ConfigurationError, DivergenceError, EnvironmentFault
from mava.launcher.result import Result
from tests.systems.every import ON_POLICY, RECURRENT, VARIANTS, every
from tests.topologies.breaking import Breaks, Exploding

pytest.importorskip("launchpad", reason="the distributed topology's engines are not installed")
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]

PROBES = {
    **dict.fromkeys(VARIANTS, "own_action_decides"),
    **dict.fromkeys(RECURRENT, "hidden_cue"),
    "maddpg": "delayed_reward",
    "matd3": "delayed_reward",
}


def launched(system: System, steps: int, **options: Any) -> Result:
    options = {"executors": 2, "nodes": "threads", "absolute_metric": False, **options}
    return mava.launch(system, "distributed", total_steps=steps, **options)


@pytest.mark.parametrize("variant", VARIANTS)
def test_every_system_learns_what_it_learns_in_a_single_process(variant: str) -> None:
    """Which executor makes which step depends on the clock, so no two runs are the same: what has
    been learned by the middle of the run may be lost again for a moment at its end."""
    steps = 3_200 if variant in ON_POLICY else 2_000
    system = every(variant, f"probe/{PROBES[variant]}").replace("evaluator", every=steps // 4)
    result = launched(system, steps)
    assert result.environment_steps == steps
    late = [e.mean_return for e in result.evaluations if e.step >= steps // 2]
    assert len(late) == 3
    assert max(late) == 1.0


def test_training_follows_the_schedule_of_a_single_process() -> None:
    system = every("madqn", "matrix/climbing").replace("evaluator", every=400, episodes=2)
    here = mava.launch(system, total_steps=1_000, absolute_metric=False)
    there = launched(system, 1_000, executors=3)
    assert [e.step for e in there.evaluations] == [e.step for e in here.evaluations]
    assert there.environment_steps == here.environment_steps
    assert there.trainer_steps == here.trainer_steps


def test_a_checkpoint_holds_replay_and_trainer(tmp_path: Path) -> None:
    system = every("madqn", "matrix/climbing").replace("evaluator", every=10_000, episodes=2)
    first = launched(system, 400, run_dir=tmp_path / "run")
    second = launched(system, 800, run_dir=tmp_path / "run", resume=True)
    assert first.trainer_steps < second.trainer_steps
    whole = mava.launch(system, total_steps=800, absolute_metric=False)
    assert second.trainer_steps == whole.trainer_steps
    assert second.environment_steps == 800
    assert second.episodes > first.episodes


def test_what_fails_in_a_node_fails_here_with_the_nodes_name() -> None:
    system = every("madqn", Breaks, num_environments=1).without("evaluator")
    with pytest.raises(EnvironmentFault, match=r"executor [01]: .*agent_1.*reward"):
        launched(system, 1_000)


def test_divergence_is_told_by_the_trainer() -> None:
    with pytest.raises(DivergenceError, match=r"trainer: .*not finite at trainer step 3"):
        launched(every("madqn", "matrix/climbing").with_(Exploding()), 1_000)


def test_staleness_and_training_metrics_are_in_the_records(tmp_path: Path) -> None:
    system = every("madqn", "matrix/climbing").replace("evaluator", every=10_000, episodes=2)
    launched(system, 800, run_dir=tmp_path / "run")
    text = (tmp_path / "run" / "metrics.jsonl").read_text()
    for name in ("parameters/staleness", "madqn_loss/loss", "gradient_norm/"):
        assert name in text


def test_evaluation_is_that_of_a_single_process() -> None:
    system = every("madqn", "matrix/climbing").replace("evaluator", every=10_000, episodes=5)
    here = mava.launch(system, total_steps=100, absolute_metric=False).evaluations[0]
    there = launched(system, 100).evaluations[0]
    np.testing.assert_array_equal(there.returns, here.returns)


def test_another_act_function_than_the_programs_is_refused() -> None:
    from mava.core.program import Program
    from mava.core.system import build
    from mava.topologies.distributed.runner import RemoteEpisodes

    program: Program = build(every("madqn", "matrix/climbing"))
    act = ActFunction(lambda *args: ({}, ()))
    with pytest.raises(ConfigurationError, match="greedy policy"):
        RemoteEpisodes(program, None).run(act, 1, seed=0)  # type: ignore[arg-type]
