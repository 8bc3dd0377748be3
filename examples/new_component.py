"""Writes a new exploration strategy, tests it alone, and swaps it into a system.

``python examples/new_component.py`` trains with it, ``pytest examples/new_component.py`` tests it.
"""

import dataclasses

import jax
import jax.numpy as jnp
from absl import app, flags, logging

import mava
from mava.core.contexts import ActContext, Selection
from mava.core.lifecycle import SelectAction
from mava.functional.td import masked_argmax
from mava.testing.builders import act_context, group_spec
from mava.types import Array, PyTree

FLAGS = flags.FLAGS
flags.DEFINE_integer("total_steps", 4_000, "Environment steps.")


@dataclasses.dataclass(frozen=True)
class Boltzmann(SelectAction):
    """Draws legal actions with probability proportional to ``exp(q / temperature)``."""

    temperature: float = 0.5

    def select_action(
        self, scores: Array, legal_actions: Array, memory: PyTree, context: ActContext
    ) -> tuple[Selection, PyTree]:
        if not context.explore:
            return Selection(masked_argmax(scores, legal_actions), {}), memory
        # The largest of scores with Gumbel noise is a draw from their softmax.
        noise = jax.random.gumbel(context.key, scores.shape)
        return Selection(
            masked_argmax(scores / self.temperature + noise, legal_actions), {}
        ), memory


def test_it_draws_legal_actions_and_prefers_the_better() -> None:
    """Builds the component and what it is called with, and nothing else."""
    scores = jnp.array([[1.0, 0.0, 5.0], [0.0, 0.0, 0.0]])  # two agents, three actions
    legal = jnp.array([[True, True, False], [True, True, True]])
    component, agents = Boltzmann(temperature=0.1), group_spec(2, actions=3)

    def draw(seed: int, explore: bool = True) -> list[int]:
        context = act_context(agents, key=seed, explore=explore)
        return component.select_action(scores, legal, (), context)[0].action.tolist()

    first, second = zip(*(draw(seed) for seed in range(60)), strict=True)
    assert set(first) == {0}, "ten temperatures ahead of the other legal action"
    assert set(second) == {0, 1, 2}
    assert draw(seed=0, explore=False) == [0, 0]


def main(argv: list[str]) -> None:
    del argv
    logging.set_verbosity(logging.WARNING)
    system = mava.systems.madqn("probe/observation_decides", min_size=200, learning_rate=3e-3)
    changed = system.with_(Boltzmann())  # takes the place of epsilon-greedy
    print(changed.describe())
    result = mava.launch(changed, total_steps=FLAGS.total_steps, seed=0)
    print(f"greedy return {result.evaluations[-1].mean_return:.2f}, the best is 1")


if __name__ == "__main__":
    app.run(main)
