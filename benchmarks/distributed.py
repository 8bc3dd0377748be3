"""The distributed topology in figures: scaling over executors, overhead, samples per insert.

    .venv-distributed/bin/python benchmarks/distributed.py

*Scaling*: an environment that sleeps ten milliseconds a step, so that executors do not compete for
cores; transitions per second of 8 executors over those of 1. *Overhead*: an environment that costs
nothing, one executor, over a single process. *Samples per insert*: what the replay counted over a
long run, over the plan's. *Start*: from the call of ``launch`` to the first trainer step.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from absl import app, flags, logging

from mava.core.system import System
from mava.systems import madqn
from mava.testing.toys import Const
from mava.topologies.base import Runner
from mava.topologies.distributed.runner import Distributed
from mava.topologies.single_process import SingleProcess

FLAGS = flags.FLAGS
flags.DEFINE_list("executors", ["1", "2", "4", "8"], "Executors of the scaling rows.")
flags.DEFINE_float("seconds", 15.0, "Of each measurement, after five of warming up.")
flags.DEFINE_list("parts", ["scaling", "overhead", "samples"], "What to measure.")

SLEEP = 0.01
WARM_UP = 5.0


class Sleeping(Const):
    """Sleeps before each step."""

    def __init__(self) -> None:
        super().__init__(truncates=True, length=100)

    def step(self, actions: dict[Any, Any]) -> Any:
        time.sleep(SLEEP)
        return super().step(actions)


def system(environment: Any, **options: Any) -> System:
    """MADQN, one environment per executor, 100 updates of 128 per 1,000 steps."""
    sizes = {"batch_size": 128, "update_every": 10, "min_size": 1_000, "hidden_sizes": (64, 64)}
    return madqn(environment, num_environments=1, **{**sizes, **options})


@contextmanager
def started(runner: Runner) -> Iterator[Runner]:
    try:
        runner.start(lambda text: None)
        yield runner
    finally:
        runner.close()


def speed(runner: Runner, seconds: float) -> float:
    """Environment steps per second, in mid-run."""
    _advance(runner, WARM_UP)
    before, began = runner.environment_steps, time.perf_counter()
    _advance(runner, seconds)
    return (runner.environment_steps - before) / (time.perf_counter() - began)


def _advance(runner: Runner, seconds: float) -> None:
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        ahead = 10_000_000 if runner.is_asynchronous else 100
        runner.advance(runner.environment_steps + ahead)


def scaling() -> None:
    print("| executors | transitions per second | of one executor's |")
    print("|---|---|---|")
    first = None
    for count in map(int, FLAGS.executors):
        with started(Distributed(system(Sleeping), seed=0, executors=count)) as runner:
            found = speed(runner, FLAGS.seconds)
        first = first or found
        print(f"| {count} | {found:,.0f} | {found / first:.2f} |", flush=True)


def overhead() -> None:
    print("| what | single process | one executor | ratio |")
    print("|---|---|---|---|")
    never = {"min_size": 900_000, "capacity": 1_000_000}
    for what, options in (("acting and recording", never), ("training", {})):
        made = system("matrix/climbing", **options)
        with started(SingleProcess(made, seed=0)) as runner:
            here = speed(runner, FLAGS.seconds)
        with started(Distributed(made, seed=0, executors=1)) as runner:
            there = speed(runner, FLAGS.seconds)
        print(f"| {what} | {here:,.0f} | {there:,.0f} | {there / here:.2f} |", flush=True)


def samples() -> None:
    made = system("matrix/climbing")
    began = time.perf_counter()
    runner = Distributed(made, seed=0, executors=2)
    with started(runner):
        while not runner.trainer_steps:
            runner.advance(runner.environment_steps + 10_000_000)
        first = time.perf_counter() - began
        _advance(runner, 2 * FLAGS.seconds)
        runner.pause()
        inserted, sampled = runner.replayed()
    from mava.topologies.distributed.tables import samples_per_insert  # loads TensorFlow

    plan, rounds = runner.program.plan, runner.program.rounds
    planned = samples_per_insert(plan, rounds)
    after = inserted - rounds.first
    print(f"first trainer step {first:.1f} s after the call")
    print(
        f"{inserted:,} items inserted, {sampled:,} sampled: {sampled / after:.2f} for each item "
        f"after the first {rounds.first:,}, planned {planned:.2f}: {sampled / after / planned:.3f}"
    )


def main(argv: list[str]) -> None:
    del argv
    logging.set_verbosity(logging.WARNING)
    parts = {"scaling": scaling, "overhead": overhead, "samples": samples}
    for name in FLAGS.parts:
        parts[name]()


if __name__ == "__main__":
    app.run(main)
