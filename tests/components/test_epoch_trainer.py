"""Epochs of minibatches: everything is used once an epoch, and stops where it is told to."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mava.components.trainers.epoch_trainer import EpochTrainer
from mava.core.contexts import LearnHooks
from mava.core.learner import LearnerState
from mava.errors import ConfigurationError
from mava.functional.loops import plain_python

ENVIRONMENTS, STEPS = 2, 6


def numbered(memory: bool = False) -> Any:
    """Each transition has a number, and each step the number of the memory before it."""
    number = jnp.arange(ENVIRONMENTS * STEPS).reshape(ENVIRONMENTS, STEPS)
    batch = {
        "start": jnp.zeros((ENVIRONMENTS, STEPS), bool),
        "number": {"agents": number},
        "probability": jnp.asarray([0.25, 0.75]),
    }
    return {**batch, "memory": {"score": {"agents": number}}} if memory else batch


def hooks(seed: int = 0, recurrent: bool = False, kl: Any = None) -> LearnHooks:
    """A learner that counts how often it was trained on each transition, and remembers when."""

    def gradients(learner: LearnerState, part: Any) -> Any:
        used = jnp.zeros(ENVIRONMENTS * STEPS).at[part["number"]["agents"].ravel()].add(1.0)
        metrics = {"loss/first": part["number"]["agents"].ravel()[0].astype(jnp.float32)}
        if kl is not None:
            metrics["ppo_loss/approx_kl"] = kl * learner.updates.astype(jnp.float32)
        return {"used": used}, metrics, None

    def apply(learner: LearnerState, gradients: Any) -> LearnerState:
        used = learner.params["used"].at[learner.updates].set(gradients["used"])
        return learner._replace(params={"used": used}, updates=learner.updates + 1)

    return LearnHooks(
        lambda learner, batch: (learner, batch),
        gradients,
        apply,
        jax.random.key(seed),
        recurrent,
    )


def trained(trainer: EpochTrainer, batch: Any = None, **options: Any) -> tuple[np.ndarray, Any]:
    """How often each transition was used in each gradient step, and the metrics."""
    total = trainer.epochs * trainer.minibatches
    used = {"used": jnp.zeros((total, ENVIRONMENTS * STEPS))}
    learner = LearnerState(used, {}, {}, {}, jnp.zeros((), jnp.int32))
    given = numbered() if batch is None else batch

    def update(learner: Any, batch: Any) -> Any:
        return trainer.update(learner, batch, hooks(**options))[:2]

    learner, metrics = jax.jit(update)(learner, given)
    return np.asarray(learner.params["used"]), jax.tree.map(float, metrics)


def test_every_transition_is_used_once_in_each_epoch_in_a_new_order() -> None:
    used, metrics = trained(EpochTrainer(epochs=3, minibatches=4))
    assert (used.sum(axis=1) == 3).all()
    epochs = used.reshape(3, 4, -1)
    np.testing.assert_array_equal(epochs.sum(axis=1), 1.0)
    assert not np.array_equal(epochs[0], epochs[1])
    assert not np.array_equal(used, trained(EpochTrainer(epochs=3, minibatches=4), seed=1)[0])
    assert metrics["epoch_trainer/gradient_steps"] == 12.0


def test_recurrent_networks_are_trained_on_whole_rollouts() -> None:
    used, _ = trained(EpochTrainer(epochs=2, minibatches=2), recurrent=True)
    for step in used:
        assert set(step.reshape(ENVIRONMENTS, STEPS).sum(axis=1)) == {0.0, 6.0}


def test_chunks_begin_with_their_own_memory() -> None:
    chunks = EpochTrainer(minibatches=4, sequence_length=3)._sequences(numbered(True), True)
    assert chunks["start"].shape == (4, 3)
    np.testing.assert_array_equal(chunks["number"]["agents"], np.arange(12).reshape(4, 3))
    np.testing.assert_array_equal(chunks["memory"]["score"]["agents"][:, 0], [0, 3, 6, 9])
    np.testing.assert_allclose(chunks["probability"], [0.25, 0.25, 0.75, 0.75])


def test_one_environment_is_cut_over_time() -> None:
    batch = jax.tree.map(lambda x: x[:1], numbered(True))
    chunks = EpochTrainer(minibatches=2, sequence_length=3)._sequences(batch, True)
    np.testing.assert_array_equal(chunks["number"]["agents"], [[0, 1, 2], [3, 4, 5]])


@pytest.mark.parametrize(("max_kl", "made"), [(10.0, 6), (2.5, 3), (0.5, 1)])
def test_it_stops_where_the_policy_has_gone_too_far(max_kl: float, made: int) -> None:
    """The divergence found before gradient step k (from 0) is k; one too far is not made."""
    trainer = EpochTrainer(epochs=3, minibatches=2, max_kl=max_kl)
    used, metrics = trained(trainer, kl=1.0)
    assert (used.sum(axis=1) > 0).tolist() == [True] * made + [False] * (6 - made)
    assert metrics["epoch_trainer/gradient_steps"] == made
    measured = min(made + 1, 6)
    assert metrics["ppo_loss/approx_kl"] == pytest.approx(np.mean(range(measured)))


@pytest.mark.slow
def test_plain_python_stops_as_well() -> None:
    trainer = EpochTrainer(epochs=2, minibatches=2, max_kl=0.5)
    learner = LearnerState({"used": jnp.zeros((4, 12))}, {}, {}, {}, jnp.zeros((), jnp.int32))
    with plain_python():
        after, metrics, _ = trainer.update(learner, numbered(), hooks(kl=1.0))
    compiled, expected = trained(trainer, kl=1.0)
    np.testing.assert_array_equal(after.params["used"], compiled)
    assert jax.tree.map(float, metrics) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("trainer", "recurrent", "message"),
    [
        (
            EpochTrainer(minibatches=5),
            False,
            r"minibatches is 5, which does not divide the 12 sequences of 1 steps in a batch "
            r"\(2 environments, 6 steps each\)",
        ),
        (EpochTrainer(minibatches=4), True, r"is 4, which does not divide the 2 sequences of 6"),
        (EpochTrainer(sequence_length=4), False, r"is 4, which does not divide the 6 steps"),
        (EpochTrainer(max_kl=0.1), False, r"max_kl is 0\.1, but no loss gives.*'approx_kl'"),
    ],
)
def test_what_cannot_be_divided_is_refused_with_the_numbers(
    trainer: EpochTrainer, recurrent: bool, message: str
) -> None:
    with pytest.raises(ConfigurationError, match=message):
        trained(trainer, recurrent=recurrent)


@pytest.mark.parametrize("field", ["epochs", "minibatches", "sequence_length", "max_kl"])
def test_numbers_are_positive(field: str) -> None:
    with pytest.raises(ConfigurationError, match=rf"epoch_trainer\.{field} is 0"):
        EpochTrainer(**{field: 0})
