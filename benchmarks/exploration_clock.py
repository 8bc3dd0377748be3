"""Does it matter how finely epsilon follows the transitions of many environments?

Trains recurrent IQL by the compiled topology with three clocks, and prints the greedy return of its
seeds after the same number of transitions:

* ``transition``: each transition has the epsilon of its own index, as Mava has it;
* ``step``: all transitions of a vectorised step have the epsilon of the first of them;
* ``steps counted``: the schedule counts vectorised steps in place of transitions.

    python benchmarks/exploration_clock.py
    python benchmarks/exploration_clock.py --environments=16 --clocks=step --tasks=matrix/climbing
"""

from __future__ import annotations

import dataclasses
import os
import time

import numpy as np
from absl import app, flags, logging

import mava
from mava.components.exploration.epsilon_greedy import EpsilonGreedy
from mava.core.contexts import ActContext, Selection
from mava.core.lifecycle import Observe
from mava.core.system import System
from mava.functional.schedules import Linear
from mava.systems import rec_iql
from mava.types import Array, PyTree

CLOCKS = ("transition", "step", "steps counted")

FLAGS = flags.FLAGS
flags.DEFINE_list("tasks", ["jaxmarl/mpe/simple_spread_v3"], "JAX environments.")
flags.DEFINE_list("environments", ["1", "16", "256"], "Environments stepped together.")
flags.DEFINE_list("clocks", list(CLOCKS), "Clocks of exploration.")
flags.DEFINE_integer("seeds", 5, "Seeds of each, from 0 on.", lower_bound=1)
flags.DEFINE_integer("steps", 32_768, "Transitions; epsilon falls over the first half of them.")
flags.DEFINE_integer("first", 4_096, "Transitions before the first trainer step.")
flags.DEFINE_integer("episodes", 64, "Of each evaluation of each seed.", lower_bound=1)


@dataclasses.dataclass(frozen=True)
class CoarseEpsilonGreedy(EpsilonGreedy):
    """Epsilon-greedy, its epsilon the same in a whole vectorised step.

    Attributes:
        num_environments: stepped together.
        counts_steps: the schedule counts vectorised steps in place of transitions.
    """

    num_environments: int = 1
    counts_steps: bool = False

    def select_action(
        self, scores: Array, legal_actions: Array, memory: PyTree, context: ActContext
    ) -> tuple[Selection, PyTree]:
        clock = context.clock // self.num_environments
        if not self.counts_steps:
            clock = clock * self.num_environments
        context = dataclasses.replace(context, clock=clock)
        return super().select_action(scores, legal_actions, memory, context)


def make_system(task: str, environments: int, clock: str, steps: int, first: int) -> System:
    epsilon = Linear(1.0, 0.05, steps // 2)
    system = rec_iql(
        task,
        num_environments=environments,
        torso_sizes=(32,),
        memory_size=32,
        head_sizes=(),
        epsilon=epsilon,
        discount=0.9,
        capacity=steps,
        min_size=first,
        sequence_length=8,
        period=8,
        learning_rate=2e-3,
        target_rate=0.02,
        update_every=32,
    )
    if clock != "transition":
        counts = clock == "steps counted"
        system = system.with_(CoarseEpsilonGreedy(epsilon, environments, counts))
    return system.without(Observe)


def row(task: str, environments: int, clock: str) -> str:
    began = time.perf_counter()
    system = make_system(task, environments, clock, FLAGS.steps, FLAGS.first)
    system = system.replace("evaluator", every=FLAGS.steps // 4, episodes=FLAGS.episodes)
    options = {"num_seeds": FLAGS.seeds} if FLAGS.seeds > 1 else {}
    result = mava.launch(
        system, "compiled", total_steps=FLAGS.steps, absolute_metric=False, **options
    )
    cells = [task, str(environments), clock]
    for evaluation in result.evaluations[-3:]:
        found = [one.mean_return for one in evaluation.seeds or (evaluation,)]
        cells.append(f"{np.mean(found):.2f} [{min(found):.2f}, {max(found):.2f}]")
    return f"| {' | '.join(cells)} | {time.perf_counter() - began:.0f} |"


def main(argv: list[str]) -> None:
    del argv
    logging.set_verbosity(logging.WARNING)
    after = " | ".join(f"after {FLAGS.steps * part // 4:,}" for part in (2, 3, 4))
    print(f"| task | environments | clock | {after} | seconds |")
    print("|---" * 7 + "|", flush=True)
    for task in FLAGS.tasks:
        for environments in map(int, FLAGS.environments):
            for clock in FLAGS.clocks if environments > 1 else FLAGS.clocks[:1]:
                print(row(task, environments, clock), flush=True)


if __name__ == "__main__":
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    app.run(main)
