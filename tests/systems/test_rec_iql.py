"""Recurrent IQL: memory solves what nothing else can, and is reset exactly at starts."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mava.components.networks.recurrent_q_network import RecurrentQNetwork
from mava.core.system import System, build
from mava.errors import WiringError
from mava.functional.schedules import Linear
from mava.systems import madqn, rec_iql
from mava.testing.builders import environment_spec, group_context, group_spec
from tests.systems.solving import evaluated
from tests.topologies.running import assert_equal, params, ran, started, stored

SMALL: dict[str, Any] = {
    "num_environments": 2,
    "torso_sizes": (16,),
    "memory_size": 16,
    "head_sizes": (),
    "min_size": 128,
    "sequence_length": 8,
    "period": 2,
    "update_every": 8,
    "learning_rate": 5e-3,
    "target_rate": 0.02,
    "epsilon": Linear(1.0, 0.05, 1_000),
    "capacity": 10_000,
    "discount": 0.9,
}


def small(environment: Any = "probe/hidden_cue", **options: Any) -> System:
    return rec_iql(environment, **{**SMALL, **options})


@pytest.mark.slow
@pytest.mark.parametrize("sharing", ["shared", "none"])
def test_it_remembers_a_cue(sharing: str) -> None:
    system = small(sharing=sharing)
    assert evaluated(system, ran(system, 1_600)).mean_return == 1.0


@pytest.mark.slow
def test_without_memory_the_cue_is_lost() -> None:
    system = madqn("probe/hidden_cue", min_size=128, epsilon=Linear(1.0, 0.05, 1_000))
    assert evaluated(system, ran(system, 1_600), episodes=64).mean_return < 0.8


@pytest.mark.slow
@pytest.mark.parametrize("sharing", ["shared", "none", {"a_0": "x", "a_1": "y", "a_2": "x"}])
def test_unrolled_scores_are_those_of_acting(sharing: Any) -> None:
    """F18: two episodes of 4 and 6 steps in one sequence; the second equals itself run alone."""
    group = group_spec(3, (2,), 4, name="a")
    network = RecurrentQNetwork(torso_sizes=(5,), memory_size=3, head_sizes=(4,), sharing=sharing)
    held = network.init_params(jax.random.key(0), environment_spec(group))
    context = group_context(group)
    x = jax.random.normal(jax.random.key(1), (1, 10, 3, 2))
    start = jnp.asarray([[True, *[False] * 3, True, *[False] * 5]])
    initial = network.init_memory(group)
    unrolled, memories = network.unroll(held, x, start, initial[None] + 7.0, context)
    memory = initial
    for t in range(10):
        memory = initial if start[0, t] else memory
        scores, memory = network.score(held, x[0, t], memory, context)
        np.testing.assert_allclose(unrolled[0, t], scores, atol=1e-6)
        np.testing.assert_allclose(memories[0, t], memory, atol=1e-6)
    alone, _ = network.unroll(held, x[:, 4:], start[:, 4:], initial[None], context)
    np.testing.assert_allclose(unrolled[:, 4:], alone, atol=1e-6)


@pytest.mark.slow
def test_stored_memory_is_what_each_step_was_acted_with() -> None:
    system = small(min_size=64)
    runner = ran(system, 40)  # before the first trainer step: one set of parameters throughout
    found = stored(runner, 40)
    memory = found["memory"]["score"]["agents"]
    assert (memory[found["start"]] == 0.0).all()
    assert (memory[~found["start"]] != 0.0).any(axis=-1).all()
    program = runner.program
    network, (group,) = system["recurrent_q_network"], program.network_spec.groups
    observation = jax.vmap(lambda o: program_transform(system, program, o))(
        found["observation"]["agents"]
    )
    _, after = network.unroll(
        params(runner), observation, found["start"], memory[:, 0], group_context(group)
    )
    follows = ~found["start"][:, 1:]
    np.testing.assert_allclose(
        memory[:, 1:][follows], np.asarray(after)[:, :-1][follows], atol=1e-5
    )


def program_transform(system: System, program: Any, observation: Any) -> Any:
    (group,) = program.spec.groups
    return system["agent_ids"].transform_observation(observation, group_context(group))


@pytest.mark.slow
def test_one_seed_gives_one_run() -> None:
    first, second = ran(small(), 160), ran(small(), 160)
    assert first.trainer_steps > 0
    assert_equal(first.state().arrays, second.state().arrays)


@pytest.mark.slow
def test_a_resumed_run_goes_on_to_the_bit() -> None:
    whole, stopped = ran(small(), 200), ran(small(), 150)
    resumed = started(small())
    assert resumed.restore(stopped.state()) == []
    resumed.advance(200)
    assert_equal(whole.state().arrays, resumed.state().arrays)


def test_returns_over_several_steps_are_refused() -> None:
    system = small().replace("n_step_return", steps=3)
    with pytest.raises(WiringError, match="the network has memory"):
        build(system)


@pytest.mark.slow
@pytest.mark.parametrize(
    "options", [{"burn_in": 2}, {"stored_memory": False, "burn_in": 3, "prioritised": True}]
)
def test_it_remembers_with_a_burn_in(options: dict[str, Any]) -> None:
    system = small(**options)
    assert evaluated(system, ran(system, 2_000)).mean_return == 1.0
