"""Memory warmed up before the steps that are trained on, against step-by-step numbers."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mava.components.batches.burn_in import BurnIn
from mava.components.executors.executor import RecordMemory, RecordState
from mava.components.losses.madqn import MADQNLoss
from mava.core.acting import Acting
from mava.core.system import System, build
from mava.core.unrolling import unroll_scores, unroll_values
from mava.errors import ConfigurationError, WiringError
from mava.testing import builders, probes
from mava.testing.components import TanhNetwork
from mava.testing.small_systems import actor_critic, q_learning

B, T, BURN = 3, 6, 2
SPEC = builders.environment_spec(builders.group_spec(2, (3,), 4))
(GROUP,) = SPEC.groups


def system(*components: Any) -> System:
    parts = (TanhNetwork(width=4), MADQNLoss(trains=("network",)), RecordMemory())
    return q_learning(probes.HiddenCue, *parts, *components)


ACTING = Acting(system().components, SPEC)
NETWORK = ACTING.scorer


def params(seed: int) -> Any:
    return NETWORK.init_params(jax.random.key(seed), SPEC)  # type: ignore[attr-defined]


def batch(stored: bool = True, start: Any = None) -> Any:
    fields = builders.batch(SPEC, B, T, seed=3)
    first = np.zeros((B, T), bool) if start is None else np.asarray(start)
    memory = jax.random.normal(jax.random.key(9), (B, T, 2, 4))
    fields = {**fields, "start": jnp.asarray(first)}
    return {**fields, "memory": {"score": {"agents": memory}}} if stored else fields


def prepared(fields: Any) -> Any:
    context = dataclasses.replace(builders.learn_context(SPEC), recurrent=True)
    result, state = BurnIn(BURN).prepare_batch(fields, (), {}, context)
    assert state == ()
    return result


def by_hand(given: Any, fields: Any, warm: Any) -> Any:
    """Scores of the kept steps, step by step; the first ones with the parameters ``warm``."""
    context = builders.group_context(GROUP)
    initial = jnp.zeros((B, 2, 4))
    memory = fields["memory"]["score"]["agents"][:, 0] if "memory" in fields else initial
    scores = []
    for t in range(T):
        memory = jnp.where(fields["start"][:, t, None, None], initial, memory)
        memory = jax.lax.stop_gradient(memory) if t == BURN else memory
        now = warm if t < BURN else given
        score = jax.vmap(lambda x, h, p=now: NETWORK.score(p, x, h, context))
        shown, memory = score(fields["observation"]["agents"][:, t], memory)
        scores.append(shown)
    return jnp.stack(scores[BURN:], axis=1)


STARTS = [
    None,
    [[False, True, *[False] * 4], [False, False, True, *[False] * 3], [*[False] * 5, True]],
]


@pytest.mark.slow
@pytest.mark.parametrize("stored", [True, False])
@pytest.mark.parametrize("start", STARTS)
def test_each_network_warms_its_own_memory_from_the_first_one(stored: bool, start: Any) -> None:
    fields = batch(stored, start)
    unroll = jax.jit(lambda p, b: unroll_scores(ACTING, p, b, {}).scores)
    stepped = jax.jit(by_hand)
    for seed in (0, 1):
        given = params(seed)
        found = unroll(given, prepared(fields))["agents"]
        assert found.shape == (B, T - BURN, 2, 4)
        np.testing.assert_allclose(found, stepped(given, fields, given), atol=1e-5)


@pytest.mark.slow
def test_no_gradient_comes_from_the_steps_set_aside() -> None:
    fields, given = batch(), params(0)

    def total(p: Any) -> Any:
        return (unroll_scores(ACTING, p, prepared(fields), {}).scores["agents"] ** 2).sum()

    def expected(p: Any) -> Any:
        return (by_hand(p, fields, given) ** 2).sum()

    found, wanted = jax.jit(jax.grad(total))(given), jax.jit(jax.grad(expected))(given)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-4), found, wanted)

    def by_observation(shown: Any) -> Any:
        changed = {**fields, "observation": {"agents": shown}}
        scores = unroll_scores(ACTING, given, prepared(changed), {}).scores["agents"]
        return (scores**2).sum()

    slopes = jax.jit(jax.grad(by_observation))(fields["observation"]["agents"])
    assert not np.any(slopes[:, :BURN])
    assert np.any(slopes[:, BURN:])


def test_values_of_outcomes_follow_the_kept_steps() -> None:
    fields, given = batch(), params(0)
    unroll = jax.jit(lambda b: unroll_scores(ACTING, given, b, {}).next_scores()["agents"])
    found, whole = unroll(prepared(fields)), unroll(fields)
    np.testing.assert_allclose(found, whole[:, BURN:], atol=1e-5)


def test_what_is_not_finite_of_the_dead_stays_out_of_memory() -> None:
    fields = batch()
    alive = np.ones((B, T, 2), bool)
    alive[:, :, 1] = False
    shown = np.array(fields["observation"]["agents"])
    shown[:, :BURN, 1] = np.nan
    fields |= {"alive": {"agents": alive}, "observation": {"agents": jnp.asarray(shown)}}
    assert np.isfinite(prepared(fields)["burn_in"]["observation"]["agents"]).all()


def test_fields_are_cut_and_items_made_longer() -> None:
    fields = batch()
    result = prepared(fields)
    np.testing.assert_array_equal(result["reward"]["agents"], fields["reward"]["agents"][:, BURN:])
    np.testing.assert_array_equal(result["probability"], fields["probability"])
    burnt = result["burn_in"]
    np.testing.assert_array_equal(
        burnt["memory"]["score"]["agents"], fields["memory"]["score"]["agents"][:, :BURN]
    )
    plain = build(system()).plan.sequence_length
    assert build(system(BurnIn(2))).plan.sequence_length == plain + 2


def test_it_needs_memory_and_stands_after_returns() -> None:
    with pytest.raises(WiringError, match="warms up memory, but the network has none"):
        build(q_learning("probe/agreement", BurnIn(2)))
    early = system().with_(BurnIn(2), before="n_step_return")
    with pytest.raises(WiringError, match="burn_in must come after n_step_return"):
        build(early)
    with pytest.raises(ConfigurationError, match=r"burn_in\.steps"):
        BurnIn(0)


def test_a_critic_with_memory_is_warmed_up_too() -> None:
    parts = actor_critic("matrix/climbing", RecordState(), BurnIn(BURN))
    assert build(parts).plan.sequence_length == 4 + BURN
    acting = Acting(parts.components, SPEC)
    assert acting.critic is not None
    given = acting.critic.init_params(jax.random.key(0), SPEC)  # type: ignore[attr-defined]
    fields = batch()
    fields["memory"] = {"value": {"agents": jax.random.normal(jax.random.key(1), (B, T, 2, 4))}}

    @jax.jit
    def values(fields: Any) -> Any:
        return unroll_values(acting, acting.critic, given, fields, {}).values["agents"]

    np.testing.assert_allclose(values(prepared(fields)), values(fields)[:, BURN:], atol=1e-5)
    cold = {name: x for name, x in prepared(fields).items() if name != "burn_in"}
    assert np.abs(values(cold) - values(fields)[:, BURN:]).max() > 1e-3


def test_sequences_shorter_than_a_rollout_are_refused() -> None:
    parts = actor_critic("matrix/climbing", RecordState(), BurnIn(BURN))
    with pytest.raises(ConfigurationError, match="memory is burnt in for whole rollouts"):
        build(parts.replace("epoch_trainer", sequence_length=2, minibatches=1))
