"""Writes a new exploration strategy and a new loss, tests each alone, and swaps them into a system.

``python examples/new_component.py`` trains with it, ``pytest examples/new_component.py`` tests it.
"""

import dataclasses

import jax
import jax.numpy as jnp
from absl import app, flags, logging

import mava
from mava.core.contexts import ActContext, Batch, LearnContext, LossOutput, Params, Selection
from mava.core.lifecycle import Loss, SelectAction
from mava.functional.devices import masked_mean
from mava.functional.td import chosen, finite_where_dead, masked_argmax, td_target
from mava.testing.builders import (
    act_context,
    batch,
    environment_spec,
    fixed_scores,
    group_spec,
    learn_context,
)
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


@dataclasses.dataclass(frozen=True)
class ExpectedSarsa(Loss):
    """Values what ``Boltzmann`` does, not the best there is: the target is ``r + discount * sum_a
    p(a) Q'(o', a)``, with ``p`` the softmax of ``Q'`` over legal actions (van Seijen et al., 2009).
    """

    requires = frozenset(
        {"observation", "action", "reward", "discount", "alive"}
        | {"next_observation", "next_legal_actions"}
    )

    temperature: float = 0.5
    trains: tuple[str, ...] = ("q_network",)

    def loss(self, params: Params, batch: Batch, context: LearnContext) -> LossOutput:
        alive = batch["alive"]
        shown = {
            name: finite_where_dead(x, alive[name]) for name, x in batch["observation"].items()
        }
        batch = {**batch, "observation": shown}
        scores = context.unroll(params, batch).scores
        following = context.unroll(context.target_params, batch).next_scores()
        total = jnp.zeros(())
        for name in context.spec.group_names:
            legal, q_t = batch["next_legal_actions"][name], following[name]
            p = jax.nn.softmax(q_t / self.temperature, axis=-1, where=legal)
            v_t = jnp.where(legal.any(-1), jnp.where(legal, p * q_t, 0.0).sum(-1), q_t[..., 0])
            target = td_target(batch["reward"][name], batch["discount"][name], v_t)
            error = target - chosen(scores[name], batch["action"][name])
            # The dead weigh nothing, and all devices that train together count.
            total += masked_mean(0.5 * error**2, alive[name], context.all_mean)
        return LossOutput(total, {})


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


def test_the_loss_is_that_of_the_expected_value() -> None:
    """Next values 0 and log 3 at temperature 1 are taken with 1/4 and 3/4."""
    spec = environment_spec(group_spec(1, actions=3))
    given = batch(spec, size=1, length=1)
    one = jnp.ones((1, 1, 1))
    given |= {"reward": {"agents": one}, "discount": {"agents": 0.5 * one}}
    given |= {"action": {"agents": jnp.zeros((1, 1, 1), jnp.int32)}, "alive": {"agents": one > 0}}
    given |= {"next_legal_actions": {"agents": jnp.array([[[[True, True, False]]]])}}
    now = {"agents": jnp.array([[[[2.0, 0.0, 0.0]]]])}
    after = {"agents": jnp.array([[[[0.0, jnp.log(3.0), 99.0]]]])}
    context = learn_context(spec, unroll=fixed_scores(now, after))
    found = ExpectedSarsa(temperature=1.0).loss({}, given, context).loss
    expected = 0.5 * (1.0 + 0.5 * 0.75 * jnp.log(3.0) - 2.0) ** 2
    assert jnp.allclose(found, expected, rtol=1e-5)


def main(argv: list[str]) -> None:
    del argv
    logging.set_verbosity(logging.WARNING)
    system = mava.systems.madqn("probe/observation_decides", min_size=200, learning_rate=3e-3)
    changed = system.with_(Boltzmann(), ExpectedSarsa())  # in place of epsilon-greedy and MADQN's
    print(changed.describe())
    result = mava.launch(changed, total_steps=FLAGS.total_steps, seed=0)
    print(f"greedy return {result.evaluations[-1].mean_return:.2f}, the best is 1")


if __name__ == "__main__":
    app.run(main)
