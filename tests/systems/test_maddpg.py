"""MADDPG, MATD3 and DDPG alone: what the tests of every system do not show."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest
from gymnasium import spaces

from mava.components.executors.executor import RecordMemory
from mava.components.exploration.action_noise import OrnsteinUhlenbeckNoise
from mava.components.trainers.trainer import SoftTargetUpdate
from mava.core.system import System, build
from mava.environments import as_factory
from mava.errors import WiringError
from mava.systems import SYSTEMS, maddpg, matd3
from mava.testing.builders import batch
from mava.testing.toys import Spaces
from tests.faults.collecting import collected
from tests.systems.solving import evaluated
from tests.topologies.running import assert_equal, differs, params, ran, started, stored

QUICK: dict[str, Any] = {
    "num_environments": 4,
    "min_size": 256,
    "random_steps": 400,
    "batch_size": 64,
    "update_every": 8,
    "updates": 2,
    "actor_learning_rate": 2e-3,
    "critic_learning_rate": 1e-2,
    "target_rate": 0.05,
    "hidden_sizes": (32, 32),
    "capacity": 10_000,
    "discount": 0.9,
}
TINY = {**QUICK, "min_size": 16, "batch_size": 8, "hidden_sizes": (4,), "capacity": 200}


def quick(name: str, environment: Any, **options: Any) -> System:
    return SYSTEMS[name](environment, **{**QUICK, **options})


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"sharing": "none", "centralised": False}])
def test_each_of_two_opposed_groups_learns_its_own_reward(options: dict[str, Any]) -> None:
    system = quick("maddpg", "probe/opposed_groups", **options)
    returns = evaluated(system, ran(system, 1_200)).agent_returns
    assert {group: set(found) for group, found in returns.items()} == {
        "seekers": {1.0},
        "hiders": {-0.5},
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "options"),
    [("maddpg", {"n_step": 2, "sharing": "none"}), ("matd3", {"n_step": 2})],
)
def test_returns_of_several_steps(name: str, options: dict[str, Any]) -> None:
    system = quick(name, "probe/delayed_reward", **options)
    assert evaluated(system, ran(system, 1_200)).returns == (1.0,) * 16


@pytest.mark.slow
@pytest.mark.parametrize("name", ["maddpg", "matd3"])
def test_correlated_noise_finds_a_continuous_target(name: str) -> None:
    options = {"hidden_sizes": (64, 64), "updates": 4}
    system = quick(name, "probe/continuous_target", **options).with_(OrnsteinUhlenbeckNoise())
    assert evaluated(system, ran(system, 1_600)).mean_return > -0.1


def correlated(name: str = "maddpg") -> System:
    system = SYSTEMS[name]("probe/continuous_target", **TINY)
    return system.with_(OrnsteinUhlenbeckNoise(), RecordMemory())


@pytest.mark.slow
def test_a_resumed_run_goes_on_to_the_bit() -> None:
    whole, stopped = ran(correlated("matd3"), 200), ran(correlated("matd3"), 152)
    resumed = started(correlated("matd3"))
    assert resumed.restore(stopped.state()) == []
    resumed.advance(200)
    assert whole.trainer_steps > 0
    assert_equal(whole.state().arrays, resumed.state().arrays)


def test_noise_begins_anew_with_each_episode() -> None:
    factory = as_factory(Spaces, observations={"a": BOX}, actions={"a": BOX})
    system = maddpg(factory, **TINY).with_(OrnsteinUhlenbeckNoise(), RecordMemory())
    held = stored(collected(system, 80), 80)
    noise, start = held["memory"]["select_action"]["agents"], held["start"]
    assert (noise[start] == 0.0).all()
    assert (noise[~start] != 0.0).all()


BOX = spaces.Box(-1.0, 1.0, (2,), np.float32)


@pytest.mark.slow
def test_actors_and_targets_stand_still_between_delayed_updates() -> None:
    runner = started(matd3("probe/agreement", **{**TINY, "updates": 1, "actor_every": 3}))
    runner.advance(16)
    for update in range(2, 8):
        before = runner.state().arrays["learner"]
        runner.advance(runner.environment_steps + 8)
        after = runner.state().arrays["learner"]
        assert int(after.updates) == update
        moved = update % 3 == 0
        assert differs(before.params["actor"], after.params["actor"]) == moved
        assert differs(before.target_params, after.target_params) == moved
        assert differs(before.params["critic"], after.params["critic"])
        steps = after.optimiser["adam_actor"].inner
        assert differs(before.optimiser["adam_actor"].inner, steps) == moved


def test_f12_actions_without_bounds_are_refused_at_build() -> None:
    endless = spaces.Box(-np.inf, np.inf, (6,), np.float32)
    factory = as_factory(Spaces, observations={"arm": BOX}, actions={"arm": endless})
    with pytest.raises(WiringError, match=r"actor_network scales.*agents arm\).*finite bounds"):
        build(maddpg(factory))


@pytest.mark.slow
def test_targets_that_are_read_and_not_kept_are_refused_at_build() -> None:
    system = maddpg("probe/continuous_target").with_(SoftTargetUpdate(targets=("critic",)))
    with pytest.raises(
        WiringError,
        match=r"^ddpg_critic_loss reads the target parameters 'actor', but soft_target_update "
        r"keeps targets of 'critic' alone; add the set to its field targets, or set that to None",
    ):
        build(system)


def test_f12_images_with_continuous_actions_train_and_are_stored_in_their_bytes() -> None:
    image = spaces.Box(0, 255, (6, 5, 3), np.uint8)
    factory = as_factory(
        Spaces, observations={"a": image, "b": image}, actions={"a": BOX, "b": BOX}
    )
    runner = ran(maddpg(factory, **TINY), 40)
    assert runner.trainer_steps > 0
    held = stored(runner, 40)
    assert held["observation"]["agents"].dtype == np.uint8
    assert held["observation"]["agents"].nbytes == 40 * 2 * 6 * 5 * 3
    assert np.abs(held["action"]["agents"]).max() <= 1.0
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(params(runner)))


@pytest.mark.slow
def test_f19_rows_of_dead_agents_change_nothing() -> None:
    """Whatever they hold, in every field that is recorded of an agent."""
    program = build(matd3("probe/two_groups", **{**TINY, "batch_size": 4}))
    learner = program.init_learner(jax.random.key(0))
    fields = {k: v for k, v in batch(program.spec, length=1).items() if k != "importance_weight"}
    fields.pop("discount")
    dead = {name: ~alive for name, alive in fields["alive"].items()}
    assert all(flags.any() for flags in dead.values())
    learn = jax.jit(program.learn)
    found = []
    for junk in (0.0, 1e6, np.nan):
        spoilt = dict(fields)
        for field in ("observation", "next_observation", "reward"):
            spoilt[field] = {
                n: jax.numpy.where(dead[n].reshape(*dead[n].shape, *[1] * (x.ndim - 3)), junk, x)
                for n, x in fields[field].items()
            }
        found.append(learn(learner, spoilt, jax.random.key(1))[0].params)
    assert_equal(found[0], found[1])
    assert_equal(found[0], found[2])
    assert differs(found[0], learner.params)
