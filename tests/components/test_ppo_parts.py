"""The parts of IPPO and MAPPO by hand, and against loops in numpy."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mava.components.batches.generalised_advantage import GeneralisedAdvantage
from mava.components.exploration.sample_action import SampleAction
from mava.components.losses.ppo import PPOLoss, PPOValueLoss
from mava.errors import ConfigurationError, WiringError
from mava.functional.schedules import Linear
from mava.testing import builders
from mava.types import ContinuousActions, MultiDiscreteActions
from tests.components.linear import (
    ALIVE,
    SPEC,
    context,
    filled,
    parameters,
)


def test_the_policy_loss_equals_a_loop() -> None:
    batch, params = builders.batch(SPEC), parameters()
    output = PPOLoss(clip=0.1, entropy_coefficient=0.3).loss(params, batch, context())
    b = jax.tree.map(np.asarray, batch)
    losses, entropies, kls, clipped = [], [], [], []
    for index in np.ndindex(ALIVE.shape):
        if not b["alive"]["agents"][index]:
            continue
        logits = b["observation"]["agents"][index] @ np.asarray(params["policy"])
        logits = np.where(b["legal_actions"]["agents"][index], logits, -np.inf)
        probability = np.exp(logits - logits.max())
        probability /= probability.sum()
        entropy = -sum(p * np.log(p) for p in probability if p > 0)
        log_prob = np.log(probability[b["action"]["agents"][index]])
        log_ratio = log_prob - b["extras"]["agents"]["log_prob"][index]
        ratio, advantage = np.exp(log_ratio), b["advantage"]["agents"][index]
        surrogate = min(ratio * advantage, np.clip(ratio, 0.9, 1.1) * advantage)
        losses.append(-surrogate - 0.3 * entropy)
        entropies.append(entropy)
        kls.append(ratio - 1 - log_ratio)
        clipped.append(abs(ratio - 1) > 0.1)
    np.testing.assert_allclose(output.loss, np.mean(losses), rtol=1e-4)
    found = {name: float(x) for name, x in output.metrics.items()}
    assert found["entropy"] == pytest.approx(np.mean(entropies), rel=1e-4)
    assert found["approx_kl"] == pytest.approx(np.mean(kls), rel=1e-3)
    assert found["clip_fraction"] == pytest.approx(np.mean(clipped), rel=1e-5)


def test_the_value_loss_equals_a_loop() -> None:
    batch, params = builders.batch(SPEC), parameters()
    output = PPOValueLoss(clip=0.2, huber=0.5).loss(params, batch, context())
    b = jax.tree.map(np.asarray, batch)
    values = b["observation"]["agents"] @ np.asarray(params["critic"])
    old, target = b["value"]["agents"], b["value_target"]["agents"]

    def huber(error: Any) -> Any:
        size = np.abs(error)
        return np.where(size < 0.5, 0.5 * size**2, 0.5 * (size - 0.25))

    kept = old + np.clip(values - old, -0.2, 0.2)
    each = np.maximum(huber(values - target), huber(kept - target))[ALIVE]
    np.testing.assert_allclose(output.loss, each.mean(), rtol=1e-5)
    error, spread = (target - values)[ALIVE], target[ALIVE]
    np.testing.assert_allclose(
        output.metrics["explained_variance"], 1 - error.var() / spread.var(), rtol=1e-4
    )


@pytest.mark.parametrize("garbage", [1e6, jnp.nan])
@pytest.mark.parametrize(
    "loss", [PPOLoss(normalise_advantage=True), PPOValueLoss()], ids=["policy", "value"]
)
def test_f17_f19_the_dead_change_nothing(loss: Any, garbage: float) -> None:
    batch, params = builders.batch(SPEC), parameters()

    def of(batch: Any) -> Any:
        (trained,) = loss.trains

        def total(part: Any) -> Any:
            output = loss.loss({**params, trained: part}, batch, context())
            return output.loss, output.metrics

        return jax.value_and_grad(total, has_aux=True)(params[trained])

    clean, dirty = of(filled(batch, 0.0)), of(filled(batch, garbage))
    for a, b in zip(jax.tree.leaves(clean), jax.tree.leaves(dirty), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-6)


@pytest.mark.slow
def test_the_entropy_bonus_follows_its_schedule() -> None:
    loss, batch, params = (
        PPOLoss(entropy_coefficient=Linear(1.0, 0.0, 10)),
        builders.batch(SPEC),
        parameters(),
    )
    at = [
        loss.loss(params, batch, dataclasses.replace(context(), updates=jnp.asarray(n))).loss
        for n in (0, 5, 10)
    ]
    np.testing.assert_allclose(at[0] + at[2], 2 * at[1], rtol=1e-4)
    plain = PPOLoss(entropy_coefficient=0.0).loss(params, batch, context())
    np.testing.assert_allclose(at[2], plain.loss, rtol=1e-5)
    np.testing.assert_allclose(at[0], plain.loss - plain.metrics["entropy"], rtol=1e-4)


def test_f08_a_policy_that_may_do_nothing_has_a_finite_loss_and_no_gradient() -> None:
    batch, params = builders.batch(SPEC), parameters()
    batch["legal_actions"] = {"agents": jnp.zeros_like(batch["legal_actions"]["agents"])}
    batch["action"] = {"agents": jnp.zeros_like(batch["action"]["agents"])}
    batch["extras"] = {"agents": {"log_prob": jnp.zeros_like(batch["advantage"]["agents"])}}

    def total(policy: Any) -> Any:
        output = PPOLoss().loss({"policy": policy}, batch, context())
        return output.loss, output.metrics

    (_, metrics), slope = jax.value_and_grad(total, has_aux=True)(params["policy"])
    assert metrics["entropy"] == metrics["approx_kl"] == 0.0
    np.testing.assert_array_equal(slope, 0.0)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["tanh_normal", "gaussian"])
def test_what_is_recorded_is_what_the_loss_computes(kind: str) -> None:
    """The probability ratio is 1 where the policy has not changed."""
    group = builders.group_spec(2, (3,), builders.BOX)
    spec = builders.environment_spec(group)
    scores = jax.random.normal(jax.random.key(0), (2, 4))
    legal = jnp.ones((2, 0), bool)
    drawn, _ = SampleAction(kind).select_action(scores, legal, (), builders.act_context(group))
    assert set(drawn.extras) == {"log_prob", kind}
    batch = builders.batch(spec, size=1, length=1)
    add = lambda x: jnp.asarray(x)[None, None]  # noqa: E731
    batch["extras"] = {"agents": jax.tree.map(add, drawn.extras)}
    batch["action"] = {"agents": add(drawn.action)}
    batch["alive"] = {"agents": jnp.ones((1, 1, 2), bool)}
    given = builders.learn_context(
        spec, unroll=builders.fixed_scores({"agents": scores[None, None]}, {})
    )
    metrics = PPOLoss().loss({}, batch, given).metrics
    assert float(metrics["approx_kl"]) == pytest.approx(0.0, abs=1e-6)
    assert metrics["clip_fraction"] == 0.0


@pytest.mark.parametrize("kind", ["tanh_normal", "gaussian"])
def test_continuous_actions_stay_in_bounds_of_any_shape(kind: str) -> None:
    bounds = ContinuousActions((2, 1), (-2.0, 0.0), (-1.0, 30.0))
    group = builders.group_spec(500, (1,), bounds)
    scores = jnp.concatenate([jnp.zeros((500, 2)), jnp.full((500, 2), 0.5)], axis=-1)
    given = builders.act_context(group)
    selection, _ = SampleAction(kind).select_action(scores, jnp.ones((500, 0), bool), (), given)
    low, high = np.asarray(bounds.low), np.asarray(bounds.high)
    action = np.asarray(selection.action)
    assert action.shape == (500, 2, 1)
    assert (action[..., 0] >= low).all()
    assert (action[..., 0] <= high).all()
    assert (np.ptp(action[..., 0], axis=0) > 0.8 * (high - low)).all()
    greedy, _ = SampleAction(kind).select_action(
        scores, jnp.ones((500, 0), bool), (), builders.act_context(group, explore=False)
    )
    np.testing.assert_allclose(greedy.action[0, :, 0], [-1.5, 15.0], rtol=1e-6)
    assert greedy.extras == {}


def test_f12_unbounded_actions_are_refused_by_a_squashing_policy() -> None:
    group = builders.group_spec(1, (1,), ContinuousActions((1,), (-np.inf,), (1.0,)), name="arms")
    arguments = (jnp.zeros((1, 2)), jnp.ones((1, 0), bool), (), builders.act_context(group))
    with pytest.raises(WiringError, match=r"sample_action.*'arms' \(agents arms_0\).*'gaussian'"):
        SampleAction().select_action(*arguments)
    drawn, _ = SampleAction("gaussian").select_action(*arguments)
    assert np.isfinite(drawn.action).all()


@pytest.mark.slow
def test_f10_several_choices_are_drawn_within_their_ranges() -> None:
    group = builders.group_spec(200, (1,), MultiDiscreteActions((3, 2, 5)))
    legal = jnp.ones((200, 10), bool).at[:, 3].set(False)
    selection, _ = SampleAction().select_action(
        jnp.zeros((200, 10)), legal, (), builders.act_context(group)
    )
    action = np.asarray(selection.action)
    assert action.dtype == np.int32
    assert [sorted(set(action[:, i].tolist())) for i in range(3)] == [
        [0, 1, 2],
        [1],
        [0, 1, 2, 3, 4],
    ]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: SampleAction("tanh"), r"continuous is 'tanh'; there are gaussian, tanh_normal"),
        (lambda: PPOLoss(clip=0.0), r"ppo_loss\.clip is 0\.0"),
        (lambda: PPOLoss(entropy_coefficient=-1.0), r"entropy_coefficient has -1\.0"),
        (lambda: PPOValueLoss(huber=-1.0), r"ppo_value_loss\.huber is -1\.0"),
        (lambda: GeneralisedAdvantage(trace=1.5), r"trace is 1\.5; it must lie in \[0, 1\]"),
        (lambda: GeneralisedAdvantage(window=0), r"window is 0"),
    ],
)
def test_values_that_could_not_work_are_refused(make: Any, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        make()
