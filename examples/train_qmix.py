"""Trains QMIX where VDN cannot do well, and shows what each of them reaches.

In the two-step game the first agent chooses between a state that pays 7 for anything and one that
pays 8 for the right pair of actions, less for others. No sum of values tells them apart.

Run it with ``python examples/train_qmix.py [--total_steps=6000]``.
"""

from absl import app, flags, logging

import mava

FLAGS = flags.FLAGS
flags.DEFINE_integer("total_steps", 6_000, "Environment steps.")


def main(argv: list[str]) -> None:
    del argv
    logging.set_verbosity(logging.WARNING)
    for make in (mava.systems.vdn, mava.systems.qmix):
        system = make(
            "matrix/two_step",
            num_environments=8,
            epsilon=1.0,  # the behaviour is random, the evaluation greedy
            learning_rate=2e-3,
            update_every=8,
        )
        result = mava.launch(system, total_steps=FLAGS.total_steps, seed=0)
        print(f"{system.name}: greedy return {result.evaluations[-1].mean_return:.1f} of 8")


if __name__ == "__main__":
    app.run(main)
