"""n-step returns and importance weights, by hand."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

from mava.components.batches.n_step import NStepReturn
from mava.components.buffers.replay import PrioritisedReplay, UniformReplay
from mava.core.plans import BufferPlan, Sampling
from mava.errors import ConfigurationError
from mava.functional.schedules import Linear
from mava.testing import builders

SPEC = builders.environment_spec(builders.group_spec(2, (1,), 3))


def sequence(**flags: Any) -> dict[str, Any]:
    """One item of three transitions of two agents, paid 1, 2, 4 and 10, 20, 40."""
    zeros = np.zeros((1, 3, 2), bool)
    fields = {name: {"agents": zeros.copy()} for name in ("termination", "truncation")}
    for name, value in flags.items():
        if name in fields:
            fields[name]["agents"][0] = np.transpose(value)
    reward = np.asarray([[[1.0, 10.0], [2.0, 20.0], [4.0, 40.0]]], np.float32)
    steps = np.arange(3, dtype=np.float32)[None, :, None, None] * np.ones((1, 1, 2, 1), np.float32)
    batch = {
        **fields,
        "reward": {"agents": reward},
        "end": np.asarray([flags.get("end", [False] * 3)]),
        "start": np.asarray([flags.get("start", [True, False, False])]),
        "observation": {"agents": steps},
        "next_observation": {"agents": steps + 1},
        "next_legal_actions": {"agents": steps + np.arange(3) > 1},
        "probability": np.ones(1, np.float32),
    }
    return {
        n: {k: jnp.asarray(v) for k, v in x.items()} if isinstance(x, dict) else jnp.asarray(x)
        for n, x in batch.items()
    }


def prepared(discount: float = 0.5, **flags: Any) -> dict[str, Any]:
    component = NStepReturn(steps=3, discount=discount)
    batch, state = component.prepare_batch(sequence(**flags), (), {}, builders.learn_context(SPEC))
    assert state == ()
    return batch


def found(batch: dict[str, Any], field: str) -> list[float]:
    return np.asarray(batch[field]["agents"]).reshape(2, -1)[:, 0].tolist()


def test_in_the_middle_of_an_episode() -> None:
    batch = prepared()
    assert found(batch, "reward") == [3.0, 30.0]  # 1 + 2/2 + 4/4
    assert found(batch, "discount") == [0.125, 0.125]
    assert found(batch, "next_observation") == [3.0, 3.0]
    assert found(batch, "observation") == [0.0, 0.0]
    assert batch["reward"]["agents"].shape == (1, 1, 2)
    assert batch["start"].tolist() == [[True]]
    assert batch["probability"].shape == (1,)


def test_each_agent_is_cut_where_it_terminates() -> None:
    batch = prepared(termination=[[True, True, True], [False, True, True]])
    assert found(batch, "reward") == [1.0, 20.0]
    assert found(batch, "discount") == [0.0, 0.0]
    assert found(batch, "next_observation") == [1.0, 2.0]


def test_an_agent_that_is_cut_alone_is_bootstrapped_from_its_last_observation() -> None:
    batch = prepared(truncation=[[True, True, True], [False, False, False]])
    assert found(batch, "reward") == [1.0, 30.0]
    assert found(batch, "discount") == [0.5, 0.125]
    assert found(batch, "next_observation") == [1.0, 3.0]
    legal = batch["next_legal_actions"]["agents"][0, 0]
    assert legal.tolist() == [[False, False, True], [True, True, True]]


def test_the_end_of_the_episode_cuts_every_agent() -> None:
    batch = prepared(end=[False, True, False])
    assert found(batch, "reward") == [2.0, 20.0]
    assert found(batch, "discount") == [0.25, 0.25]
    assert found(batch, "next_observation") == [2.0, 2.0]


def test_an_abandoned_episode_is_cut_where_the_next_begins() -> None:
    batch = prepared(start=[True, False, True])
    assert found(batch, "reward") == [2.0, 20.0]
    assert found(batch, "discount") == [0.25, 0.25]


def test_longer_sequences_give_a_window_from_every_step() -> None:
    component = NStepReturn(steps=2, discount=0.5)
    assert component.more_steps == 1
    state = jnp.arange(3.0)[None, :, None]
    batch = {**sequence(end=[False, False, True]), "next_state": state}
    result, _ = component.prepare_batch(batch, (), {}, builders.learn_context(SPEC))
    assert result["reward"]["agents"][0].tolist() == [[2.0, 20.0], [4.0, 40.0]]
    assert result["discount"]["agents"][0].tolist() == [[0.25, 0.25], [0.25, 0.25]]
    assert result["next_observation"]["agents"][0, :, 0, 0].tolist() == [2.0, 3.0]
    assert result["observation"]["agents"][0, :, 0, 0].tolist() == [0.0, 1.0]
    assert result["next_state"][0, :, 0].tolist() == [1.0, 2.0]


def test_the_next_global_state_is_that_of_the_episodes_last_step() -> None:
    batch = {**sequence(end=[False, True, False]), "next_state": jnp.arange(3.0)[None, :, None]}
    component = NStepReturn(steps=3, discount=0.5)
    result, _ = component.prepare_batch(batch, (), {}, builders.learn_context(SPEC))
    assert result["next_state"].tolist() == [[[1.0]]]


def test_one_step_changes_nothing() -> None:
    batch = {
        name: {k: v[:, :1] for k, v in x.items()} if isinstance(x, dict) else x[:, :1]
        for name, x in sequence().items()
        if name != "probability"
    }
    result, _ = NStepReturn(discount=0.9).prepare_batch(batch, (), {}, builders.learn_context(SPEC))
    for name in ("reward", "next_observation", "next_legal_actions"):
        np.testing.assert_array_equal(result[name]["agents"], batch[name]["agents"])
    assert found(result, "discount") == [pytest.approx(0.9)] * 2


@pytest.mark.parametrize("discount", [-0.1, 1.1])
def test_a_discount_is_at_most_one(discount: float) -> None:
    with pytest.raises(ConfigurationError, match=r"n_step_return\.discount"):
        NStepReturn(discount=discount)


def weights(probability: list[float], updates: int = 0, **fields: Any) -> list[float]:
    component = PrioritisedReplay(capacity=10, min_size=2, batch_size=2, **fields)
    batch = {"probability": jnp.asarray(probability)}
    context = builders.learn_context(SPEC, updates=updates)
    return np.asarray(component.prepare_batch(batch, (), {}, context)[0]["importance_weight"])


def test_importance_weights() -> None:
    # p ** -0.5 = 2, 1, 10; divided by the largest.
    np.testing.assert_allclose(
        weights([0.25, 1.0, 0.01], importance_exponent=0.5), [0.2, 0.1, 1.0], rtol=1e-6
    )
    np.testing.assert_allclose(weights([0.25, 0.5], importance_exponent=0.0), [1.0, 1.0])
    np.testing.assert_allclose(weights([0.2, 0.2], importance_exponent=1.0), [1.0, 1.0])


def test_the_exponent_follows_trainer_steps() -> None:
    schedule = Linear(0.0, 1.0, 10)
    for updates, exponent in ((0, 0.0), (5, 0.5), (10, 1.0), (99, 1.0)):
        found = weights([0.25, 1.0], updates, importance_exponent=schedule)
        np.testing.assert_allclose(found, [1.0, 0.25**exponent], rtol=1e-6)


def test_a_probability_of_zero_gives_finite_weights() -> None:
    assert np.isfinite(weights([0.0, 1.0], importance_exponent=1.0)).all()


def test_plans() -> None:
    sizes = {"capacity": 50, "min_size": 10, "batch_size": 4, "sequence_length": 3, "period": 2}
    assert UniformReplay(**sizes).plan() == BufferPlan(Sampling.UNIFORM, **sizes)
    prioritised = PrioritisedReplay(**sizes, priority_exponent=0.5).plan()
    assert prioritised == BufferPlan(Sampling.PRIORITISED, **sizes, priority_exponent=0.5)


@pytest.mark.parametrize("kind", [UniformReplay, PrioritisedReplay])
@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"capacity": 10, "min_size": 11, "batch_size": 1}, "training would never begin"),
        ({"capacity": 10, "min_size": 5, "batch_size": 11}, "larger than the buffer's capacity"),
        (
            {"capacity": 10, "min_size": 5, "batch_size": 1, "sequence_length": 11},
            "does not fit the buffer's capacity",
        ),
        ({"batch_size": 0}, "batch_size is 0; it must be at least 1"),
        ({"period": 0}, "period is 0; it must be at least 1"),
        ({"sequence_length": 3, "period": 4}, "some transitions would never be sampled"),
    ],
)
def test_sizes_that_could_not_work_are_refused(kind: Any, fields: Any, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        kind(**fields)


def test_exponents_are_at_most_one() -> None:
    with pytest.raises(ConfigurationError, match=r"priority_exponent is 1\.5"):
        PrioritisedReplay(priority_exponent=1.5)
    with pytest.raises(ConfigurationError, match=r"prioritised_replay\.importance_exponent"):
        PrioritisedReplay(importance_exponent=Linear(0.4, 1.2, 10))
