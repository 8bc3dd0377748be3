"""Environment steps per second of acting and of training, as ratios to the bare environment.

One run measures everything: rounds of the bare environment stepped with random actions, of acting
and recording, and of training take turns, so that a busy machine slows all of them alike. The
ratios are medians over rounds.

    python benchmarks/environment_steps.py [--env=mpe2/simple_spread_v3] [--rounds=9] [--json=FILE]
"""

from __future__ import annotations

import importlib
import json
import statistics
import time
from collections.abc import Callable

import numpy as np
from absl import app, flags, logging

from mava.systems import madqn
from mava.topologies.base import Runner
from mava.topologies.latency import prefer_low_latency
from mava.topologies.single_process import SingleProcess

FLAGS = flags.FLAGS
flags.DEFINE_string("env", "mpe2/simple_spread_v3", "The environment.")
flags.DEFINE_integer("rounds", 9, "Rounds of each measurement.", lower_bound=1)
flags.DEFINE_integer("steps", 1600, "Environment steps in a round; a multiple of 8.", lower_bound=8)
flags.DEFINE_string("json", None, "Where to write the figures.")

NEVER = 10**9
TARGETS = {(1, "act"): 0.55, (1, "train"): 0.40, (8, "act"): 0.75, (8, "train"): 0.50}


def bare(name: str) -> Callable[[int], None]:
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


def system(name: str, num_environments: int, train: bool) -> Callable[[int], None]:
    """A runner past its warm-up: acting and recording only, or a batch of 128 every 10 steps."""
    composed = madqn(
        name,
        num_environments=num_environments,
        batch_size=128,
        update_every=10,
        min_size=1_000 if train else 100_000,
        capacity=100_000,
    )
    runner: Runner = SingleProcess(composed, seed=0)
    runner.start(lambda text: None)
    runner.advance(2_000)

    def run(steps: int) -> None:
        runner.advance(runner.environment_steps + steps)

    return run


def seconds(run: Callable[[int], None], steps: int) -> float:
    began = time.perf_counter()
    run(steps)
    return time.perf_counter() - began


def main(argv: list[str]) -> None:
    del argv
    logging.set_verbosity(logging.WARNING)
    prefer_low_latency()  # as mava.launch does
    steps, rounds = FLAGS.steps, FLAGS.rounds
    candidates = {
        (count, kind): system(FLAGS.env, count, kind == "train")
        for count in (1, 8)
        for kind in ("act", "train")
    }
    reference = bare(FLAGS.env)
    reference(steps)
    ratios: dict[tuple[int, str], list[float]] = {key: [] for key in candidates}
    speeds: dict[tuple[int, str], list[float]] = {key: [] for key in candidates}
    bare_speeds = []
    for _ in range(rounds):
        for key, run in candidates.items():
            before = seconds(reference, steps // 2)
            own = seconds(run, steps)
            alone = before + seconds(reference, steps // 2)
            bare_speeds.append(steps / alone)
            speeds[key].append(steps / own)
            ratios[key].append(alone / own)
    print(f"{FLAGS.env}: bare environment {statistics.median(bare_speeds):,.0f} steps/s")
    print(f"{'environments':>12} {'what':>6} {'steps/s':>9} {'ratio':>6} {'target':>7}")
    figures = {}
    for (count, kind), values in ratios.items():
        ratio, speed = statistics.median(values), statistics.median(speeds[count, kind])
        target = TARGETS[count, kind]
        verdict = "" if ratio >= target else "  below"
        print(f"{count:>12} {kind:>6} {speed:>9,.0f} {ratio:>6.2f} {target:>7.2f}{verdict}")
        figures[f"{kind}_{count}"] = {"ratio": ratio, "steps_per_second": speed, "target": target}
    if FLAGS.json:
        with open(FLAGS.json, "w") as file:
            json.dump(figures, file, indent=2)


if __name__ == "__main__":
    app.run(main)
