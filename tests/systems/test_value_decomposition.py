"""VDN and QMIX: exact values of small games, probes, and what they share."""

from __future__ import annotations

import functools
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

from mava.components.networks.mixers import MonotonicMixer
from mava.components.trainers.trainer import HardTargetUpdate, SoftTargetUpdate
from mava.core.contexts import GroupContext
from mava.core.lifecycle import UpdateTargets
from mava.core.system import System, build
from mava.environments.matrix import RepeatedGame
from mava.errors import ConfigurationError, WiringError
from mava.functional.schedules import Linear
from mava.systems import qmix, vdn
from mava.testing.builders import learn_context
from mava.testing.toys import Const
from mava.topologies.single_process import SingleProcess
from tests.systems.solving import QUICK, evaluated
from tests.topologies.running import assert_equal, params, ran, started

slow = functools.partial(pytest.param, marks=pytest.mark.slow)
BOTH = pytest.mark.parametrize("make", [vdn, qmix], ids=lambda make: make.__name__)

QUICK_TEAM = {**{k: v for k, v in QUICK.items() if k != "target_period"}, "team_reward": "mean"}
RECURRENT: dict[str, Any] = {
    "recurrent": True,
    "num_environments": 2,
    "hidden_sizes": (16,),
    "memory_size": 16,
    "min_size": 128,
    "batch_size": 32,
    "sequence_length": 8,
    "period": 2,
    "update_every": 8,
    "learning_rate": 5e-3,
    "epsilon": Linear(1.0, 0.05, 1_000),
    "capacity": 10_000,
    "discount": 0.9,
}
EXACT: dict[str, Any] = {
    "num_environments": 8,
    "hidden_sizes": (64,),
    "epsilon": 1.0,
    "min_size": 256,
    "batch_size": 128,
    "update_every": 8,
    "learning_rate": Linear(2e-3, 0.0, 900),
    "capacity": 10_000,
    "discount": 0.99,
}


def quick(make: Any, environment: Any, **options: Any) -> System:
    system: System = make(environment, **{**QUICK_TEAM, **options})
    return system.replace("hard_target_update", period=options.get("target_period", 50))


def q_total(system: System, runner: SingleProcess, observation: Any, state: Any) -> np.ndarray:
    """``Q_tot`` of every joint action of two agents that observe the same, ``[A, A]``."""
    program = runner.program
    (group,), (seen,) = program.spec.groups, program.network_spec.groups
    held = runner._learner.params
    shown = jnp.broadcast_to(jnp.asarray(observation, jnp.float32), (2, len(observation)))
    shown = system["agent_ids"].transform_observation(shown, GroupContext(group, ()))
    q, _ = system["q_network"].score(held, shown, (), GroupContext(seen, ()))
    first, second = jnp.meshgrid(jnp.arange(q.shape[1]), jnp.arange(q.shape[1]), indexing="ij")
    values = {group.name: jnp.stack([q[0][first], q[1][second]], axis=-1)}
    lead = first.shape
    batch = {
        "observation": {group.name: jnp.broadcast_to(shown, (*lead, *shown.shape))},
        "state": jnp.broadcast_to(jnp.asarray(state, jnp.float32), (*lead, len(state))),
    }
    (mixer,) = (c for c in system if c.name.endswith("mixer"))
    context = learn_context(program.network_spec)
    return np.asarray(mixer.mix(held, values, batch, context))  # type: ignore[attr-defined]


def of_place(system: System, runner: SingleProcess, place: int) -> np.ndarray:
    return q_total(system, runner, np.eye(3)[place], np.eye(3)[place])


def exactly(make: Any, environment: Any, steps: int = 7_400) -> tuple[System, SingleProcess]:
    system = make(environment, **EXACT).replace("hard_target_update", period=50)
    return system, ran(system, steps)


