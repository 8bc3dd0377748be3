"""The losses of MADDPG, by hand."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mava.components.losses.ddpg import DDPGActorLoss, DDPGCriticLoss
from mava.core.contexts import LearnContext, LossOutput, Unrolled, UnrolledValues
from mava.errors import ConfigurationError
from mava.functional.actions import encode
from mava.testing import builders
from mava.types import ContinuousActions

# Bounds of -1 and 3: the middle is 1, half the range 2.
BOX = ContinuousActions((1,), (-1.0,), (3.0,))
SPEC = builders.environment_spec(builders.group_spec(2, (1,), BOX))
CHOICE = builders.environment_spec(builders.group_spec(2, (1,), 2))
HALF = float(np.arctanh(0.5))


def batch(**fields: Any) -> dict[str, Any]:
    """Items of one step; the agents did 0.5 and 1.5."""
    made: dict[str, Any] = {
        "observation": [[[1.0], [1.0]]],
        "next_observation": [[[1.0], [1.0]]],
        "action": [[[0.5], [1.5]]],
        "reward": [[1.0, 3.0]],
        "discount": [[0.5, 0.5]],
        "alive": [[True, True]],
        **fields,
    }
    made = {name: {"agents": jnp.asarray(x)[:, None]} for name, x in made.items()}
    made.setdefault("next_legal_actions", {"agents": jnp.ones((1, 1, 2, 0), bool)})
    made.setdefault("legal_actions", {"agents": jnp.ones((1, 1, 2, 0), bool)})
    return {**made, "start": jnp.zeros((len(made["reward"]["agents"]), 1), bool)}


def unroll(params: Any, batch: Any) -> Unrolled:
    """Scores are ``actor`` times the observation."""

    def of(field: str) -> Any:
        shown = batch[field]["agents"]
        return {"agents": jnp.reshape(params["actor"], (1, 1, 1, -1)) * shown}

    return Unrolled(of("observation"), lambda: of("next_observation"))


def value(params: Any, batch: Any) -> UnrolledValues:
    """Critic k values agent i at ``w_k (a_1 + a_2)``, its own action in its own place."""

    def of(prefix: str) -> Any:
        taken = jnp.asarray(batch[f"{prefix}action"]["agents"], jnp.float32)[..., 0]
        own = batch.get(f"{prefix}own_action", {"agents": taken[..., None]})["agents"][..., 0]
        total = taken.sum(-1, keepdims=True) - taken + own
        found = total[..., None] * params["critic"].reshape(1, 1, 1, -1)
        return {"agents": found if params["critic"].shape[0] > 1 else found[..., 0]}

    next_values = lambda: of("next_")  # noqa: E731
    return UnrolledValues(of(""), next_values if "next_action" in batch else dict)


def context(targets: Any, spec: Any = SPEC, key: int = 0) -> LearnContext:
    return builders.learn_context(spec, targets, key=key, unroll=unroll, value=value)


def weights(*critics: float, actor: float = 0.0) -> dict[str, Any]:
    return {"critic": jnp.asarray(critics), "actor": jnp.asarray(actor)}


def critic_loss(
    fields: Any, params: Any, targets: Any, component: Any = None, key: int = 0
) -> LossOutput:
    component = DDPGCriticLoss() if component is None else component
    output: LossOutput = component.loss(params, fields, context(targets, key=key))
    return output


def test_the_target_is_the_reward_and_the_least_target_value_of_the_target_policies() -> None:
    """Target actions are 1 + 2 tanh(atanh 0.5) = 2 each, so Q' = 3 * 4 = 12 and 5 * 4 = 20, of
    which 12 counts: y = r + 0.5 * 12 = 7 and 9. Q_k = w_k (0.5 + 1.5) = 2 and 4."""
    output = critic_loss(batch(), weights(1.0, 2.0), weights(3.0, 5.0, actor=HALF))
    errors = np.asarray([[7 - 2, 7 - 4], [9 - 2, 9 - 4]])
    np.testing.assert_allclose(output.loss, (0.5 * errors**2).sum(-1).mean(), rtol=1e-6)
    np.testing.assert_allclose(output.metrics["mean_q"], 3.0)
    np.testing.assert_allclose(output.metrics["mean_abs_td_error"], np.abs(errors).mean())
    assert output.priorities is not None
    np.testing.assert_allclose(output.priorities, [np.abs(errors).mean()], rtol=1e-5)
    assert output.per_agent is not None
    np.testing.assert_allclose(output.per_agent["agents"], (0.5 * errors**2).sum(-1), rtol=1e-6)


def test_f15_a_terminal_step_is_worth_its_reward_and_hides_its_agent() -> None:
    """Agent 0 ends: y = 1. Agent 1 goes on, and its critic sees the middle in the other's place: Q'
    = 3 * (1 + 2) = 9, y = 3 + 0.5 * 9 = 7.5."""
    output = critic_loss(
        batch(discount=[[0.0, 0.5]]), weights(1.0), weights(3.0, actor=HALF), DDPGCriticLoss()
    )
    np.testing.assert_allclose(
        output.loss, 0.5 * np.mean([(1 - 2) ** 2, (7.5 - 2) ** 2]), rtol=1e-6
    )


def test_f19_agents_that_are_dead_change_nothing() -> None:
    def of(params: Any, junk: float) -> Any:
        fields = batch(
            alive=[[True, False]],
            observation=[[[1.0], [junk]]],
            next_observation=[[[1.0], [junk]]],
            action=[[[0.5], [junk]]],
            reward=[[1.0, junk]],
        )
        targets = weights(3.0, actor=HALF)
        critic = DDPGCriticLoss().loss(params, fields, context(targets))
        actor = DDPGActorLoss().loss(params, fields, context(targets))
        return critic.loss + actor.loss

    expected, gradient = jax.value_and_grad(of)(weights(1.0, actor=HALF), 0.0)
    for junk in (1e6, np.nan, np.inf):
        found, other = jax.value_and_grad(of)(weights(1.0, actor=HALF), junk)
        assert found == expected
        assert jax.tree.all(jax.tree.map(np.array_equal, other, gradient))


@pytest.mark.parametrize("others", ["replay", "policy"])
@pytest.mark.parametrize("choices", ["straight_through", "relaxed"])
def test_the_dead_are_shown_doing_the_same_nothing_to_every_critic(
    others: str, choices: str
) -> None:
    seen: list[Any] = []

    def noted(params: Any, batch: Any) -> UnrolledValues:
        seen.append(batch["action"]["agents"])
        return UnrolledValues({"agents": jnp.zeros((1, 1, 2))}, dict)

    actor = DDPGActorLoss(others=others, choices=choices)
    scores = {"actor": jnp.asarray([0.0, 5.0])}
    legal = {"agents": jnp.ones((1, 1, 2, 2), bool)}
    fields = {**batch(action=[[1, 1]], alive=[[True, False]]), "legal_actions": legal}
    fields["observation"] = {"agents": jnp.ones((1, 1, 2, 2))}
    actor.loss(scores, fields, builders.learn_context(CHOICE, {}, unroll=unroll, value=noted))
    assert encode(seen[0], CHOICE["agents"].actions)[0, 0, 1].tolist() == [1.0, 0.0]
    fields = batch(alive=[[True, False]])
    made = builders.learn_context(SPEC, {}, unroll=unroll, value=noted)
    actor.loss({"actor": jnp.asarray(1.0)}, fields, made)
    assert encode(seen[1], BOX)[0, 0, 1].tolist() == [0.0]


def test_importance_weighs_items() -> None:
    twice = {name: [x, x] for name, x in (("reward", [1.0, 3.0]), ("discount", [0.0, 0.0]))}
    other = {
        "observation": [[[1.0], [1.0]]] * 2,
        "next_observation": [[[1.0], [1.0]]] * 2,
        "action": [[[0.5], [1.5]]] * 2,
        "alive": [[True, True]] * 2,
    }
    fields = {**batch(**twice, **other), "importance_weight": jnp.asarray([1.0, 0.5])}
    loss = critic_loss(fields, weights(1.0), weights(3.0)).loss
    np.testing.assert_allclose(loss, np.mean([0.5, 0.5, 0.25, 0.25]))


def test_target_noise_is_clipped_and_actions_stay_in_bounds() -> None:
    """With huge noise it is all at the clip, 0.25 of half the range: each action is 1 +- 0.5."""
    component = DDPGCriticLoss(target_noise=1e6, target_noise_clip=0.25)
    totals = set()
    for key in range(12):
        output = critic_loss(
            batch(reward=[[0.0, 0.0]]), weights(0.0), weights(2.0), component, key=key
        )
        totals.add(round(float(output.metrics["mean_abs_td_error"]), 4))
    assert totals == {1.0, 2.0, 3.0}  # 0.5 * 2 * the sum of two actions of 0.5 or 1.5
    wide = DDPGCriticLoss(target_noise=1e6, target_noise_clip=9.0)
    found = critic_loss(batch(reward=[[0.0, 0.0]]), weights(0.0), weights(1.0), wide)
    assert float(found.metrics["mean_abs_td_error"]) in (1.0, 3.0)  # sums of -1 and 3


def test_the_actor_climbs_through_its_own_action_alone() -> None:
    """dQ_i/d actor = w * 2 * (1 - tanh^2) for each agent, whatever the other does."""
    component = DDPGActorLoss(score_penalty=0.0)

    def loss(actor: jax.Array, others: str) -> jax.Array:
        params = {**weights(3.0, 100.0), "actor": actor}
        chosen = DDPGActorLoss(score_penalty=0.0, others=others)
        return chosen.loss(params, batch(), context({})).loss

    for others, value_of_others in (("replay", [1.5, 0.5]), ("policy", [2.0, 2.0])):
        found, slope = jax.value_and_grad(loss)(jnp.asarray(HALF), others)
        np.testing.assert_allclose(
            found, -np.mean([3.0 * (2.0 + x) for x in value_of_others]), 1e-6
        )
        np.testing.assert_allclose(slope, -3.0 * 2.0 * 0.75, rtol=1e-6)
    assert component.trains == ("actor",)


def test_the_penalty_is_on_the_mean_square_of_scores() -> None:
    def loss(actor: jax.Array) -> jax.Array:
        params = {**weights(0.0), "actor": actor}
        return DDPGActorLoss(score_penalty=0.1).loss(params, batch(), context({})).loss

    found, slope = jax.value_and_grad(loss)(jnp.asarray(2.0))
    np.testing.assert_allclose([found, slope], [0.4, 0.4], rtol=1e-6)


def test_choices_go_through_a_straight_through_softmax_over_what_is_legal() -> None:
    """Agent 0 may only do 1; agent 1 may do both. The critic is paid for the first weight."""
    legal = jnp.asarray([[[[False, True], [True, True]]]])
    fields = batch(action=[[0, 0]])
    fields |= {
        "legal_actions": {"agents": legal},
        "observation": {"agents": jnp.ones((1, 1, 2, 2))},
    }
    made = context({}, CHOICE)
    key = jax.random.fold_in(made.key, 0)
    noise = np.asarray(jax.random.gumbel(key, (1, 1, 2, 2)))[0, 0]
    logits = np.asarray([0.3, 0.2], np.float32)

    def first_weight(params: Any, batch: Any) -> UnrolledValues:
        return UnrolledValues({"agents": batch["own_action"]["agents"][..., 0]}, dict)

    def loss(actor: Any) -> Any:
        made = builders.learn_context(CHOICE, {}, unroll=unroll, value=first_weight)
        component = DDPGActorLoss(score_penalty=0.0, temperature=0.5)
        return component.loss({"actor": actor}, fields, made).loss

    found, slope = jax.value_and_grad(loss)(jnp.asarray(logits))
    ranks = (logits + noise[1]) / 0.5
    soft = np.exp(ranks - ranks.max()) / np.exp(ranks - ranks.max()).sum()
    np.testing.assert_allclose(found, -0.5 * (ranks.argmax() == 0), atol=1e-6)
    change = soft[0] * soft[1] / 0.5
    np.testing.assert_allclose(slope, -0.5 * np.asarray([change, -change]), rtol=1e-4)


def test_relaxed_choices_show_the_critic_weights_of_an_agents_own_and_of_others() -> None:
    fields = batch(action=[[0, 1]])
    fields |= {
        "legal_actions": {"agents": jnp.ones((1, 1, 2, 2), bool)},
        "observation": {"agents": jnp.ones((1, 1, 2, 2))},
    }
    seen = []

    def noted(params: Any, batch: Any) -> UnrolledValues:
        seen.append((batch["own_action"]["agents"], batch["action"]["agents"]))
        return UnrolledValues({"agents": batch["own_action"]["agents"][..., 0]}, dict)

    made = builders.learn_context(CHOICE, {}, unroll=unroll, value=noted)
    noise = np.asarray(jax.random.gumbel(jax.random.fold_in(made.key, 0), (1, 1, 2, 2)))
    for others in ("replay", "policy"):
        component = DDPGActorLoss(choices="relaxed", others=others, temperature=0.5)
        component.loss({"actor": jnp.asarray([0.3, 0.2])}, fields, made)
    expected = jax.nn.softmax((np.asarray([0.3, 0.2], np.float32) + noise) / 0.5)
    np.testing.assert_allclose(seen[0][0], expected, rtol=1e-5)
    assert seen[0][1].tolist() == [[[0, 1]]]
    np.testing.assert_allclose(seen[1][1], expected, rtol=1e-5)


def test_target_choices_are_greedy_over_what_is_legal_next() -> None:
    legal = jnp.asarray([[[[True, False], [True, True]]]])
    fields = batch(action=[[0, 0]], discount=[[1.0, 1.0]])
    fields |= {"next_legal_actions": {"agents": legal}}
    fields |= {"next_observation": {"agents": jnp.ones((1, 1, 2, 2))}}
    seen = []

    def noted(params: Any, batch: Any) -> UnrolledValues:
        if "next_action" in batch:
            seen.append(batch["next_action"]["agents"])
        zeros = {"agents": jnp.zeros((1, 1, 2))}
        return UnrolledValues(zeros, lambda: zeros)

    targets = {"actor": jnp.asarray([0.1, 0.4])}
    made = builders.learn_context(CHOICE, targets, unroll=unroll, value=noted)
    DDPGCriticLoss().loss(weights(0.0), fields, made)
    assert seen[0].tolist() == [[[0, 1]]]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: DDPGCriticLoss(target_noise=-1.0), "target_noise has -1"),
        (lambda: DDPGActorLoss(others="polcy"), "did you mean 'policy'"),
        (lambda: DDPGActorLoss(choices="relax"), "did you mean 'relaxed'"),
        (lambda: DDPGActorLoss(temperature=0.0), "temperature has 0.0"),
        (lambda: DDPGActorLoss(score_penalty=-1.0), "score_penalty has -1"),
    ],
)
def test_what_could_not_work_is_refused(make: Any, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        make()
