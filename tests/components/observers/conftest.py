"""A made-up run; observers need nothing else."""

from __future__ import annotations

import dataclasses
import pathlib
from typing import Any

import numpy as np
import pytest

from mava.core.evaluation import Evaluation
from mava.core.observing import Progress, Run
from mava.types import ArraySpec, DiscreteActions, EnvironmentSpec, GroupSpec

AGENTS = ("red/1", "red 1", 2)
SPEC = EnvironmentSpec(
    name="mpe2/simple_spread_v3",
    groups=(
        GroupSpec("red team", AGENTS, ArraySpec((3,), np.dtype("float32")), DiscreteActions(5)),
    ),
    metrics=("won",),
)


@pytest.fixture
def run(tmp_path: pathlib.Path) -> Run:
    return Run(
        system="madqn",
        environment=SPEC.name,
        topology="single_process",
        seed=7,
        total_steps=1000,
        spec=SPEC,
        run_dir=tmp_path / "a run",
    )


class Script:
    """What a driver would tell observers, deterministic in the step."""

    def __init__(self, total_steps: int = 1000) -> None:
        self.total_steps = total_steps

    def evaluation(self, step: int, episodes: int = 3) -> Evaluation:
        returns = tuple(step / 100 + episode for episode in range(episodes))
        return Evaluation(
            step=step,
            returns=returns,
            lengths=(25,) * episodes,
            agent_returns={"red team": (step / 100, step / 100 + 1, step / 100 + 2)},
            metrics={"won": 0.5},
        )

    def evaluation_of_seeds(self, step: int) -> Evaluation:
        """Of two seeds that are trained together."""
        return Evaluation.of_seeds([self.evaluation(step), self.evaluation(step, episodes=2)])

    def progress(self, step: int, wall_seconds: float | None = None, **fields: Any) -> Progress:
        made = Progress(
            environment_steps=step,
            trainer_steps=step // 10,
            episodes=step // 25,
            total_steps=self.total_steps,
            wall_seconds=step / 100 if wall_seconds is None else wall_seconds,
            mean_return=-float(step),
        )
        return dataclasses.replace(made, **fields)

    def play(self, observer: Any, first: int, last: int, delay: float = 0.0) -> None:
        """Reports every 10 steps, evaluations every 100, after ``first`` and up to ``last``."""
        for step in range(first + 10, last + 1, 10):
            progress = self.progress(step, wall_seconds=(step - first) / 100 + delay)
            observer.on_progress(progress)
            observer.on_metrics({"madqn_loss/td error": step / 2}, progress)
            if step % 100 == 0:
                observer.on_evaluation(self.evaluation(step), progress)


@pytest.fixture
def script() -> Script:
    return Script()
