"""How the compiled topology scales: over environments, agents and devices.

    python benchmarks/scaling.py [--json=FILE] [--picture=docs/curves/scaling.png]

Environment steps per second of feed-forward IPPO on jaxmarl's spread: rollouts of 32 steps, 4
epochs of 1 minibatch, networks of 64 x 64. Each point is a process of its own, since devices are
forced before JAX starts. Devices of a CPU share its cores: what their row shows is what sharing
costs.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from typing import Any

from absl import app, flags

FLAGS = flags.FLAGS
flags.DEFINE_list("environments", ["1", "4", "16", "64", "256", "1024", "4096"], "With 3 agents.")
flags.DEFINE_list("agents", ["2", "3", "5", "10", "20", "30"], "In 64 environments.")
flags.DEFINE_list("devices", ["1", "2", "4"], "For 256 environments of 3 agents.")
flags.DEFINE_float("seconds", 3.0, "Of each measurement, about.")
flags.DEFINE_string("json", None, "Where to write the figures.")
flags.DEFINE_string("picture", None, "Where to draw them.")
flags.DEFINE_string("one", None, "For the process of one point: environments,agents,devices.")

ROLLOUT = 32


def main(argv: list[str]) -> None:
    del argv
    if FLAGS.one:
        print(json.dumps(_one(*(int(x) for x in FLAGS.one.split(",")))))
        return
    series: dict[str, dict[int, dict[str, float]]] = {}
    for name, values, point in (
        ("environments", FLAGS.environments, lambda n: (n, 3, 1)),
        ("agents", FLAGS.agents, lambda n: (64, n, 1)),
        ("devices", FLAGS.devices, lambda n: (256, 3, n)),
    ):
        series[name] = {}
        for value in map(int, values):
            series[name][value] = found = _process(*point(value))
            print(
                f"{name} {value:>5}: {found['steps_per_second']:>10,.0f} steps/s, "
                f"{found['estimated'] / 1e6:,.1f} MB estimated",
                flush=True,
            )
    if FLAGS.json:
        with open(FLAGS.json, "w") as file:
            json.dump(series, file, indent=2)
    if FLAGS.picture:
        _draw(series, FLAGS.picture)


def _process(environments: int, agents: int, devices: int) -> dict[str, float]:
    flags_ = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count={devices}"
    done = subprocess.run(
        [sys.executable, __file__, f"--one={environments},{agents},{devices}"],
        env={**os.environ, "XLA_FLAGS": flags_},
        stdout=subprocess.PIPE,
        check=True,
    )
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def _one(environments: int, agents: int, devices: int) -> dict[str, Any]:
    from mava.environments import as_factory
    from mava.systems import ippo
    from mava.topologies.compiled import Compiled

    spread = as_factory("jaxmarl/mpe/simple_spread_v3", num_agents=agents, num_landmarks=agents)
    system = ippo(
        spread,
        num_environments=environments,
        rollout_length=ROLLOUT,
        epochs=4,
        minibatches=1,
    )
    runner = Compiled(system, seed=0, num_devices=devices)
    runner.start(lambda text: None)
    batch = environments * ROLLOUT
    speeds = []
    steps = batch
    runner.advance(batch)
    while len(speeds) < 3:
        began, before = time.perf_counter(), runner.environment_steps
        runner.advance(before + steps)
        seconds = time.perf_counter() - began
        if seconds < FLAGS.seconds / 6:
            steps *= 2
            continue
        speeds.append((runner.environment_steps - before) / seconds)
    return {
        "steps_per_second": statistics.median(speeds),
        "estimated": sum(runner.memory_estimate().values()),
    }


def _draw(series: dict[str, dict[int, dict[str, float]]], path: str) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, len(series), figsize=(10, 3.2), layout="constrained")
    for axis, (name, points) in zip(axes, series.items(), strict=True):
        x = list(points)
        axis.plot(x, [points[n]["steps_per_second"] for n in x], marker="o")
        axis.set(xscale="log", yscale="log", xlabel=name, xticks=x)
        axis.set_xticks(x, [str(n) for n in x], rotation=45)
        axis.minorticks_off()
        axis.grid(alpha=0.3)
    axes[0].set_ylabel("environment steps per second")
    figure.savefig(path, dpi=150)
    plt.close(figure)


if __name__ == "__main__":
    app.run(main)
