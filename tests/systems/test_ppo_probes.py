"""IPPO and MAPPO solve the probe environments, each of which shows one kind of fault."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

from mava.components.batches.generalised_advantage import in_rewards
from mava.core.contexts import ValueContext, ValueInputs
from mava.core.system import System, build
from mava.errors import ConfigurationError, WiringError
from mava.systems import ippo, mappo
from mava.testing.toys import Const
from mava.topologies.single_process import SingleProcess
from tests.systems.solving import evaluated
from tests.topologies.running import params, ran

QUICK: dict[str, Any] = {
    "num_environments": 8,
    "rollout_length": 8,
    "epochs": 4,
    "minibatches": 2,
    "hidden_sizes": (16,),
    "learning_rate": 1e-2,
    "discount": 0.9,
}
MAPPED = {"agent_0": "odd", "agent_1": "even", "agent_2": "odd"}
slow = functools.partial(pytest.param, marks=pytest.mark.slow)


def trained(
    kind: Any, environment: Any, steps: int = 1_500, **options: Any
) -> tuple[System, SingleProcess]:
    system = kind(environment, **{**QUICK, **options})
    return system, ran(system, steps)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "probe", "options"),
    [
        (ippo, "observation_decides", {}),
        (mappo, "two_groups", {}),
        (ippo, "own_action_decides", {"sharing": "none", "max_kl": 0.05}),
        (mappo, "own_action_decides", {"sharing": MAPPED, "num_environments": 1}),
    ],
)
def test_every_greedy_episode_is_the_best_there_is(
    kind: Any, probe: str, options: dict[str, Any]
) -> None:
    if "num_environments" in options:
        options = {**options, "rollout_length": 64}
    system, runner = trained(kind, f"probe/{probe}", **options)
    evaluation = evaluated(system, runner)
    assert evaluation.returns == (1.0,) * 16
    assert set(sum(evaluation.agent_returns.values(), ())) == {1.0}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "chunks"),
    [(ippo, {}), (mappo, {"sequence_length": 8, "minibatches": 4, "learning_rate": 3e-3})],
)
def test_memory_solves_a_hidden_cue(kind: Any, chunks: dict[str, Any]) -> None:
    """The actor and the critic are recurrent; without memory the return is 1/2."""
    options = {"recurrent": True, "memory_size": 16, "rollout_length": 16, **chunks}
    system, runner = trained(kind, "probe/hidden_cue", 5_000, **options)
    assert evaluated(system, runner).mean_return == 1.0


@pytest.mark.slow
@pytest.mark.parametrize("continuous", ["tanh_normal", "gaussian"])
def test_a_continuous_target_is_reached(continuous: str) -> None:
    """The middle of the bounds gets -2.3."""
    options = {"continuous": continuous, "entropy_coefficient": 0.0}
    system, runner = trained(ippo, "probe/continuous_target", 4_000, **options)
    assert evaluated(system, runner, 4).mean_return > -0.05


def value_of_start(system: System, runner: SingleProcess) -> Any:
    """``[N]``, in units of rewards, of the timestep that training acts on next."""
    program, shown = runner.program, runner._environment.current
    observation = {n: x[0] for n, x in shown.observation.items()}
    variables = runner.variables()
    for transform in (c for c in system if c.name == "agent_ids"):
        for group in program.spec.groups:
            observation[group.name] = transform.transform_observation(
                observation[group.name], ValueContext(group, (), program.spec)
            )
    (critic,) = (c for c in system if c.name.endswith("value_network"))
    (group,) = program.network_spec.groups
    context = ValueContext(group, (), program.network_spec)
    held = {**params(runner), **runner._learner.params}
    values, _ = critic.value(held, ValueInputs(observation, None, None), (), context)
    statistics = variables.components["generalised_advantage"]
    return np.asarray(in_rewards(statistics[group.name] if statistics else None, values))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "environment", "value", "options"),
    [
        (ippo, "probe/truncation", 10.0, {}),
        (mappo, "probe/termination", 1.0, {"normalise_values": False}),
        (mappo, functools.partial(Const, True), 10.0, {"normalise_values": False}),
    ],
)
def test_f15_a_truncated_step_is_worth_what_follows_and_a_terminal_one_its_reward(
    kind: Any, environment: Any, value: float, options: dict[str, Any]
) -> None:
    system, runner = trained(kind, environment, 64 * 60, value_clip=None, **options)
    assert np.abs(value_of_start(system, runner) - value).max() < 0.5


def test_minibatches_that_do_not_divide_are_refused_at_build() -> None:
    with pytest.raises(ConfigurationError, match="minibatches is 7, which does not divide the 64"):
        build(ippo("probe/agreement", **{**QUICK, "minibatches": 7}))


def test_a_central_critic_needs_the_state_recorded() -> None:
    system = mappo("matrix/climbing", **QUICK)
    with pytest.raises(WiringError, match=r"is not recorded; add RecordState\(\)"):
        build(system.without("record_state"))
    build(mappo("matrix/climbing", state="observations", **QUICK))


def test_mappo_is_ippo_with_another_critic() -> None:
    mine, theirs = ippo("probe/agreement"), mappo("probe/agreement")
    different = {c.name for c in (*mine, *theirs) if c not in mine or c not in theirs}
    assert different == {"value_network", "central_value_network", "record_state"}