@pytest.mark.slow
def test_two_step_vdn_fits_the_sum_and_takes_the_seven() -> None:
    """Uniform data, discount 0.99: Rashid et al. (2018), table 4."""
    system, runner = exactly(vdn, "matrix/two_step")
    assert evaluated(system, runner, 4).returns == (7.0,) * 4
    assert np.abs(of_place(system, runner, 2) - [[-1.5, 2.5], [2.5, 6.5]]).max() < 0.1
    assert np.abs(of_place(system, runner, 1) - 7.0).max() < 0.1


@pytest.mark.slow
def test_two_step_qmix_represents_both_states_and_takes_the_eight() -> None:
    """State 1 is worth 0.99 * 8 = 7.92 to whoever leads to 2B, and 0.99 * 7 = 6.93 otherwise."""
    system, runner = exactly(qmix, "matrix/two_step")
    assert evaluated(system, runner, 4).returns == (8.0,) * 4
    assert np.abs(of_place(system, runner, 2) - [[0.0, 1.0], [1.0, 8.0]]).max() < 0.1
    assert np.abs(of_place(system, runner, 1) - 7.0).max() < 0.1
    assert np.abs(of_place(system, runner, 0) - [[6.93, 6.93], [7.92, 7.92]]).max() < 0.1


@pytest.mark.slow
def test_a_payoff_that_qmix_represents_and_vdn_cannot() -> None:
    """Monotonic, but no sum: the best sum misses each entry by half."""
    payoff = ((0.0, 0.0), (0.0, 2.0))
    game = functools.partial(RepeatedGame, "matrix/and", payoff, 1)
    fits = {}
    for make in (vdn, qmix):
        system = make(game, **{**EXACT, "discount": 0.0})
        fits[make] = q_total(system, ran(system, 7_400), [1.0], [1.0])
    assert np.abs(fits[qmix] - payoff).max() < 0.1
    assert np.abs(fits[vdn] - [[-0.5, 0.5], [0.5, 1.5]]).max() < 0.2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("make", "probe", "options"),
    [
        (qmix, "own_action_decides", {"sharing": "none", "n_step": 3, "prioritised": True}),
        (vdn, "delayed_reward", {"n_step": 3, "num_environments": 1}),
    ],
)
def test_options_keep_the_best_greedy_episodes(make: Any, probe: str, options: Any) -> None:
    system = quick(make, f"probe/{probe}", **options)
    assert evaluated(system, ran(system, 1_600), 16).returns == (1.0,) * 16


@pytest.mark.parametrize(
    ("make", "environment", "value", "options"),
    [
        slow(qmix, "probe/truncation", 10.0, {}),
        slow(qmix, "probe/termination", 1.0, {}),
        slow(vdn, functools.partial(Const, True), 10.0, {}),
        slow(qmix, functools.partial(Const, True, length=2), 10.0, {"n_step": 3}),
        slow(vdn, functools.partial(Const, False), 1.0, {}),
    ],
)
def test_f15_a_cut_team_is_worth_what_follows_and_a_terminal_one_its_reward(
    make: Any, environment: Any, value: float, options: dict[str, Any]
) -> None:
    fast = {"updates": 4, "target_period": 10, "learning_rate": 5e-3}
    target = fast.pop("target_period")
    system = quick(make, environment, **fast, **options)
    system = system.replace("hard_target_update", period=target)
    runner = ran(system, 1_200)
    state = [1.0, 1.0] if make is vdn else []
    total = q_total(system, runner, [1.0], state)
    assert np.abs(total - value).max() < 0.5


@pytest.mark.slow
def test_f16_targets_of_sequences_that_end_in_mid_episode_stay_bounded() -> None:
    """A constant reward of 1 at discount 0.9: no target leaves ``[0, 10]``."""
    system = qmix(
        functools.partial(Const, True, length=11),
        **{**RECURRENT, "sequence_length": 4, "period": 4},
    )
    runner = started(system)
    for until in range(200, 1_401, 200):
        report = runner.advance(until)
        for loss in report.metrics.get("value_decomposition_loss/loss", ()):
            assert loss < 1e3
        for mean in report.metrics.get("value_decomposition_loss/mean_q_total", ()):
            assert -2.0 < mean < 10.5


