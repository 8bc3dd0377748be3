"""What every system reaches in the climbing and the penalty game.

Trains each from several seeds on both games of Claus and Boutilier (1998) with the same few
settings, and prints the greedy return of one episode of 25 steps as a table. The rewards are the
games' own. Beside the systems of the shelf stands one with a swapped component: MADQN with the
hysteretic loss.

    python benchmarks/matrix_games.py
    python benchmarks/matrix_games.py --systems=madqn,hysteretic --games=penalty --seeds=3
"""

from __future__ import annotations

import inspect
import os
import tempfile
import time
from collections.abc import Callable
from typing import Any

import jax
from absl import app, flags, logging

import mava
from mava.components.losses.hysteretic import HystereticMADQNLoss
from mava.core.lifecycle import Observe
from mava.core.system import System
from mava.functional.schedules import Linear
from mava.systems import SYSTEMS, madqn

OPTIMA = {"climbing": 275.0, "penalty": 250.0}

FLAGS = flags.FLAGS
flags.DEFINE_list("games", list(OPTIMA), "Games.")
flags.DEFINE_list("systems", [], "Systems, or hysteretic; none for all.")
flags.DEFINE_integer("seeds", 10, "Seeds of each, from 0 on.", lower_bound=1)
flags.DEFINE_integer("steps", 10_000, "Environment steps.", lower_bound=1)


def hysteretic(environment: str, **options: Any) -> System:
    return madqn(environment, **options).with_(HystereticMADQNLoss(beta=0.1))


CONFIGURATIONS: dict[str, Callable[..., System]] = {**SYSTEMS, "hysteretic": hysteretic}
SAME_OPTIONS = {"hysteretic": madqn}


def settings(name: str, steps: int) -> dict[str, Any]:
    """The same for all, as far as each has such an option. The observation is constant, so the
    future is the same whatever is done now, and a small discount makes the present easy to see."""
    wanted = {
        "num_environments": 16,
        "sharing": "none",
        "epsilon": Linear(1.0, 0.05, steps // 2),
        "discount": 0.5,
        "capacity": 2_000,
        "min_size": 256,
        "batch_size": 64,
        "sequence_length": 5,
        "period": 5,
        "update_every": 16,
        "rollout_length": 16,
        "learning_rate": 1e-3,
    }
    known = inspect.signature(SAME_OPTIONS.get(name, CONFIGURATIONS[name])).parameters
    if "rollout_length" in known:
        del wanted["sequence_length"]  # of a recurrent system
    return {option: value for option, value in wanted.items() if option in known}


def greedy_return(name: str, game: str, seed: int) -> float:
    system = CONFIGURATIONS[name](f"matrix/{game}", **settings(name, FLAGS.steps))
    system = system.without(Observe).replace("evaluator", every=None, episodes=1)
    result = mava.launch(system, total_steps=FLAGS.steps, seed=seed, absolute_metric=False)
    return result.evaluations[-1].mean_return


def row(name: str) -> str:
    cells, began = [name], time.perf_counter()
    for game in FLAGS.games:
        found = [greedy_return(name, game, seed) for seed in range(FLAGS.seeds)]
        best = sum(value >= OPTIMA[game] for value in found)
        mean = sum(found) / len(found)
        cells.append(f"{mean:.1f} [{min(found):g}, {max(found):g}] | {best} of {len(found)}")
    runs = len(FLAGS.games) * FLAGS.seeds
    cells.append(f"{(time.perf_counter() - began) / runs:.1f}")
    return f"| {' | '.join(cells)} |"


def main(argv: list[str]) -> None:
    del argv
    logging.set_verbosity(logging.WARNING)
    headings = " | ".join(f"{game}, return | at {OPTIMA[game]:g}" for game in FLAGS.games)
    print(f"| system | {headings} | seconds a run |")
    print("|---" * (2 + 2 * len(FLAGS.games)) + "|", flush=True)
    with tempfile.TemporaryDirectory() as cache:
        # Seeds share a program, so all but the first find it compiled.
        jax.config.update("jax_compilation_cache_dir", cache)
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
        jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
        for name in FLAGS.systems or CONFIGURATIONS:
            print(row(name), flush=True)


if __name__ == "__main__":
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    app.run(main)
