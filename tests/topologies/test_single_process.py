"""The single-process loop: its schedule, its determinism, and plain Python."""

from __future__ import annotations

import dataclasses
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mava.components.exploration.epsilon_greedy import EpsilonGreedy
from mava.components.losses.madqn import MADQNLoss
from mava.components.networks.q_network import QNetwork
from mava.core.contexts import (
    ActContext,
    Batch,
    GroupContext,
    LearnContext,
    LossOutput,
    Params,
    Selection,
    Transition,
)
from mava.core.lifecycle import Measure, Record, SelectAction
from mava.errors import ConfigurationError, DivergenceError
from mava.topologies.base import policy_of
from mava.types import Array, PyTree
from tests.topologies.running import assert_equal, differs, params, ran, small, started, stored


@dataclasses.dataclass(frozen=True)
class ClockSelector(SelectAction):
    """Shows the clock that each transition was given."""

    def select_action(
        self, scores: Array, legal_actions: Array, memory: PyTree, context: ActContext
    ) -> tuple[Selection, PyTree]:
        agents = scores.shape[0]
        clock = jnp.broadcast_to(context.clock, (agents,))
        return Selection(jnp.zeros(agents, jnp.int32), {"clock": clock}), memory


@dataclasses.dataclass(frozen=True)
class RecordClock(Record):
    def record(self, transition: Transition) -> dict[str, PyTree]:
        return {"clock": transition.extras["agents"]["clock"]}


@pytest.mark.parametrize("environments", [1, 4])
def test_transition_i_of_step_t_has_index_t_times_e_plus_i(environments: int) -> None:
    system = small("matrix/climbing", num_environments=environments)
    runner = ran(system.with_(ClockSelector(), RecordClock()), 40)
    clock = stored(runner, 40)["clock"][..., 0]
    steps = 40 // environments
    expected = np.arange(40).reshape(steps, environments).T
    np.testing.assert_array_equal(clock, expected)


