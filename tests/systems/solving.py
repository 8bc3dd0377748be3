"""Short training runs, and what the trained network says."""

from __future__ import annotations

from typing import Any

import numpy as np

from mava.core.contexts import GroupContext
from mava.core.evaluation import Evaluation
from mava.core.system import System
from mava.functional.schedules import Linear
from mava.systems import madqn
from mava.topologies.base import policy_of
from mava.topologies.single_process import SingleProcess
from tests.topologies.running import params, ran

QUICK: dict[str, Any] = {
    "num_environments": 4,
    "min_size": 64,
    "batch_size": 64,
    "update_every": 8,
    "updates": 2,
    "learning_rate": 3e-3,
    "epsilon": Linear(1.0, 0.05, 600),
    "target_period": 50,
    "hidden_sizes": (32,),
    "capacity": 10_000,
    "discount": 0.9,
}


def trained(environment: Any, steps: int = 1_000, **options: Any) -> tuple[System, SingleProcess]:
    system = madqn(environment, **{**QUICK, **options})
    return system, ran(system, steps)


def evaluated(system: System, runner: SingleProcess, episodes: int = 16) -> Evaluation:
    policy = policy_of(runner.program, runner.variables())
    evaluator = system.replace("evaluator", episodes=episodes)["evaluator"]
    evaluation: Evaluation = evaluator.evaluate(policy, runner.episode_runner(), seed=7)
    return evaluation


def q_values(system: System, runner: SingleProcess, group: str = "agents") -> np.ndarray:
    """``[N, A]``, of the timestep that training acts on next, in environment 0."""
    program = runner.program
    observation = runner._environment.current.observation[group][0]
    for transform in (c for c in system if c.name == "agent_ids"):
        observation = transform.transform_observation(
            observation, GroupContext(program.spec[group], ())
        )
    scores, _ = system["q_network"].score(
        params(runner), observation, (), GroupContext(program.network_spec[group], ())
    )
    return np.asarray(scores)
