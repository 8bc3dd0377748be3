"""Trains MAPPO on a PettingZoo task with continuous actions, and shows how its parts are swapped.

Run it with ``python examples/train_mappo.py [--total_steps=100000]``.
"""

from absl import app, flags, logging

import mava
from mava.components.networks.value_network import ValueNetwork
from mava.environments import as_factory
from mava.functional.schedules import Linear

FLAGS = flags.FLAGS
flags.DEFINE_integer("total_steps", 100_000, "Environment steps.")


def main(argv: list[str]) -> None:
    del argv
    logging.set_verbosity(logging.WARNING)
    environment = as_factory("mpe2/simple_spread_v3", continuous_actions=True)
    system = mava.systems.mappo(
        environment, discount=0.9, entropy_coefficient=Linear(0.01, 0.0, steps=4_000)
    )
    # Critics of each agent's own observation make of it what IPPO is.
    independent = system.with_(ValueNetwork()).without("record_state")
    print("with the critic swapped:", *(component.name for component in independent))

    result = mava.launch(system, total_steps=FLAGS.total_steps, seed=0)
    print(f"before {result.evaluations[0].mean_return:.1f}")
    print(f"after  {result.evaluations[-1].mean_return:.1f}")


if __name__ == "__main__":
    app.run(main)
