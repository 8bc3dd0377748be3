"""The parts of IPPO and MAPPO by hand, and against loops in numpy."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mava.components.batches.generalised_advantage import GeneralisedAdvantage, in_rewards
from mava.components.exploration.sample_action import SampleAction
from mava.components.losses.ppo import PPOLoss, PPOValueLoss
from mava.core.contexts import UnrolledValues
from mava.errors import ConfigurationError, WiringError
from mava.functional.moments import Moments
from mava.functional.schedules import Linear
from mava.testing import builders
from mava.types import ContinuousActions, MultiDiscreteActions

GROUP = builders.group_spec(2, (3,), 4)
SPEC = builders.environment_spec(GROUP)
ALIVE = np.asarray(builders.batch(SPEC)["alive"]["agents"])


def filled(batch: Any, garbage: float) -> Any:
    """The batch with garbage in every number of dead agents."""

    def fill(x: Any) -> Any:
        if not jnp.issubdtype(x.dtype, jnp.floating):
            return x
        alive = batch["alive"]["agents"].reshape(*x.shape[:3], *[1] * (x.ndim - 3))
        return jnp.where(alive, x, garbage)

    fields = ("observation", "next_observation", "reward", "extras")
    fields += ("advantage", "value", "value_target")
    return {**batch, **{name: jax.tree.map(fill, batch[name]) for name in fields}}


def linear_policy(batch_to_scores: Any = None) -> Any:
    """Scores linear in the observation, so that garbage there reaches the loss."""

    def unroll(params: Any, batch: Any) -> Any:
        x = batch["observation"]["agents"]
        scores = jnp.einsum("btno,oa->btna", x, params["policy"])
        return builders.fixed_scores({"agents": scores}, {})(params, batch)

    return unroll


def linear_critic(params: Any, batch: Any) -> UnrolledValues:
    def of(field: str) -> Any:
        return {"agents": batch[field]["agents"] @ params["critic"]}

    return UnrolledValues(of("observation"), lambda: of("next_observation"))


def parameters() -> Any:
    rng = np.random.default_rng(0)
    return {
        "policy": jnp.asarray(rng.normal(size=(3, 4)), jnp.float32),
        "critic": jnp.asarray(rng.normal(size=3), jnp.float32),
    }


def context() -> Any:
    return builders.learn_context(SPEC, unroll=linear_policy(), value=linear_critic)


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
@pytest.mark.parametrize("garbage", [1e6, jnp.nan])
def test_f19_the_dead_change_no_advantage(garbage: float) -> None:
    batch, params = builders.batch(SPEC, length=5), parameters()
    component = GeneralisedAdvantage()
    state = component.init_state(SPEC)
    fields = ("advantage", "value_target")
    results = []
    for value in (0.0, garbage):
        prepared, after = component.prepare_batch(filled(batch, value), state, params, context())
        results.append((*(prepared[name] for name in fields), after))
    for a, b in zip(jax.tree.leaves(results[0]), jax.tree.leaves(results[1]), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


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


def advantages(
    component: GeneralisedAdvantage, truncated: bool, state: Any = None, **changes: Any
) -> Any:
    """One agent, one step of reward 1 from V = 2 to the true last observation, V = 10, before a
    reset, V = 0."""
    group = builders.group_spec(1, (1,), 2)
    spec = builders.environment_spec(group)
    flags = {"termination": not truncated, "truncation": truncated}
    batch: Any = {
        "observation": {"agents": jnp.asarray([[[[2.0]], [[0.0]]]])},
        "next_observation": {"agents": jnp.asarray([[[[10.0]], [[0.0]]]])},
        "reward": {"agents": jnp.asarray([[[1.0], [0.0]]])},
        "alive": {"agents": jnp.ones((1, 2, 1), bool)},
        "start": jnp.asarray([[True, True]]),
        "end": jnp.asarray([[True, False]]),
        **{n: {"agents": jnp.asarray([[[flag], [False]]])} for n, flag in flags.items()},
        **changes,
    }
    value = builders.learn_context(spec, value=linear_critic)
    state = component.init_state(spec) if state is None else state
    return component.prepare_batch(batch, state, {"critic": jnp.ones(1)}, value)


RAW = GeneralisedAdvantage(discount=0.9, normalise_advantage=False, normalise_values=False)


@pytest.mark.parametrize(("truncated", "target"), [(True, 10.0), (False, 1.0)])
def test_f15_targets_bootstrap_from_the_true_last_observation(
    truncated: bool, target: float
) -> None:
    batch, _ = advantages(RAW, truncated)
    assert float(batch["value_target"]["agents"][0, 0, 0]) == pytest.approx(target)
    assert float(batch["advantage"]["agents"][0, 0, 0]) == pytest.approx(target - 2.0)
    assert float(batch["value"]["agents"][0, 0, 0]) == 2.0


def test_an_abandoned_episode_ends_where_the_next_one_starts() -> None:
    """Neither flag is set, but the next step starts an episode, so the sum is cut."""
    flags = {n: {"agents": jnp.zeros((1, 2, 1), bool)} for n in ("termination", "truncation")}
    batch, _ = advantages(RAW, True, end=jnp.zeros((1, 2), bool), **flags)
    assert float(batch["value_target"]["agents"][0, 0, 0]) == pytest.approx(10.0)


def test_f19_advantages_of_one_sequence_are_standardised_over_time() -> None:
    component = dataclasses.replace(RAW, normalise_advantage=True)
    batch, _ = advantages(component, True)
    np.testing.assert_allclose(batch["advantage"]["agents"][0, :, 0], [1.0, -1.0], rtol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("scale", [1e-3, 1e3])
def test_f33_the_scale_of_rewards_changes_neither_advantages_nor_targets(scale: float) -> None:
    """Over two batches, so that the second is valued in the units of the first."""
    component, params = GeneralisedAdvantage(), parameters()
    results = []
    for factor in (1.0, scale):
        state = component.init_state(SPEC)
        for seed in (0, 1):
            batch = builders.batch(SPEC, size=6, length=5, seed=seed)
            batch["reward"] = {"agents": factor * batch["reward"]["agents"]}
            prepared, state = component.prepare_batch(batch, state, params, context())
        results.append([prepared[n]["agents"] for n in ("advantage", "value_target", "value")])
    for one, other in zip(*results, strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-3, atol=2e-4)


def test_values_are_read_in_units_of_the_targets() -> None:
    statistics = Moments(jnp.asarray(5.0), jnp.asarray(3.0), jnp.asarray(4.0))
    np.testing.assert_allclose(in_rewards(statistics, jnp.asarray([0.0, 1.5])), [3.0, 6.0])
    nothing_seen = GeneralisedAdvantage().init_state(SPEC)["agents"]
    assert in_rewards(nothing_seen, jnp.asarray(7.0)) == 0.0


def test_values_are_read_in_old_units_and_targets_written_in_new_ones() -> None:
    """By hand: with mean 3 and deviation 2 the critic's 2, 10, 0, 0 are 7, 23, 3, 3 in rewards, so
    the returns are 1 + 0.9 * 23 = 21.7 and 2.7. Of 6 targets so far and these 2 the mean is 5.3 and
    the variance 41.4325."""
    component = GeneralisedAdvantage(discount=0.9, normalise_advantage=False)
    seen = {"agents": Moments(jnp.asarray(6.0), jnp.asarray(3.0), jnp.asarray(4.0))}
    batch, after = advantages(component, True, seen)
    shown = {name: np.asarray(batch[name]["agents"])[0, :, 0] for name in component.provides}
    np.testing.assert_allclose(shown["advantage"], [14.7, -0.3], rtol=1e-4)
    np.testing.assert_array_equal(shown["value"], [2.0, 0.0])
    np.testing.assert_allclose(shown["value_target"], [2.54786, -0.40393], rtol=1e-4)
    np.testing.assert_allclose(tuple(after["agents"]), (8.0, 5.3, 41.4325), rtol=1e-5)


def counted(*alive: Any, given: Any = None) -> Any:
    """The statistics of targets after batches in which these agents lived."""
    component = GeneralisedAdvantage(window=2)
    state = component.init_state(SPEC)
    for seed, living in enumerate(alive):
        batch = builders.batch(SPEC, size=4, seed=seed)
        batch["alive"] = {"agents": jnp.broadcast_to(living, batch["alive"]["agents"].shape)}
        _, state = component.prepare_batch(batch, state, parameters(), given or context())
    return state["agents"]


def test_a_reward_that_is_not_a_number_reaches_the_losses() -> None:
    """And with them the check that ends a run, rather than training on zeros."""
    reward = {"agents": jnp.asarray([[[1.0], [jnp.nan]]])}
    batch, _ = advantages(GeneralisedAdvantage(), True, reward=reward)
    assert np.isnan(batch["advantage"]["agents"]).all()
    assert np.isnan(batch["value_target"]["agents"]).all()


@pytest.mark.slow
def test_a_batch_in_which_all_are_dead_leaves_the_statistics_as_they_are() -> None:
    before, after = counted(True), counted(True, False)
    np.testing.assert_array_equal(before, after)
    assert after.seen > 0
    # A batch after it counts for one part of two, as the window says, and not for all.
    first, _, last = (counted(*a).mean for a in ((True,), (True, False), (True, False, True)))
    alone = counted(False, False, True).mean
    assert abs(float(last - alone)) > 0.1 * abs(float(first - alone)) > 0.0


@pytest.mark.slow
def test_devices_that_train_together_keep_the_same_statistics() -> None:
    """Though more agents live on one than on the other."""
    given = dataclasses.replace(context(), all_mean=lambda tree: jax.lax.pmean(tree, "devices"))
    living = jnp.asarray([[True, True], [True, False]])
    found = jax.vmap(lambda one: counted(one, one, one, given=given), axis_name="devices")(living)
    for x in found:
        assert x[0] == x[1]


@pytest.mark.slow
def test_f17_a_critic_of_everything_is_not_harmed_by_what_is_shown_of_the_dead() -> None:
    def joint(params: Any, batch: Any) -> UnrolledValues:
        def of(field: str) -> Any:
            each = batch[field]["agents"] @ params["critic"]
            return {"agents": jnp.broadcast_to(each.sum(-1, keepdims=True), each.shape)}

        return UnrolledValues(of("observation"), lambda: of("next_observation"))

    batch = filled(builders.batch(SPEC, length=5), jnp.nan)
    component, given = GeneralisedAdvantage(), builders.learn_context(SPEC, value=joint)
    prepared, _ = component.prepare_batch(batch, component.init_state(SPEC), parameters(), given)
    assert np.isfinite(prepared["advantage"]["agents"]).all()
    assert np.isfinite(prepared["value_target"]["agents"]).all()


@pytest.mark.slow
def test_targets_have_mean_0_and_spread_1_over_the_living() -> None:
    batch, params = builders.batch(SPEC, size=8, length=6), parameters()
    component = GeneralisedAdvantage()
    prepared, state = component.prepare_batch(batch, component.init_state(SPEC), params, context())
    shown = np.asarray(prepared["value_target"]["agents"])[np.asarray(batch["alive"]["agents"])]
    np.testing.assert_allclose((shown.mean(), shown.std()), (0.0, 1.0), atol=1e-4)
    assert float(state["agents"].seen) == shown.size


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
