"""What the composed learn and act functions promise beyond their components."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from mava.components.buffers.rollout import Rollout
from mava.components.executors.executor import Executor, RecordState
from mava.components.networks.observation_normaliser import ObservationNormaliser
from mava.components.trainers.epoch_trainer import EpochTrainer
from mava.components.trainers.trainer import GradientNorm, HardTargetUpdate
from mava.core.contexts import LearnContext
from mava.core.dry_run import batch_shapes
from mava.core.lifecycle import Measure, PrepareBatch
from mava.core.program import Program
from mava.core.system import build
from mava.functional.loops import plain_python
from mava.testing import builders
from mava.testing.small_systems import SMALL_SYSTEMS, actor_critic
from tests.core.composing import SPEC, built, system


def inputs(program: Program, seed: int = 0) -> Any:
    """A learner, and a batch of random numbers and flags of the right shapes."""
    rng = np.random.default_rng(seed)

    def fill(x: Any) -> Any:
        if x.dtype == bool:
            return jnp.asarray(rng.random(x.shape) < 0.5)
        if x.dtype.kind in "iu":
            return jnp.asarray(rng.integers(0, 2, x.shape), x.dtype)
        return jnp.asarray(rng.uniform(0.1, 1.0, x.shape), x.dtype)

    learner = jax.jit(program.init_learner)(jax.random.key(seed))
    return learner, jax.tree.map(fill, batch_shapes(program)), jax.random.key(1)


@pytest.mark.slow
def test_learning_in_plain_python_equals_the_compiled() -> None:
    small = (Executor(num_environments=1), Rollout(length=2), EpochTrainer(1, 1), RecordState())
    program = build(actor_critic("matrix/climbing", *small))
    given = inputs(program)
    compiled = jax.jit(program.learn)(*given)
    with plain_python():
        plain = program.learn(*given)
    assert str(jax.tree.structure(plain)) == str(jax.tree.structure(compiled))
    for a, b in zip(jax.tree.leaves(plain), jax.tree.leaves(compiled), strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-4, atol=2e-5)


@dataclasses.dataclass(frozen=True)
class WeakStatistics(PrepareBatch):
    """Begins with a weakly typed number, which any array would strengthen."""

    def init_state(self, spec: Any) -> Any:
        return {"seen": 0.0, "full": jnp.full((2,), 1.0)}

    def prepare_batch(self, batch: Any, state: Any, params: Any, context: Any) -> Any:
        return batch, jax.tree.map(lambda x: x + batch["probability"].sum(), state)


def test_learning_is_traced_once() -> None:
    program = built(WeakStatistics(), GradientNorm())
    traces = []

    def learn(*args: Any) -> Any:
        traces.append(1)
        return program.learn(*args)

    compiled = jax.jit(learn)
    learner, batch, key = inputs(program)
    for _ in range(3):
        learner, _, _ = compiled(learner, batch, key)
    assert len(traces) == 1
    assert int(learner.updates) == 3


def test_acting_is_traced_once_whatever_the_step() -> None:
    program = build(SMALL_SYSTEMS["continuous"]())
    traces = []

    def act(*args: Any) -> Any:
        traces.append(1)
        return program.act(*args)

    compiled = jax.jit(act)
    learner, _, key = inputs(program)
    memory = program.init_memory()
    for step in range(4):
        timestep = builders.timestep(program.spec, step, start=step % 2 == 0)
        variables = program.publish(learner)
        _, _, memory = compiled(variables, memory, timestep, np.int32(step), key)
    assert len(traces) == 1


def test_acting_is_given_what_it_reads_and_no_more() -> None:
    def published(name: str) -> set[str]:
        program = build(SMALL_SYSTEMS[name]())
        learner = jax.eval_shape(program.init_learner, jax.random.key(0))
        return set(program.publish(learner).params)

    assert published("mixing") == {"q_network"}
    assert published("actor_critic") == {"network", "critic"}  # the critic has memory


def test_statistics_reach_the_act_function() -> None:
    program = build(SMALL_SYSTEMS["normalised"]())
    learner, batch, key = inputs(program)
    after, _, _ = jax.jit(program.learn)(learner, batch, key)
    statistics = program.publish(after).components["observation_normaliser"]
    for name, alive in batch["alive"].items():
        shown = np.asarray(batch["observation"][name])[np.asarray(alive)]
        np.testing.assert_allclose(statistics[name].mean, shown.mean(0), rtol=1e-5)
        assert statistics[name].seen == len(shown)


def test_statistics_that_a_batch_changes_take_effect_after_it() -> None:
    """So the first step sees observations as they are, and the second normalised ones."""
    losses = []
    for program in (built(), built(ObservationNormaliser())):
        learner, batch, key = inputs(program)
        learn = jax.jit(program.learn)
        after, first, _ = learn(learner, batch, key)
        _, second, _ = learn(learner._replace(components=after.components), batch, key)
        losses.append([float(metrics["madqn_loss/loss"]) for metrics in (first, second)])
    plain, normalised = losses
    assert plain[0] == plain[1]
    assert normalised[0] == pytest.approx(plain[0], rel=1e-5)
    assert normalised[1] != pytest.approx(plain[1], rel=1e-2)


@dataclasses.dataclass(frozen=True)
class Draw(Measure):
    def measure(self, gradients: Any, batch: Any, context: LearnContext) -> Any:
        return {"number": jax.random.uniform(context.key), "step": context.updates}


@dataclasses.dataclass(frozen=True)
class DrawToo(Draw):
    pass


def test_every_component_and_trainer_step_has_its_own_key() -> None:
    program = built(Draw(), DrawToo())
    learner, batch, key = inputs(program)
    learn, drawn = jax.jit(program.learn), []
    for _ in range(3):
        learner, metrics, _ = learn(learner, batch, key)
        drawn += [float(metrics["draw/number"]), float(metrics["draw_too/number"])]
    assert len(set(drawn)) == 6
    again = learn(inputs(program)[0], batch, key)[1]
    assert float(again["draw/number"]) == drawn[0]


@pytest.mark.slow
def test_every_gradient_step_of_one_round_has_its_own_key() -> None:
    """Four gradient steps of one round: their mean is that of four different draws."""
    program = build(actor_critic("matrix/climbing", RecordState(), Draw()))
    learner, batch, key = inputs(program)
    after, metrics, _ = jax.jit(program.learn)(learner, batch, key)
    assert int(after.updates) == 4
    assert float(metrics["draw/step"]) == pytest.approx((0 + 1 + 2 + 3) / 4)
    first = built(Draw())
    one = jax.jit(first.learn)(*inputs(first))[1]["draw/number"]
    assert abs(float(metrics["draw/number"]) - float(one)) > 1e-3


def test_gradients_are_averaged_over_devices_before_anything_reads_them() -> None:
    program = built(GradientNorm())
    given = inputs(program)

    def half(tree: Any) -> Any:
        return jax.tree.map(lambda x: x / 2, tree)

    _, alone, _ = jax.jit(program.learn)(*given)
    _, together, _ = jax.jit(program.learn, static_argnums=3)(*given, half)
    name = "gradient_norm/q_network"
    # Halved weights double the loss and its gradients; these are averaged, and then the metrics.
    np.testing.assert_allclose(together[name], alone[name] / 2, rtol=1e-5)
    np.testing.assert_allclose(together["madqn_loss/loss"], alone["madqn_loss/loss"], rtol=1e-6)


def test_targets_begin_equal_and_move_when_due() -> None:
    program = built(HardTargetUpdate(period=2))
    learner, batch, key = inputs(program)
    learn, equal = jax.jit(program.learn), []
    for _ in range(4):
        pairs = zip(
            jax.tree.leaves(learner.params), jax.tree.leaves(learner.target_params), strict=True
        )
        equal.append(all(np.array_equal(a, b) for a, b in pairs))
        learner, _, _ = learn(learner, batch, key)
    assert equal == [True, False, True, False]


def test_targets_of_some_sets_are_a_tree_of_these() -> None:
    @dataclasses.dataclass(frozen=True)
    class Sizes(Measure):
        def measure(self, gradients: Any, batch: Any, context: LearnContext) -> dict[str, Any]:
            doubled = jax.tree.map(lambda x: 2 * x, context.target_params)
            assert tuple(doubled) == ("critic",)
            return {name: optax.tree.norm(tree) for name, tree in doubled.items()}

    some = SMALL_SYSTEMS["actor_critic"]().with_(HardTargetUpdate(targets=("critic",)), Sizes())
    program = build(some)
    learner, batch, key = inputs(program)
    _, metrics, _ = jax.jit(program.learn)(learner, batch, key)
    norm = optax.tree.norm(learner.target_params)
    np.testing.assert_allclose(metrics["sizes/critic"], 2.0 * norm, rtol=1e-6)


def test_optimisers_touch_their_own_parameters_only() -> None:
    program = build(SMALL_SYSTEMS["actor_critic"]())
    learner, _, _ = inputs(program)
    assert set(learner.optimiser) == {"adam_network", "adam_critic"}
    sizes = {
        name: {jnp.shape(x) for x in jax.tree.leaves(state) if jnp.shape(x)}
        for name, state in learner.optimiser.items()
    }
    for name in ("network", "critic"):
        assert sizes[f"adam_{name}"] == {x.shape for x in jax.tree.leaves(learner.params[name])}


def test_the_small_system_has_no_observers() -> None:
    program = build(system(), SPEC)
    assert program.observers == program.stops == ()
    assert program.evaluator is None
