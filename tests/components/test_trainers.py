"""Optimisers, targets and the trainer, each alone."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from mava.components.trainers.trainer import (
    Adam,
    GradientNorm,
    HardTargetUpdate,
    SoftTargetUpdate,
    Trainer,
)
from mava.core.contexts import LearnHooks
from mava.core.learner import LearnerState
from mava.errors import ConfigurationError
from mava.functional.schedules import Linear
from mava.testing import builders

SPEC = builders.environment_spec()


@pytest.mark.parametrize(("period", "copies"), [(200, 5), (300, 3), (1, 1000), (1001, 0)])
def test_hard_updates_count_trainer_steps(period: int, copies: int) -> None:
    """The parameters are the number of the trainer step, so targets show when they were copied."""
    update = HardTargetUpdate(period=period).update_targets

    def step(targets: Any, updates: Any) -> Any:
        params = {"q_network": updates.astype(jnp.float32)}
        targets = update(params, targets, updates)
        return targets, targets["q_network"]

    steps = jnp.arange(1, 1001)
    _, seen = jax.jit(lambda: jax.lax.scan(step, {"q_network": jnp.zeros(())}, steps))()
    copied = np.unique(seen[seen > 0])
    np.testing.assert_array_equal(copied, period * np.arange(1, copies + 1))
    np.testing.assert_array_equal(seen, np.asarray(steps) // period * period)


def test_soft_updates_move_by_their_rate() -> None:
    update = SoftTargetUpdate(rate=0.25).update_targets
    params, targets = {"a": jnp.asarray([4.0, 8.0])}, {"a": jnp.asarray([0.0, 4.0])}
    first = update(params, targets, jnp.asarray(1))
    second = update(params, first, jnp.asarray(2))
    np.testing.assert_array_equal(first["a"], [1.0, 5.0])
    np.testing.assert_array_equal(second["a"], [1.75, 5.75])


def test_between_delayed_updates_nothing_changes() -> None:
    """Parameters, the optimiser's state and targets move at gradient steps 3, 6, ... alone, and
    then as an undelayed optimiser that saw these gradients only."""
    delayed, plain = (
        Adam(learning_rate=0.1, every=3).optimiser(),
        Adam(learning_rate=0.1).optimiser(),
    )
    params = expected = {"a": jnp.asarray([4.0, -2.0])}
    targets = {"a": jnp.zeros(2)}
    state, other = delayed.init(params), plain.init(expected)
    for step in range(1, 8):
        gradients = {"a": jnp.asarray([1.0, -3.0]) * step}
        changes, after = delayed.update(gradients, state, params)
        soft = SoftTargetUpdate(rate=0.5, every=3).update_targets
        moved = soft(expected, targets, jnp.asarray(step))
        if step % 3:
            assert not np.any(changes["a"])
            assert jax.tree.all(jax.tree.map(np.array_equal, after.inner, state.inner))
            np.testing.assert_array_equal(moved["a"], targets["a"])
        else:
            changed, other = plain.update(gradients, other, expected)
            np.testing.assert_array_equal(changes["a"], changed["a"])
            np.testing.assert_array_equal(moved["a"], 0.5 * (expected["a"] + targets["a"]))
            expected = optax.apply_updates(expected, changed)
        params = optax.apply_updates(params, changes)
        state, targets = after, moved
    np.testing.assert_array_equal(params["a"], expected["a"])
    for make in (lambda: Adam(every=0), lambda: SoftTargetUpdate(every=0)):
        with pytest.raises(ConfigurationError, match="every is 0"):
            make()


def test_a_rate_of_one_is_a_copy() -> None:
    params = {"a": jnp.asarray([4.0])}
    copied = SoftTargetUpdate(rate=1.0).update_targets(params, {"a": jnp.zeros(1)}, jnp.asarray(1))
    assert copied["a"] == 4.0


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: HardTargetUpdate(period=0), r"hard_target_update\.period is 0"),
        (lambda: SoftTargetUpdate(rate=0.0), r"soft_target_update\.rate is 0\.0"),
        (lambda: SoftTargetUpdate(rate=1.5), r"soft_target_update\.rate is 1\.5"),
        (lambda: Adam(learning_rate=-1.0), r"adam\.learning_rate has -1\.0"),
        (lambda: Adam(learning_rate="fast"), r"adam\.learning_rate is 'fast'"),
        (lambda: Adam(max_gradient_norm=0.0), r"adam\.max_gradient_norm is 0\.0"),
        (lambda: Adam(max_gradient_norm=float("nan")), r"adam\.max_gradient_norm is nan"),
        (lambda: Adam(epsilon=-1e-8), r"adam\.epsilon is -1e-08"),
        (lambda: HardTargetUpdate(period=0.5), r"hard_target_update\.period is 0\.5"),
        (lambda: SoftTargetUpdate(rate="slow"), r"soft_target_update\.rate is 'slow'"),
    ],
)
def test_values_that_could_not_work_are_refused(make: Any, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        make()


def changes(component: Adam, gradients: list[list[float]]) -> np.ndarray:
    """What each of a row of gradients changes."""
    optimiser = component.optimiser()
    params = {"a": jnp.zeros(len(gradients[0]))}
    state, found = optimiser.init(params), []
    for gradient in gradients:
        change, state = optimiser.update({"a": jnp.asarray(gradient)}, state, params)
        found.append(change["a"])
    return np.asarray(found)


def test_the_first_step_of_adam_is_the_learning_rate() -> None:
    found = changes(Adam(learning_rate=0.1, max_gradient_norm=None), [[5.0, -0.01]])
    np.testing.assert_allclose(found, [[-0.1, 0.1]], rtol=1e-5)


def test_the_learning_rate_follows_trainer_steps() -> None:
    schedule = Linear(0.1, 0.0, 4)
    found = changes(Adam(learning_rate=schedule), [[1.0]] * 6)
    np.testing.assert_allclose(found[:, 0], [-0.1, -0.075, -0.05, -0.025, 0, 0], atol=1e-6)


def test_gradients_are_clipped_by_their_global_norm() -> None:
    """A gradient of norm 50 becomes one of norm 5; Adam shows it in the ratio of later steps."""
    clipped = changes(Adam(0.1, max_gradient_norm=5.0), [[30.0, 40.0], [0.3, 0.4]])
    scaled = changes(Adam(0.1, max_gradient_norm=None), [[3.0, 4.0], [0.3, 0.4]])
    free = changes(Adam(0.1, max_gradient_norm=None), [[30.0, 40.0], [0.3, 0.4]])
    np.testing.assert_allclose(clipped, scaled, rtol=1e-5)
    assert abs(free[1, 0] - clipped[1, 0]) > 1e-3


def test_gradient_norm_is_that_of_each_set() -> None:
    gradients = {"a": {"x": jnp.asarray([3.0]), "y": jnp.asarray([4.0])}, "b": jnp.asarray([2.0])}
    found = GradientNorm().measure(gradients, {}, builders.learn_context(SPEC))
    assert {name: float(x) for name, x in found.items()} == {"a": 5.0, "b": 2.0}


def test_the_trainer_takes_one_step() -> None:
    calls: list[str] = []
    learner = LearnerState({}, {}, {}, {}, jnp.asarray(3, jnp.int32))

    def prepare(learner: Any, batch: Any) -> Any:
        calls.append("prepare")
        return learner, {**batch, "prepared": True}

    def gradients(learner: Any, batch: Any) -> Any:
        calls.append("gradients")
        assert batch["prepared"]
        return {"a": 1.0}, {"loss": 2.0}, "priorities"

    def apply(learner: Any, gradients: Any) -> Any:
        calls.append("apply")
        assert gradients == {"a": 1.0}
        return learner._replace(updates=learner.updates + 1)

    hooks = LearnHooks(prepare, gradients, apply, jax.random.key(0))
    after, metrics, priorities = Trainer().update(learner, {}, hooks)
    assert calls == ["prepare", "gradients", "apply"]
    assert (int(after.updates), metrics, priorities) == (4, {"loss": 2.0}, "priorities")
