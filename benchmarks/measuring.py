"""What the benchmarks of environment steps share: the bare environment, a runner, a stopwatch."""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable

import numpy as np

from mava.core.system import System
from mava.topologies.base import Runner
from mava.topologies.single_process import SingleProcess

Run = Callable[[int], None]
"""Makes this many environment steps."""


def bare(name: str) -> Run:
    """Steps the PettingZoo environment itself with random actions."""
    env = importlib.import_module(name.replace("/", ".")).parallel_env()
    rng = np.random.default_rng(0)
    env.reset(seed=0)
    counts = {agent: env.action_space(agent).n for agent in env.possible_agents}

    def run(steps: int) -> None:
        for _ in range(steps):
            draws = rng.integers(1 << 30, size=len(env.agents)).tolist()
            env.step({agent: x % counts[agent] for agent, x in zip(env.agents, draws, strict=True)})
            if not env.agents:
                env.reset()

    return run


def running(system: System, warm_up: int) -> Run:
    """A system in a single process, past its first ``warm_up`` environment steps."""
    runner: Runner = SingleProcess(system, seed=0)
    runner.start(lambda text: None)
    runner.advance(warm_up)

    def run(steps: int) -> None:
        runner.advance(runner.environment_steps + steps)

    return run


def seconds(run: Run, steps: int) -> float:
    began = time.perf_counter()
    run(steps)
    return time.perf_counter() - began
