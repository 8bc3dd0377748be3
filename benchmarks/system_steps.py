"""Environment steps per second of training, each system, as ratios to the bare environment.

Networks are 64 x 64. Off-policy systems make 100 updates on 128 items in 1,000 steps, on-policy
ones 10 epochs of 5 minibatches in 2,000. As in ``environment_steps.py`` the bare environment and
the systems take turns, and ratios are medians over rounds.

    python benchmarks/system_steps.py [--rounds=5] [--environments=8] [--systems=madqn,qmix]
"""

from __future__ import annotations

import statistics
from typing import Any

from absl import app, flags, logging
from measuring import bare, running, seconds

from mava.core.system import System
from mava.systems import SYSTEMS
from mava.topologies.latency import prefer_low_latency

FLAGS = flags.FLAGS
flags.DEFINE_string("env", "mpe2/simple_spread_v3", "The environment.")
flags.DEFINE_integer("rounds", 5, "Rounds of each measurement.", lower_bound=1)
flags.DEFINE_integer("environments", 8, "Environments stepped together.", lower_bound=1)
flags.DEFINE_list("systems", list(SYSTEMS), "Systems to measure.")

STEPS = 4_000
"""In a round: two rounds of updates on policy."""
TARGETS = {"madqn": 0.35, "qmix": 0.35, "maddpg": 0.35, "ippo": 0.35}
OFF_POLICY: dict[str, Any] = {"update_every": 10, "updates": 1}
PLAIN = {"hidden_sizes": (64, 64)}
RECURRENT = {"torso_sizes": (64,), "memory_size": 64, "head_sizes": (), "batch_size": 32}


def system(name: str) -> System:
    """Recurrent ones train on 32 sequences of 20 steps in place of 128 transitions."""
    if name in ("ippo", "mappo"):
        length = 2_000 // FLAGS.environments
        options = {**PLAIN, "rollout_length": length, "epochs": 10, "minibatches": 5}
    elif name.startswith("rec_"):
        options = {**OFF_POLICY, **RECURRENT}
    else:
        options = {**OFF_POLICY, **PLAIN, "batch_size": 128}
    return SYSTEMS[name](FLAGS.env, num_environments=FLAGS.environments, **options)


def main(argv: list[str]) -> None:
    del argv
    logging.set_verbosity(logging.WARNING)
    prefer_low_latency()  # as mava.launch does
    candidates = {name: running(system(name), warm_up=STEPS) for name in FLAGS.systems}
    reference = bare(FLAGS.env)
    reference(STEPS)
    ratios: dict[str, list[float]] = {name: [] for name in candidates}
    speeds: dict[str, list[float]] = {name: [] for name in candidates}
    bare_speeds = []
    for _ in range(FLAGS.rounds):
        for name, run in candidates.items():
            before = seconds(reference, STEPS // 2)
            own = seconds(run, STEPS)
            alone = before + seconds(reference, STEPS // 2)
            bare_speeds.append(STEPS / alone)
            speeds[name].append(STEPS / own)
            ratios[name].append(alone / own)
    print(f"{FLAGS.env}: bare environment {statistics.median(bare_speeds):,.0f} steps/s")
    print(f"| system | steps/s, {FLAGS.environments} environments | of the bare one's | aim |")
    print("|---|---|---|---|")
    for name, values in ratios.items():
        ratio, speed = statistics.median(values), statistics.median(speeds[name])
        target = TARGETS.get(name)
        aim = "" if target is None else f"{target:.2f}{'' if ratio >= target else ', missed'}"
        print(f"| `{name}` | {speed:,.0f} | {ratio:.2f} | {aim} |")


if __name__ == "__main__":
    app.run(main)
