"""Trains MADDPG on continuous actions, with noise that is correlated over an episode's steps.

Run it with ``python examples/train_maddpg.py [--total_steps=30000]``.
"""

from absl import app, flags, logging

import mava
from mava.components.exploration.action_noise import OrnsteinUhlenbeckNoise
from mava.environments import as_factory

FLAGS = flags.FLAGS
flags.DEFINE_integer("total_steps", 30_000, "Environment steps.")


def main(argv: list[str]) -> None:
    del argv
    logging.set_verbosity(logging.WARNING)
    spread = as_factory("mpe2/simple_spread_v3", continuous_actions=True)
    system = mava.systems.maddpg(spread, num_environments=8, discount=0.95)
    system = system.with_(OrnsteinUhlenbeckNoise(random_steps=1_000))
    print(*(component.name for component in system))
    result = mava.launch(system, total_steps=FLAGS.total_steps, seed=0)
    print(f"before {result.evaluations[0].mean_return:.1f}")
    print(f"after  {result.evaluations[-1].mean_return:.1f}")


if __name__ == "__main__":
    app.run(main)
