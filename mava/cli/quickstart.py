"""A first system on a first task: ``make quickstart``, or ``python -m mava.cli.quickstart``."""

from __future__ import annotations

import argparse
import os
import pathlib
import shlex
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mava.errors import ConfigurationError
from mava.functional.schedules import Linear

if TYPE_CHECKING:
    from mava.core.evaluation import Evaluation
    from mava.core.system import System
    from mava.launcher.result import Result

ENVIRONMENT = "mpe2/simple_spread_v3"
SEED = 0
TOTAL_STEPS = 200_000
EVALUATE_EVERY = 20_000
EPISODES = 32
OPTIONS: dict[str, Any] = {
    "num_environments": 8,
    "update_every": 16,
    "hidden_sizes": (128, 128),
    "discount": 0.9,
    "epsilon": Linear(1.0, 0.05, 60_000),
}
"""Of ``mava.systems.madqn``."""

RUN_DIR = pathlib.Path("runs/quickstart")


def main(argv: Sequence[str] = ()) -> int:
    """Returns the exit code: 0, 2 where the topology cannot run here, or 130 where the run was
    interrupted.

    Args:
        argv: ``--topology=NAME``, or nothing: a single process.
    """
    import mava
    from mava.components.observers.terminal import say
    from mava.launcher.launch import TOPOLOGIES

    parser = argparse.ArgumentParser("python -m mava.cli.quickstart", description=__doc__)
    parser.add_argument("--topology", choices=tuple(TOPOLOGIES), default="single_process")
    topology = parser.parse_args(argv).topology
    system = make_system()
    run_dir = vacant(RUN_DIR)
    say(f"Training {system.name} on {ENVIRONMENT}. Ctrl-C stops, and keeps what was learned.")
    try:
        result = mava.launch(system, topology, total_steps=TOTAL_STEPS, seed=SEED, run_dir=run_dir)
    except KeyboardInterrupt:
        return 130
    except ConfigurationError as error:
        print(f"mava: {error}", file=sys.stderr)
        return 2
    if result.interrupted:
        print(f"Interrupted. Go on with:\n  {_mava()} train --resume --run_dir={run_dir}")
        return 130
    say("evaluating the random policy, to compare")
    chance = random_evaluation(system, episodes=10 * EPISODES)
    print(_report(run_dir, result, chance))
    return 0


def make_system() -> System:
    """The system that the quickstart trains."""
    from mava.systems import madqn

    system = madqn(ENVIRONMENT, **OPTIONS)
    return system.replace("evaluator", every=EVALUATE_EVERY, episodes=EPISODES)


def vacant(path: pathlib.Path) -> pathlib.Path:
    """The path, or the first of ``path-2``, ``path-3``, ... where there is nothing."""
    candidate, number = path, 1
    while candidate.exists():
        number += 1
        candidate = path.with_name(f"{path.name}-{number}")
    return candidate


def random_evaluation(system: System, episodes: int) -> Evaluation:
    """What the random policy reaches in the system's environment."""
    from mava.core.evaluation import Evaluation
    from mava.core.system import build
    from mava.launcher.policy import random_policy
    from mava.topologies.host_episodes import HostEpisodes

    environments = HostEpisodes(system.environment.build)
    try:
        act = random_policy(build(system).spec)
        return Evaluation.of(environments.run(act, episodes, SEED))
    finally:
        environments.close()


def _report(run_dir: pathlib.Path, result: Result, chance: Evaluation) -> str:
    from mava.plotting import learning_curve

    picture = learning_curve(
        [run_dir], run_dir / "learning_curve.png", random_return=chance.mean_return
    )
    rows = [("random policy", chance), ("before training", result.evaluations[0])]
    rows.append(("after training", result.evaluations[-1]))
    if result.absolute_metric is not None:
        rows.append(
            (f"best checkpoint (step {result.absolute_metric.step:,})", result.absolute_metric)
        )
    mava, place = _mava(), shlex.quote(str(run_dir))
    return f"""
{table(rows)}

learning curve  {picture}
checkpoint      {run_dir / "checkpoints"}

What to try next:
  evaluate it at length     {mava} evaluate --run_dir={place} --episodes=100
  draw runs together        {mava} plot {place} OTHER_RUN
  train on                  {mava} train --resume --run_dir={place} --total_steps={2 * TOTAL_STEPS}
  read the wiring           {mava} describe --system=madqn --env={ENVIRONMENT}
  another environment       {mava} train --system=madqn --env=mpe2/simple_speaker_listener_v4 \\
                              --total_steps=50000 --set=adam.learning_rate=1e-3
  stop at a breakpoint      {mava} train --system=madqn --env=matrix/climbing --total_steps=2000 \\
                              --jit=false, after writing breakpoint() into any component"""


def table(rows: list[tuple[str, Evaluation]]) -> str:
    """Mean returns with their 95 % intervals, a row each."""
    from mava.plotting import interval_of

    width = max(len(name) for name, _ in rows)
    lines = [f"{'':<{width}}  mean return  95 % interval       episodes"]
    for name, evaluation in rows:
        low, high = interval_of(np.asarray(evaluation.returns))
        interval = f"[{low:.2f}, {high:.2f}]"
        lines.append(
            f"{name:<{width}}  {evaluation.mean_return:>11.2f}  {interval:<18}  "
            f"{len(evaluation.returns):>8}"
        )
    return "\n".join(lines)


def _mava() -> str:
    """The command as it can be typed here."""
    beside = pathlib.Path(sys.executable).parent / "mava"
    if not beside.exists():
        return "python -m mava.cli"
    relative = os.path.relpath(beside)
    return shlex.quote(relative if not relative.startswith("..") else str(beside))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
