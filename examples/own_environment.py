"""Trains on an environment of one's own: any callable that makes a PettingZoo environment.

Run it with ``python examples/own_environment.py [--total_steps=4000]``, and with
``--run_dir=runs/lights`` to keep the run, and ``--resume`` too to go on with it.
"""

import numpy as np
from absl import app, flags, logging
from gymnasium.spaces import Box, Discrete
from pettingzoo import ParallelEnv

import mava
from mava.functional.schedules import Linear

FLAGS = flags.FLAGS
flags.DEFINE_integer("total_steps", 4_000, "Environment steps.")
flags.DEFINE_string("run_dir", None, "Where to keep checkpoints and logs.")
flags.DEFINE_boolean("resume", False, "Go on with the run in run_dir.")


class Lights(ParallelEnv):
    """Two agents see a light each and are paid for naming the *other* agent's colour after it was
    shown to them as the second entry of their observation."""

    metadata = {"name": "lights"}  # noqa: RUF012  # as PettingZoo writes them
    possible_agents = ["left", "right"]  # noqa: RUF012

    def observation_space(self, agent):
        return Box(0.0, 1.0, (2,), np.float32)

    def action_space(self, agent):
        return Discrete(2)

    def reset(self, seed=None, options=None):
        if seed is not None:
            self._rng = np.random.default_rng(seed)
        self.agents, self._time = list(self.possible_agents), 0
        return self._show(), {agent: {} for agent in self.agents}

    def step(self, actions):
        paid = {a: float(actions[a] == self._colours[1 - i]) for i, a in enumerate(self.agents)}
        self._time += 1
        acted, over = self.agents, self._time == 10
        observations = self._show()
        self.agents = [] if over else acted
        never = dict.fromkeys(acted, False)
        return observations, paid, never, dict.fromkeys(acted, over), {a: {} for a in acted}

    def _show(self):
        self._colours = self._rng.integers(0, 2, 2)
        own, other = self._colours, self._colours[::-1]
        return {a: np.array([own[i], other[i]], np.float32) for i, a in enumerate(self.agents)}


def main(argv: list[str]) -> None:
    del argv
    logging.set_verbosity(logging.WARNING)
    system = mava.systems.madqn(
        Lights, min_size=200, discount=0.5, learning_rate=3e-3, epsilon=Linear(1.0, 0.05, 2_000)
    )
    result = mava.launch(
        system, total_steps=FLAGS.total_steps, run_dir=FLAGS.run_dir, resume=FLAGS.resume
    )
    print(f"greedy return {result.evaluations[-1].mean_return:.1f}, the best is 10")


if __name__ == "__main__":
    app.run(main)
