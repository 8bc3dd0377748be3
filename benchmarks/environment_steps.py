"""Environment steps per second of acting and of training, as ratios to the bare environment.

One run measures everything: rounds of the bare environment stepped with random actions, of acting
and recording, and of training take turns, so that a busy machine slows all of them alike. The
ratios are medians over rounds.

    python benchmarks/environment_steps.py [--env=mpe2/simple_spread_v3] [--rounds=9] [--json=FILE]
"""

from __future__ import annotations

import json
import statistics

from absl import app, flags, logging
from measuring import Run, bare, running, seconds

from mava.systems import madqn
from mava.topologies.latency import prefer_low_latency

FLAGS = flags.FLAGS
flags.DEFINE_string("env", "mpe2/simple_spread_v3", "The environment.")
flags.DEFINE_integer("rounds", 9, "Rounds of each measurement.", lower_bound=1)
flags.DEFINE_integer("steps", 1600, "Environment steps in a round; a multiple of 8.", lower_bound=8)
flags.DEFINE_string("json", None, "Where to write the figures.")

NEVER = 10**9
TARGETS = {(1, "act"): 0.55, (1, "train"): 0.40, (8, "act"): 0.75, (8, "train"): 0.50}


def system(name: str, num_environments: int, train: bool) -> Run:
    """A runner past its warm-up: acting and recording only, or a batch of 128 every 10 steps."""
    composed = madqn(
        name,
        num_environments=num_environments,
        batch_size=128,
        update_every=10,
        min_size=1_000 if train else 100_000,
        capacity=100_000,
    )
    return running(composed, warm_up=2_000)


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