@BOTH
def test_f10_actions_that_are_no_choice_are_refused(make: Any) -> None:
    with pytest.raises(WiringError, match=r"q_network values Discrete actions.*agent_0, agent_1"):
        build(make("probe/continuous_target"))


@pytest.mark.slow
@BOTH
@pytest.mark.parametrize("recurrent", [False, True])
def test_f5_groups_of_other_sizes_make_one_team(make: Any, recurrent: bool) -> None:
    program = build(make("probe/two_groups", recurrent=recurrent))
    assert [g.num_agents for g in program.spec.groups] == [1, 2]


def test_qmix_is_vdn_with_another_mixer_and_its_state() -> None:
    options: dict[str, Any] = {"hidden_sizes": (8,), "learning_rate": 1e-3}
    plain, other = vdn("matrix/two_step", **options), qmix("matrix/two_step", **options)
    swapped = plain.with_(MonotonicMixer()).with_(other["record_state"], after="record_transition")
    assert swapped.components == other.components
    joined = qmix("matrix/two_step", state="observations", **options)
    assert plain.with_(MonotonicMixer(state="observations")).components == joined.components


def test_a_state_that_is_not_there_or_not_recorded_is_refused() -> None:
    with pytest.raises(WiringError, match="monotonic_mixer needs the environment's global state"):
        build(qmix("probe/two_groups", state="environment"))
    with pytest.raises(WiringError, match=r"no component records it; add RecordState\(\)"):
        build(vdn("matrix/two_step").with_(MonotonicMixer()))
    build(qmix("probe/two_groups"))


@pytest.mark.parametrize("make", [vdn, qmix])
@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, HardTargetUpdate(period=200)),
        ({"target_period": 7}, HardTargetUpdate(period=7)),
        ({"target_rate": 0.1}, SoftTargetUpdate(rate=0.1)),
        ({"recurrent": True}, SoftTargetUpdate(rate=0.005)),
        ({"recurrent": True, "target_period": 7}, HardTargetUpdate(period=7)),
        ({"recurrent": True, "target_rate": 0.1}, SoftTargetUpdate(rate=0.1)),
    ],
)
def test_targets_move_as_asked(make: Any, options: dict[str, Any], expected: Any) -> None:
    assert make("matrix/two_step", **options)[UpdateTargets] == expected


def test_two_ways_of_moving_targets_are_refused() -> None:
    with pytest.raises(ConfigurationError, match=r"target_period is 7 and target_rate 0\.1"):
        qmix("matrix/two_step", target_period=7, target_rate=0.1)


def test_a_burn_in_goes_before_sequences() -> None:
    program = build(qmix("matrix/two_step", recurrent=True, burn_in=3))
    assert program.plan.sequence_length == 20 + 3


def test_returns_over_several_steps_are_refused_with_memory() -> None:
    with pytest.raises(WiringError, match="the network has memory"):
        build(vdn("matrix/two_step", recurrent=True, n_step=3))


@pytest.mark.slow
@pytest.mark.parametrize(("make", "recurrent"), [(vdn, False), (qmix, True)])
def test_one_seed_gives_one_run_and_a_resumed_one_goes_on(make: Any, recurrent: bool) -> None:
    options: dict[str, Any] = {**RECURRENT, "recurrent": recurrent, "min_size": 64}
    system = make("probe/two_groups", **options)
    whole, stopped = ran(system, 200), ran(system, 120)
    assert stopped.trainer_steps > 0
    resumed = started(system)
    assert resumed.restore(stopped.state()) == []
    resumed.advance(200)
    assert_equal(whole.state().arrays, resumed.state().arrays)
    assert not set(params(whole)) & {"mixer"}, "nobody needs the mixer to act"
