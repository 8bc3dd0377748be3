"""Runs of IPPO and MAPPO: what is recorded, resumed, refused, and never done."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest
from gymnasium import spaces

from mava.components.batches.rewards import RewardScaling
from mava.components.networks.observation_normaliser import ObservationNormaliser
from mava.core.system import System, build
from mava.core.unrolling import unroll_scores
from mava.environments import as_factory
from mava.errors import WiringError
from mava.functional.distributions import distribution_of
from mava.systems import ippo, mappo
from mava.testing.toys import Masked, Spaces
from mava.topologies.single_process import SingleProcess
from tests.faults.collecting import Kept
from tests.systems.solving import evaluated
from tests.topologies.running import assert_equal, params, ran, started

SMALL: dict[str, Any] = {
    "num_environments": 2,
    "rollout_length": 8,
    "epochs": 2,
    "minibatches": 2,
    "hidden_sizes": (8,),
    "memory_size": 4,
    "learning_rate": 1e-2,
}


def small(environment: Any = "probe/hidden_cue", kind: Any = mappo, **options: Any) -> System:
    system: System = kind(environment, **{**SMALL, **options})
    return system


def waiting(runner: SingleProcess) -> Any:
    """What was collected since the last trainer step: fields ``[E, T, ...]``."""
    fields = jax.vmap(jax.vmap(runner.program.record))(runner.state().extra["rollout"])
    return jax.tree.map(lambda x: np.swapaxes(np.asarray(x), 0, 1), fields)


@pytest.mark.slow
@pytest.mark.parametrize("recurrent", [False, True])
def test_f18_training_computes_the_log_probabilities_that_acting_recorded(recurrent: bool) -> None:
    """Before the first trainer step there is one set of parameters, over episodes of 4 steps."""
    system = small(recurrent=recurrent, rollout_length=12)
    runner = ran(system, 22)
    batch, program = waiting(runner), runner.program
    assert batch["start"].sum() == 6
    acting = program.act.__self__  # type: ignore[attr-defined]
    scores = unroll_scores(acting, params(runner), batch, {}).scores["agents"]
    (group,) = program.network_spec.groups
    policy = distribution_of(group.actions, scores, batch["legal_actions"]["agents"], "")
    np.testing.assert_allclose(
        policy.log_prob(batch["action"]["agents"]),
        batch["extras"]["agents"]["log_prob"],
        atol=1e-5,
    )


@pytest.mark.slow
@pytest.mark.parametrize("recurrent", [False, True])
def test_the_first_gradient_step_meets_the_policy_that_acted(recurrent: bool) -> None:
    """Though every batch moves the moments by which observations are normalised, and with it the
    units of values."""
    one_step = {"epochs": 1, "minibatches": 1, "sequence_length": 4}
    system = small(recurrent=recurrent, **one_step)
    network = "recurrent_policy_network" if recurrent else "policy_network"
    system = system.replace(network, head_gain=1.0)
    runner = started(system.with_(ObservationNormaliser(), before="agent_ids"))
    for round in range(1, 4):
        metrics = runner.advance(16 * round).metrics
        (kl,) = metrics["ppo_loss/approx_kl"]
        assert abs(kl) < 1e-6
        assert tuple(metrics["ppo_loss/clip_fraction"]) == (0.0,)
    moments = runner.variables().components["observation_normaliser"]["agents"]
    assert np.abs(np.asarray(moments.variance) - 1.0).max() > 0.1


@pytest.mark.slow
def test_a_resumed_run_goes_on_to_the_bit() -> None:
    system = small(recurrent=True, sequence_length=4, max_kl=0.02)
    whole, stopped = ran(system, 72), ran(system, 40)
    assert whole.trainer_steps == 4
    resumed = started(system)
    assert resumed.restore(stopped.state()) == []
    resumed.advance(72)
    assert_equal(whole.state().arrays, resumed.state().arrays)


@pytest.mark.slow
def test_f9_the_mask_counts_from_the_first_action() -> None:
    masked = Kept(Masked, "observation", num_actions=5, action_start=-1)
    system = small(masked, ippo)
    ran(system, 100)
    given = {a for actions in masked.made[0].actions for a in actions.values()}
    assert given == set(range(-1, 4))


@pytest.mark.slow
def test_f10_several_choices_at_once_are_learned() -> None:
    """Every agent is paid the share of its three choices that are the last of their range."""
    system = small("probe/choices", ippo, num_environments=8)
    assert evaluated(system, ran(system, 2_000), 8).mean_return == 1.0


@pytest.mark.slow
def test_f33_rewards_a_thousand_times_as_large_train_the_same_policy() -> None:
    """But for rounding, which grows with training."""
    plain = small("probe/observation_decides", kind=mappo)
    scaled = plain.with_(RewardScaling(scale=1_000.0), before="generalised_advantage")
    one, other = params(ran(plain, 64)), params(ran(scaled, 64))
    for a, b in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-3)


def test_f12_unbounded_actions_are_refused_at_build_unless_gaussian() -> None:
    box = spaces.Box(-1.0, 1.0, (2,))
    actions = {"arm": spaces.Box(-np.inf, np.inf, (6,))}
    factory = as_factory(Spaces, observations={"arm": box}, actions=actions)
    with pytest.raises(WiringError, match=r"sample_action squashes.*arm.*'gaussian'"):
        build(small(factory))
    build(small(factory, continuous="gaussian"))


@pytest.mark.slow
def test_one_seed_gives_one_run() -> None:
    first, second = ran(small(), 32), ran(small(), 32)
    assert_equal(first.state().arrays, second.state().arrays)
