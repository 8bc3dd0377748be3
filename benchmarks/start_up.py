"""What starting costs: imports against those of the libraries underneath, and ``build``.

    python benchmarks/start_up.py [--rounds=5] [--json=FILE]

Each import is timed in processes of its own, which take turns; ratios are of medians.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys

from absl import app, flags

FLAGS = flags.FLAGS
flags.DEFINE_integer("rounds", 5, "Processes of each kind.", lower_bound=1)
flags.DEFINE_string("json", None, "Where to write the figures.")

LIBRARIES = "import jax, flax.linen, optax, flashbax"
IMPORTS = {
    "libraries": LIBRARIES,
    "import mava": "import mava",
    "system and launch": "import mava; mava.systems.madqn; mava.launch; mava.environments.make",
}
BUILD = """
import mava
system = mava.systems.madqn("mpe2/simple_spread_v3")
spec = system.environment.build().spec
"""
TIMED = "import time; began = time.perf_counter(); {}; print(time.perf_counter() - began)"


def seconds(code: str, before: str = "") -> float:
    program = before + TIMED.format(code)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    return float(done.stdout.split()[-1])


def main(argv: list[str]) -> None:
    del argv
    times: dict[str, list[float]] = {name: [] for name in (*IMPORTS, "build")}
    for _ in range(FLAGS.rounds):
        for name, code in IMPORTS.items():
            times[name].append(seconds(code))
        times["build"].append(seconds("mava.build(system, spec)", BUILD))
    medians = {name: statistics.median(values) for name, values in times.items()}
    print(f"{'what':<20} {'seconds':>8} {'ratio':>6}")
    for name, value in medians.items():
        ratio = "" if name == "build" else f"{value / medians['libraries']:.2f}"
        print(f"{name:<20} {value:>8.2f} {ratio:>6}")
    if FLAGS.json:
        with open(FLAGS.json, "w") as file:
            json.dump(medians, file, indent=2)


if __name__ == "__main__":
    app.run(main)
