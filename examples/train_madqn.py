"""Trains MADQN on a PettingZoo task and acts with the result.

Run it with ``python examples/train_madqn.py [--total_steps=30000] [--run_dir=runs/example]``.
"""

from absl import app, flags, logging

import mava
from mava.environments import make
from mava.functional.schedules import Linear

FLAGS = flags.FLAGS
flags.DEFINE_integer("total_steps", 30_000, "Environment steps.")
flags.DEFINE_string("run_dir", None, "Where to keep checkpoints and logs.")


def main(argv: list[str]) -> None:
    del argv
    logging.set_verbosity(logging.WARNING)
    system = mava.systems.madqn(
        "mpe2/simple_spread_v3",
        num_environments=8,
        discount=0.9,
        epsilon=Linear(1.0, 0.05, steps=15_000),
    )
    result = mava.launch(system, total_steps=FLAGS.total_steps, seed=0, run_dir=FLAGS.run_dir)
    print(f"before {result.evaluations[0].mean_return:.1f}")
    print(f"after  {result.evaluations[-1].mean_return:.1f}")

    environment = make("mpe2/simple_spread_v3")
    timestep = environment.reset(seed=0)
    result.policy.reset()
    while not timestep.end:
        timestep = environment.step(result.policy(timestep))
    print(f"one more episode ended with rewards {timestep.reward['agents']}")
    environment.close()


if __name__ == "__main__":
    app.run(main)
