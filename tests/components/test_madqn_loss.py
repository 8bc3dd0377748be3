"""The loss of MADQN, by hand."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mava.components.losses.hysteretic import HystereticMADQNLoss
from mava.components.losses.madqn import MADQNLoss
from mava.core.contexts import LossOutput, Unrolled
from mava.errors import ConfigurationError
from mava.testing import builders

SPEC = builders.environment_spec(builders.group_spec(2, (1,), 2))
LEGAL = [[True, True], [True, True]]


def batch(
    reward: Any = ((1.0, 2.0),),
    discount: Any = ((0.5, 0.5),),
    alive: Any = ((True, True),),
    legal: Any = (LEGAL,),
    **fields: Any,
) -> dict[str, Any]:
    """One item for each row given, a single step long; both agents took action 0."""

    def field(value: Any, dtype: Any) -> Any:
        return {"agents": jnp.asarray(value, dtype)[:, None]}

    size = len(reward)
    return {
        "observation": field(np.ones((size, 2, 1)), jnp.float32),
        "next_observation": field(np.ones((size, 2, 1)), jnp.float32),
        "action": field(np.zeros((size, 2)), jnp.int32),
        "reward": field(reward, jnp.float32),
        "discount": field(discount, jnp.float32),
        "alive": field(alive, bool),
        "next_legal_actions": field(legal, bool),
        "start": jnp.zeros((size, 1), bool),
        **fields,
    }


# Scores of each agent's two actions: now, next by the online network, next by the target network.
NOW = [[1.0, 9.0], [3.0, 9.0]]
NEXT = [[2.0, 5.0], [8.0, 7.0]]
TARGET = [[4.0, 6.0], [10.0, 20.0]]


def loss(component: MADQNLoss, fields: dict[str, Any]) -> LossOutput:
    """With these scores for every item; the online network is known by its parameters."""
    size = len(fields["start"])

    def rows(scores: Any) -> Any:
        return {"agents": jnp.broadcast_to(jnp.asarray(scores), (size, 1, 2, 2))}

    def unroll(params: Any, batch: Any) -> Unrolled:
        online = params["q_network"] == "online"
        return Unrolled(rows(NOW), lambda: rows(NEXT if online else TARGET))

    context = builders.learn_context(SPEC, {"q_network": "target"}, unroll=unroll)
    return component.loss({"q_network": "online"}, fields, context)


def test_double_q() -> None:
    # Online picks action 1 and action 0, the target values them 6 and 10.
    # delta = 1 + 3 - 1 = 3 and 2 + 5 - 3 = 4: the mean of 9 / 2 and 16 / 2.
    output = loss(MADQNLoss(), batch())
    assert output.loss == 6.25
    assert output.metrics["mean_abs_td_error"] == 3.5
    assert output.metrics["mean_q"] == 2.0
    np.testing.assert_allclose(output.priorities, [3.5], atol=1e-5)
    np.testing.assert_array_equal(output.per_agent["agents"], [4.5, 8.0])


def test_without_double_q() -> None:
    # The target's own best: 6 and 20. delta = 3 and 9.
    output = loss(MADQNLoss(double=False), batch())
    assert output.loss == (4.5 + 40.5) / 2
    assert output.metrics["mean_abs_td_error"] == 6.0


def test_huber() -> None:
    # Linear beyond 3.5: 9 / 2, and 3.5 * (4 - 3.5 / 2).
    assert loss(MADQNLoss(huber=3.5), batch()).loss == (4.5 + 3.5 * 2.25) / 2


def test_only_legal_actions_are_bootstrapped_from() -> None:
    # Agent 0 may only take 0 next (4), agent 1 only 1 (20): delta = 1 + 2 - 1 and 2 + 10 - 3.
    legal = [[[True, False], [False, True]]]
    for double in (True, False):
        output = loss(MADQNLoss(double=double), batch(legal=legal))
        assert output.loss == (2.0 + 40.5) / 2


def test_without_a_legal_action_the_no_op_is_bootstrapped_from() -> None:
    # Q'(o', 0) = 4 and 10: delta = 1 + 2 - 1 and 2 + 5 - 3.
    for double in (True, False):
        output = loss(MADQNLoss(double=double), batch(legal=[[[False] * 2] * 2]))
        assert output.loss == (2.0 + 8.0) / 2


def test_termination_and_truncation() -> None:
    # Terminated: delta = 1 - 1. Cut, with the discount left: 2 + 5 - 3.
    output = loss(MADQNLoss(), batch(discount=[[0.0, 0.5]]))
    assert output.loss == (0.0 + 8.0) / 2


def test_importance_weights_scale_items() -> None:
    twice = batch(
        *(x * 2 for x in (((1.0, 2.0),), ((0.5, 0.5),), ((True, True),), (LEGAL,))),
        importance_weight=jnp.asarray([1.0, 0.0]),
    )
    output = loss(MADQNLoss(), twice)
    assert output.loss == 6.25 / 2
    np.testing.assert_allclose(output.priorities, [3.5, 3.5], atol=1e-5)


def test_the_dead_are_not_counted() -> None:
    output = loss(MADQNLoss(), batch(alive=[[True, False]]))
    assert output.loss == 4.5
    assert output.metrics["mean_q"] == 1.0
    assert output.metrics["mean_abs_td_error"] == 3.0
    np.testing.assert_allclose(output.priorities, [3.0], atol=1e-5)
    np.testing.assert_array_equal(output.per_agent["agents"], [4.5, 0.0])


def test_a_batch_of_the_dead_is_worth_nothing() -> None:
    output = loss(MADQNLoss(), batch(alive=[[False, False]]))
    assert output.loss == 0.0
    assert 0.0 < output.priorities[0] < 1e-5
    assert output.metrics["mean_q"] == 0.0


def test_groups_are_summed() -> None:
    spec = builders.environment_spec(
        builders.group_spec(1, (1,), 2, "few"), builders.group_spec(2, (1,), 2, "many")
    )
    fields = {
        name: {"few": x["agents"][:, :, :1], "many": x["agents"]} if isinstance(x, dict) else x
        for name, x in batch().items()
    }
    rows = {"few": jnp.asarray([[NOW[:1]]]), "many": jnp.asarray([[NOW]])}
    context = builders.learn_context(spec, unroll=builders.fixed_scores(rows, rows))
    # delta = 1 + 4.5 - 1 for few, the same and 2 + 4.5 - 3 for many.
    few, many = 4.5**2 / 2, (4.5**2 + 3.5**2) / 4
    assert MADQNLoss().loss({}, fields, context).loss == pytest.approx(few + many)


@pytest.mark.parametrize("garbage", [1e6, np.nan, np.inf])
def test_garbage_in_dead_rows_changes_neither_loss_nor_gradient(garbage: float) -> None:
    """Through a real network, over items of three steps; every field of the dead is filled."""
    fields = builders.batch(SPEC, size=6, length=3, seed=3)
    alive = fields["alive"]["agents"]
    assert 0 < int(alive.sum()) < alive.size

    def fill(x: Any) -> Any:
        keep = alive.reshape(*alive.shape, *[1] * (x.ndim - 3))
        return jnp.where(keep, x, garbage)

    dirty = dict(fields)
    for name in ("observation", "next_observation", "reward", "discount"):
        dirty[name] = {"agents": fill(fields[name]["agents"])}

    def unroll(params: Any, batch: Any) -> Unrolled:
        def score(field: str) -> Any:
            return {"agents": jnp.tanh(batch[field]["agents"] @ params["w"]) @ params["v"]}

        return Unrolled(score("observation"), lambda: score("next_observation"))

    rng = np.random.default_rng(0)
    params = {n: jnp.asarray(rng.normal(size=s), jnp.float32) for n, s in _SHAPES.items()}

    def total(params: Any, batch: Any) -> Any:
        context = builders.learn_context(SPEC, params, unroll=unroll)
        output = MADQNLoss().loss(params, batch, context)
        return output.loss, (output.metrics, output.priorities, output.per_agent)

    graded = jax.jit(jax.value_and_grad(total, has_aux=True))
    clean, filled = graded(params, fields), graded(params, dirty)
    assert all(np.any(np.asarray(x) != 0) for x in jax.tree.leaves(clean[1]))
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-6), clean, filled)


_SHAPES = {"w": (1, 4), "v": (4, 2)}


@pytest.mark.parametrize("huber", [0.0, -1.0, float("nan")])
def test_huber_is_positive(huber: float) -> None:
    with pytest.raises(ConfigurationError, match=r"madqn_loss\.huber is .*; it must be a finite"):
        MADQNLoss(huber=huber)


def test_a_hysteretic_loss_weighs_disappointments_less() -> None:
    # delta = 3 as in test_double_q, and 2 - 3 = -1 where the second agent terminates.
    fields = batch(discount=[[0.5, 0.0]])
    plain, weighed = loss(MADQNLoss(), fields), loss(HystereticMADQNLoss(beta=0.25), fields)
    assert plain.loss == (4.5 + 0.5) / 2
    assert weighed.loss == (4.5 + 0.125) / 2
    assert weighed.metrics == plain.metrics
    assert loss(HystereticMADQNLoss(beta=1.0), fields).loss == plain.loss
    # Beyond a Huber loss's turn: 0.5 * (1 - 0.25), a quarter of it.
    assert loss(HystereticMADQNLoss(beta=0.25, huber=0.5), fields).loss == pytest.approx(
        (0.5 * 2.75 + 0.25 * 0.5 * 0.75) / 2
    )
    with pytest.raises(ConfigurationError, match=r"beta has 1\.5"):
        HystereticMADQNLoss(beta=1.5)
