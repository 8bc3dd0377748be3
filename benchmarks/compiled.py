"""Training speed of the compiled topology, over the bare environment's in the same process.

    python benchmarks/compiled.py [--rows=rec_iql_short,ff_ippo] [--json=FILE]

Each row is a process of its own, started twice: first with an empty compilation cache, then with
what the first one left there. The bare environment, as many of it, plays random legal actions
inside one compiled loop. It takes turns with training.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from typing import Any

from absl import app, flags
from compiled_rows import ROWS, Row

FLAGS = flags.FLAGS
flags.DEFINE_list("rows", list(ROWS), "Which rows, by name.")
flags.DEFINE_integer("rounds", 3, "Turns of the bare environment and of training.", lower_bound=1)
flags.DEFINE_string("json", None, "Where to write the figures.")
flags.DEFINE_string("one", None, "For the process of a single row.")
flags.DEFINE_bool("start_only", False, "For it: stop after the first update.")

FIRST = "first update "


def main(argv: list[str]) -> None:
    del argv
    if FLAGS.one:
        _one(ROWS[FLAGS.one])
        return
    found = {}
    print(
        f"{'row':<16} {'steps/s':>8} {'of bare':>8} {'known':>7} {'times':>6} {'aim':>5} "
        f"{'cold, s':>8} {'warm, s':>8}"
    )
    for name in FLAGS.rows:
        with tempfile.TemporaryDirectory(prefix="mava-compiled-") as cache:
            cold = _process(name, cache)
            warm = _process(name, cache, "--start_only")
        row = ROWS[name]
        figures = {**cold, "cold": cold["first"], "warm": warm["first"]}
        found[name] = figures
        times = figures["steps_per_second"] / row.known
        print(
            f"{name:<16} {figures['steps_per_second']:>8,.0f} {figures['share']:>8.3f} "
            f"{row.known:>7,} {times:>6.2f} {row.factor:>5} {figures['cold']:>8.1f} "
            f"{figures['warm']:>8.1f}",
            flush=True,
        )
    if FLAGS.json:
        with open(FLAGS.json, "w") as file:
            json.dump(found, file, indent=2)


def _process(name: str, cache: str, *more: str) -> dict[str, Any]:
    """Runs a row, and takes the time from its start to its first update."""
    command = [sys.executable, __file__, f"--one={name}", f"--rounds={FLAGS.rounds}", *more]
    environment = {**os.environ, "JAX_COMPILATION_CACHE_DIR": cache}
    environment["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0.5"
    began = time.time()
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        lines = process.stdout.readlines()
    if process.returncode:
        raise SystemExit(f"{name} failed")
    first = next(float(line[len(FIRST) :]) for line in lines if line.startswith(FIRST))
    figures: dict[str, Any] = {} if more else json.loads(lines[-1])
    return {**figures, "first": first - began}


def _one(row: Row) -> None:
    """Trains up to the first update, then takes turns with the bare environment."""
    from compiled_rows import bare, system_of

    from mava.topologies.compiled import Compiled

    runner = Compiled(system_of(row), seed=0)
    runner.start(lambda text: None)
    runner.advance(runner.program.rounds.first)
    assert runner.trainer_steps
    print(f"{FIRST}{time.time()}", flush=True)
    if FLAGS.start_only:
        return
    play = bare(row)
    play(100)
    runner.advance(runner.environment_steps + row.steps)
    ours, theirs = [], []
    for _ in range(FLAGS.rounds):
        vectorised = max(200, 20_000 // runner.program.num_environments)
        theirs.append(vectorised * runner.program.num_environments / _seconds(play, vectorised))
        before = runner.environment_steps
        seconds = _seconds(runner.advance, before + row.steps)
        ours.append((runner.environment_steps - before) / seconds)
    shares = [mine / bare for mine, bare in zip(ours, theirs, strict=True)]
    print(
        json.dumps(
            {
                "steps_per_second": statistics.median(ours),
                "bare": statistics.median(theirs),
                "share": statistics.median(shares),
            }
        )
    )


def _seconds(run: Any, steps: int) -> float:
    began = time.perf_counter()
    run(steps)
    return time.perf_counter() - began


if __name__ == "__main__":
    app.run(main)
