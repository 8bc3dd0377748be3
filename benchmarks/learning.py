"""The learning table: every system on every task, over several seeds.

Each run is a process of its own on one thread; ``--jobs`` run side by side. Runs that are there
already are kept, so the table can grow. At the end the tables of ``docs/results.md`` are written
anew from all runs, and a picture for each task.

    python benchmarks/learning.py --tasks=spread --systems=madqn,qmix --seeds=3
    python benchmarks/learning.py --render    # only the tables and pictures
"""

from __future__ import annotations

import concurrent.futures
import json
import os
import pathlib
import resource
import shutil
import subprocess
import sys
import time

import learning_tables
from absl import app, flags, logging
from learning_tasks import TASKS, make_system

FLAGS = flags.FLAGS
flags.DEFINE_list("tasks", list(TASKS), "Tasks, by name.")
flags.DEFINE_list("systems", [], "Systems; none for those that each task names.")
flags.DEFINE_integer("seeds", 3, "Seeds of each, from 0 on.", lower_bound=1)
flags.DEFINE_integer("steps", None, "Environment steps, in place of the task's own.")
flags.DEFINE_integer("jobs", 2, "Runs side by side.", lower_bound=1)
flags.DEFINE_string("runs", "runs/learning", "Where the runs are.")
flags.DEFINE_bool("render", False, "Write tables and pictures of the runs that are there.")
flags.DEFINE_string("one", None, "For the processes of single runs: task/system/seed.")

ONE_THREAD = {
    "JAX_PLATFORMS": "cpu",
    "OMP_NUM_THREADS": "1",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false",
}


def main(argv: list[str]) -> None:
    del argv
    logging.set_verbosity(logging.WARNING)
    if FLAGS.one:
        run_one(FLAGS.one)
        return
    if not FLAGS.render:
        wanted = [
            f"{task}/{system}/{seed}"
            for seed in range(FLAGS.seeds)
            for task in FLAGS.tasks
            for system in FLAGS.systems or TASKS[task].systems
        ]
        run_all([name for name in wanted if not _record_of(name).exists()])
    learning_tables.write(pathlib.Path(FLAGS.runs))


def run_all(names: list[str]) -> None:
    """Runs each in a process of its own, ``--jobs`` at a time, and goes on where one fails."""
    failed = []
    with concurrent.futures.ThreadPoolExecutor(FLAGS.jobs) as pool:
        coming = {pool.submit(_run_in_process, name): name for name in names}
        for left, done in enumerate(concurrent.futures.as_completed(coming), start=1 - len(names)):
            name, code = coming[done], done.result()
            failed += [name] if code else []
            print(f"{name}: {'failed' if code else 'done'}, {-left} to go", flush=True)
    for name in failed:
        print(f"{name} failed; see {_record_of(name).with_name('log.txt')}")


def run_one(name: str) -> None:
    import mava

    task, system, seed = name.split("/")
    steps = FLAGS.steps or TASKS[task].steps
    run_dir = _record_of(name).parent / "run"
    shutil.rmtree(run_dir, ignore_errors=True)  # of a run that was broken off
    began = time.perf_counter()
    result = mava.launch(
        make_system(system, TASKS[task], steps),
        TASKS[task].topology,
        total_steps=steps,
        seed=int(seed),
        run_dir=run_dir,
        checkpoint_every=steps,
    )
    if result.interrupted:
        sys.exit(f"{name} was interrupted, so there is no record of it")
    usage = resource.getrusage(resource.RUSAGE_SELF)
    record = {
        "task": task,
        "system": system,
        "seed": int(seed),
        "wall_seconds": time.perf_counter() - began,
        "cpu_seconds": usage.ru_utime + usage.ru_stime,
        "metrics": [evaluation.metrics for evaluation in result.evaluations],
        "best_metrics": result.absolute_metric.metrics if result.absolute_metric else {},
        **{k: v for k, v in result.as_json().items() if k not in ("run_dir", "wall_seconds")},
    }
    _record_of(name).write_text(json.dumps(record))


def _run_in_process(name: str) -> int:
    place = _record_of(name).parent
    place.mkdir(parents=True, exist_ok=True)
    steps = [] if FLAGS.steps is None else [f"--steps={FLAGS.steps}"]
    with (place / "log.txt").open("wb") as log:
        return subprocess.run(
            [sys.executable, __file__, f"--one={name}", f"--runs={FLAGS.runs}", *steps],
            stdout=log,
            stderr=subprocess.STDOUT,
            env={**os.environ, **ONE_THREAD},
            check=False,
        ).returncode


def _record_of(name: str) -> pathlib.Path:
    return pathlib.Path(FLAGS.runs) / name / "record.json"


if __name__ == "__main__":
    app.run(main)