@pytest.mark.slow
@pytest.mark.parametrize("environments", [1, 3, 4])
def test_trainer_steps_follow_environment_steps_exactly(environments: int) -> None:
    system = small(
        "matrix/climbing", num_environments=environments, min_size=16, update_every=5, updates=2
    )
    runner = started(system)
    for steps in range(environments, 61, environments):
        runner.advance(steps)
        assert runner.environment_steps == steps
        assert runner.trainer_steps == (0 if steps < 16 else 2 * ((steps - 16) // 5 + 1))


def test_never_passes_the_step_it_is_given() -> None:
    runner = started(small("matrix/climbing", num_environments=4))
    runner.advance(10)
    assert runner.environment_steps == 8
    runner.advance(11)
    assert runner.environment_steps == 8
    runner.advance(12)
    assert runner.environment_steps == 12


@pytest.mark.slow
def test_one_seed_gives_one_run_and_another_seed_another() -> None:
    system = small("mpe2/simple_spread_v3")
    first, second, other = ran(system, 120), ran(system, 120), ran(system, 120, seed=1)
    assert_equal(first.state().arrays, second.state().arrays)
    assert differs(params(first), params(other))
    assert differs(stored(first, 120)["observation"], stored(other, 120)["observation"])


@pytest.mark.slow
def test_the_division_into_calls_changes_nothing() -> None:
    system = small("matrix/two_step", num_environments=2, prioritised=True, n_step=2)
    whole, parts = ran(system, 90), started(system)
    for until in (1, 2, 17, 17, 18, 33, 50, 90):
        parts.advance(until)
    assert_equal(whole.state().arrays, parts.state().arrays)


@dataclasses.dataclass(frozen=True)
class Probe(Measure):
    def measure(self, gradients: Params, batch: Batch, context: LearnContext) -> dict[str, Array]:
        return {"noise": jax.random.normal(context.key)}


@pytest.mark.slow
def test_a_probe_changes_no_parameter() -> None:
    system = small("matrix/climbing")
    assert_equal(params(ran(system, 60)), params(ran(system.with_(Probe()), 60)))


@pytest.mark.slow
def test_evaluation_leaves_training_as_it_is() -> None:
    """F26: other environments, own randomness, nothing recorded or counted."""
    system = small("matrix/climbing").replace("evaluator", episodes=3)
    undisturbed, evaluated = ran(system, 60), started(system)
    for until in range(4, 61, 4):
        evaluated.advance(until)
        policy = policy_of(evaluated.program, evaluated.variables())
        system["evaluator"].evaluate(policy, evaluated.episode_runner(), seed=until)
    assert_equal(undisturbed.state().arrays, evaluated.state().arrays)
    assert evaluated.episodes == undisturbed.episodes


@pytest.mark.slow
@pytest.mark.parametrize(
    "options", [{}, {"num_environments": 2, "n_step": 3}, {"prioritised": True, "sharing": "none"}]
)
def test_plain_python_takes_the_same_actions(options: dict[str, object]) -> None:
    system = small("matrix/climbing", batch_size=4, update_every=8, **options)
    compiled, plain = ran(system, 48), ran(system, 48, jit=False)
    assert compiled.trainer_steps == plain.trainer_steps > 3
    assert_equal(stored(compiled, 48)["action"], stored(plain, 48)["action"])
    jax.tree.map(
        lambda x, y: np.testing.assert_allclose(x, y, atol=1e-5), params(compiled), params(plain)
    )


SEEN: dict[str, list[bool]] = {}


def see(name: str, *values: PyTree) -> None:
    concrete = not any(isinstance(x, jax.core.Tracer) for x in jax.tree.leaves(values))
    SEEN.setdefault(name, []).append(concrete)


@dataclasses.dataclass(frozen=True)
class SeenNetwork(QNetwork):
    def score(
        self, params: Params, observation: Array, memory: PyTree, context: GroupContext
    ) -> tuple[Array, PyTree]:
        see("network", params, observation)
        return super().score(params, observation, memory, context)


@dataclasses.dataclass(frozen=True)
class SeenExploration(EpsilonGreedy):
    def select_action(
        self, scores: Array, legal_actions: Array, memory: PyTree, context: ActContext
    ) -> tuple[Selection, PyTree]:
        see("exploration", scores, context.clock)
        return super().select_action(scores, legal_actions, memory, context)


@dataclasses.dataclass(frozen=True)
class SeenLoss(MADQNLoss):
    name: ClassVar[str] = "madqn_loss"  # type: ignore[misc]

    def loss(self, params: Params, batch: Batch, context: LearnContext) -> LossOutput:
        see("loss", params, batch)
        return super().loss(params, batch, context)


@pytest.mark.slow
def test_a_breakpoint_stops_on_concrete_arrays_without_jit() -> None:
    system = small("matrix/climbing", num_environments=2, batch_size=2, min_size=4)
    system = system.with_(SeenNetwork(hidden_sizes=(4,)), SeenExploration(), SeenLoss())
    runner = started(system, jit=False)
    SEEN.clear()
    runner.advance(4)
    assert runner.trainer_steps == 1
    assert all(SEEN["exploration"])
    assert SEEN["network"][:2] == [True, True]
    assert SEEN["loss"] == [True, False]  # plainly first, then differentiated


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"capacity": 10, "min_size": 20}, r"min_size \(20\) is above its capacity \(10\)"),
        ({"capacity": 4, "min_size": 4, "batch_size": 8}, "larger than the buffer's capacity"),
        ({"update_every": 0}, "update_every is 0"),
        (
            {"n_step": 30, "min_size": 16},
            "one item needs 30 of one environment in a row; raise min_size to 30",
        ),
        (
            {"capacity": 18, "min_size": 17, "num_environments": 4},
            "holds 16 in equal rows, fewer than min_size",
        ),
    ],
)
def test_a_configuration_that_could_never_train_is_refused(
    options: dict[str, int], message: str
) -> None:
    """F25: nothing waits for what cannot come."""
    with pytest.raises(ConfigurationError, match=message):
        started(small("matrix/climbing", **options))


def test_a_loss_that_is_not_finite_stops_with_agent_and_step() -> None:
    """F29. The last good parameters stay."""

    system = small("matrix/climbing", learning_rate=1e10).replace("adam", max_gradient_norm=None)
    runner = started(system)
    with pytest.raises(
        DivergenceError, match=r"madqn_loss is not finite at trainer step \d+ .*for"
    ):
        runner.advance(400)
    assert np.isfinite(jax.tree.leaves(params(runner))[0]).all()


def test_parameters_that_are_not_finite_stop_at_once() -> None:
    system = small("matrix/climbing", learning_rate=1e38).replace("adam", max_gradient_norm=None)
    runner = started(system)
    with pytest.raises(DivergenceError, match=r"the parameters not finite at trainer step 1 "):
        runner.advance(100)
    assert runner.trainer_steps == 0
