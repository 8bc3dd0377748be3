"""The compiled topology: the run of a single process, to the step, in one program."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import mava
from mava.core.system import System
from mava.environments import make
from mava.errors import ConfigurationError, DivergenceError, EnvironmentFault
from mava.launcher.policy import random_policy
from mava.topologies.base import policy_of
from mava.topologies.compiled import Compiled
from mava.topologies.compiled.episodes import CompiledEpisodes
from mava.topologies.host_episodes import HostEpisodes
from mava.types import PyTree
from tests.systems.every import ON_POLICY, RECURRENT, VARIANTS, every
from tests.topologies.breaking import Breaks, Exploding
from tests.topologies.running import assert_equal, ran, small


def compiled(system: System, steps: int, seed: int = 0, **options: Any) -> Compiled:
    runner = Compiled(system, seed, **options)
    runner.start(lambda text: None)
    runner.advance(steps)
    return runner


def assert_close(one: PyTree, other: PyTree, tolerance: float = 1e-5) -> None:
    jax.tree.map(
        lambda x, y: np.testing.assert_allclose(x, y, atol=tolerance, rtol=tolerance), one, other
    )


def environment_of(variant: str) -> str:
    """One with termination for replay, one with random resets for memory."""
    return "probe/hidden_cue" if variant in RECURRENT else "probe/own_action_decides"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("variant", "environments"), [*((name, 1) for name in VARIANTS), ("rec_qmix", 4), ("ippo", 4)]
)
def test_it_is_the_run_of_a_single_process(variant: str, environments: int) -> None:
    if variant in ON_POLICY:
        options: dict[str, Any] = {"minibatches": 1, "epochs": 2}
    else:
        options = {"min_size": 64, "batch_size": 4, "update_every": 16}
    system = every(variant, environment_of(variant), num_environments=environments, **options)
    steps = 64 + 16 * 4 * environments
    here = ran(system, 0, seed=3)
    report = here.advance(steps)
    there = Compiled(system, seed=3)
    there.start(lambda text: None)
    found = there.advance(steps)
    assert there.trainer_steps == here.trainer_steps > 2
    assert there.episodes == here.episodes > 0
    assert found.lengths == report.lengths
    np.testing.assert_allclose(found.returns, report.returns, rtol=1e-6)  # so all actions
    assert found.metrics.keys() == report.metrics.keys()
    for name, values in report.metrics.items():
        np.testing.assert_allclose(found.metrics[name], values, atol=1e-4, rtol=1e-3)
    assert_close(there.variables(), here.variables())


@pytest.mark.slow
@pytest.mark.parametrize(
    "options", [{"num_environments": 3}, {"prioritised": True, "n_step": 2, "num_environments": 2}]
)
def test_trainer_steps_follow_environment_steps_exactly(options: dict[str, Any]) -> None:
    system = small("matrix/two_step", min_size=16, update_every=5, updates=2, **options)
    here, there = ran(system, 0), compiled(system, 0)
    for until in (1, 3, 15, 16, 17, 30, 31, 60):
        here.advance(until)
        there.advance(until)
        assert there.environment_steps == here.environment_steps <= until
        assert there.trainer_steps == here.trainer_steps
    assert_close(there.variables(), here.variables())
    # The division into calls changed nothing either.
    assert_equal(compiled(system, 60).state().arrays["learner"], there.state().arrays["learner"])


@pytest.mark.slow
@pytest.mark.parametrize("variant", ["rec_iql", "rec_ippo"])
def test_it_goes_on_from_its_state_to_the_bit(variant: str) -> None:
    system = every(variant, "probe/hidden_cue")
    whole, first = compiled(system, 300), compiled(system, 148)
    saved = jax.tree.map(lambda x: np.asarray(x) if not _is_key(x) else x, first.state().arrays)
    second = Compiled(system, seed=0)
    second.start(lambda text: None)
    assert second.restore(dataclasses.replace(first.state(), arrays=saved)) == []
    second.advance(300)
    assert_equal(_plain(whole.state().arrays), _plain(second.state().arrays))
    assert (second.trainer_steps, second.episodes) == (whole.trainer_steps, whole.episodes)


def _is_key(x: Any) -> bool:
    return bool(jnp.issubdtype(x.dtype, jax.dtypes.prng_key))


def _plain(tree: PyTree) -> PyTree:
    return jax.tree.map(lambda x: jax.random.key_data(x) if _is_key(x) else x, tree)


@pytest.mark.slow
@pytest.mark.parametrize("variant", ["rec_iql", "mappo"])
def test_four_seeds_are_four_runs(variant: str) -> None:
    system = every(variant, environment_of(variant))
    together = compiled(system, 300, seed=5, num_seeds=4)
    for index in (0, 3):
        alone = compiled(system, 300, seed=5 + index)
        one = jax.tree.map(lambda x, i=index: x[i], together.variables())
        assert_close(one, alone.variables())
        assert together.trainer_steps == alone.trainer_steps > 2


@pytest.mark.slow
@pytest.mark.parametrize(("variant", "devices"), [("ippo", 4), ("rec_mappo", 2)])
def test_devices_share_one_batch(variant: str, devices: int) -> None:
    """On policy all that was collected is the batch, whoever collected it."""
    options = {"minibatches": 1, "epochs": 3}
    system = every(variant, environment_of(variant), **options)
    one = compiled(system, 64 * 4)
    many = compiled(system, 64 * 4, num_devices=devices)
    assert many.trainer_steps == one.trainer_steps == 4
    assert many.episodes == one.episodes
    assert_close(many.variables().params, one.variables().params, 1e-4)


@pytest.mark.slow
def test_devices_draw_their_own_parts_of_a_batch() -> None:
    """Each transition that is there is drawn by the device that holds it."""
    system = every("madqn", "matrix/two_step", num_environments=8)
    runner = compiled(system, 400, num_devices=2)
    assert runner.environment_steps == 400
    assert runner.trainer_steps == compiled(system, 400).trainer_steps
    states = runner.state().arrays["place"].worlds.episode
    assert states.shape == (2, 4)
    assert len({str(shard.device) for shard in states.addressable_shards}) == 2


@pytest.mark.slow
def test_total_steps_counts_all_devices_and_environments() -> None:
    """5 devices of 5 environments, rollouts of 2 and a total of 100: exactly two updates."""
    options = {"num_environments": 25, "rollout_length": 2, "minibatches": 1, "epochs": 1}
    system = every("ippo", "matrix/climbing", **options)
    for devices in (1, 5):
        runner = compiled(system, 100, num_devices=devices)
        assert runner.environment_steps == 100
        assert runner.trainer_steps == 2


def test_what_cannot_be_placed_is_refused() -> None:
    system = small("matrix/climbing", num_environments=4, batch_size=8)
    for options, message in (
        ({"num_devices": 3}, "num_environments is 4, which 3 devices cannot share evenly"),
        ({"num_devices": 1000}, r"num_devices is 1000, and JAX has 8 cpu device"),
        ({"num_devices": 0}, "num_devices is 0"),
        ({"num_seeds": 0}, "num_seeds is 0"),
    ):
        with pytest.raises(ConfigurationError, match=message):
            Compiled(system, 0, **options)
    uneven = small("matrix/climbing", num_environments=4, batch_size=6)
    with pytest.raises(ConfigurationError, match=r"batch_size is 6, which 4 devices"):
        Compiled(uneven, 0, num_devices=4)


def test_an_environment_of_the_host_is_refused_with_the_remedy() -> None:
    with pytest.raises(ConfigurationError, match=r"stepped by the host.*single_process"):
        mava.launch(small("mpe2/simple_spread_v3"), "compiled", total_steps=100)


@pytest.mark.slow
def test_a_number_that_is_none_names_environment_agent_and_leaf() -> None:
    with pytest.raises(EnvironmentFault, match=r"environment 0.*step 6.*agent_1.*reward"):
        compiled(small(Breaks, num_environments=2), 40)
    with pytest.raises(EnvironmentFault, match=r"evaluation.*agent_1.*reward"):
        CompiledEpisodes(Breaks()).run(random_policy(Breaks().spec), 2, seed=0)


@pytest.mark.slow
def test_divergence_names_trainer_step_and_agent() -> None:
    system = small("matrix/climbing").with_(Exploding())
    runner = compiled(system, 0)
    with pytest.raises(
        DivergenceError, match=r"not finite at trainer step 3 \(environment step 24\) for agent_1"
    ):
        runner.advance(100)


@pytest.mark.slow
def test_evaluation_plays_the_episodes_of_the_host() -> None:
    system = every("rec_iql", "probe/hidden_cue")
    runner = compiled(system, 200)
    policy = policy_of(runner.program, runner.variables())
    host = HostEpisodes(lambda: make("probe/hidden_cue")).run(policy, 7, seed=4)
    for width in (2, 128):
        episodes = CompiledEpisodes(make("probe/hidden_cue"), most_environments=width)
        found = episodes.run(policy, 7, seed=4)
        np.testing.assert_array_equal(found.lengths, host.lengths)
        assert_close(found.agent_returns, host.agent_returns)


@pytest.mark.slow
def test_a_run_by_launch_is_that_of_a_single_process() -> None:
    system = every("vdn", "matrix/two_step").replace("evaluator", every=100, episodes=4)
    there = mava.launch(system, "compiled", total_steps=300)
    here = mava.launch(system, total_steps=300)
    assert [e.step for e in there.evaluations] == [e.step for e in here.evaluations]
    for one, other in zip(there.evaluations, here.evaluations, strict=True):
        np.testing.assert_allclose(one.returns, other.returns, rtol=1e-5)
    assert there.trainer_steps == here.trainer_steps
    assert there.episodes == here.episodes


@pytest.mark.slow
def test_seeds_trained_together_are_launched_evaluated_and_resumed(tmp_path: Path) -> None:
    system = every("vdn", "matrix/climbing").replace("evaluator", every=100, episodes=3)
    options: dict[str, Any] = {"num_seeds": 2, "seed": 7, "checkpoint_every": 100}
    whole = mava.launch(system, "compiled", total_steps=200, run_dir=tmp_path / "a", **options)
    alone = [mava.launch(system, "compiled", total_steps=200, seed=seed) for seed in (7, 8)]
    for index, one in enumerate(alone):
        for together, evaluation in zip(whole.evaluations, one.evaluations, strict=True):
            assert together.seeds[index].step == evaluation.step
            np.testing.assert_allclose(together.seeds[index].returns, evaluation.returns)
    assert (whole.environment_steps, whole.trainer_steps) == (200, alone[0].trainer_steps)
    assert whole.episodes == np.mean([one.episodes for one in alone])

    mava.launch(system, "compiled", total_steps=100, run_dir=tmp_path / "b", **options)
    resumed = mava.launch(
        system, "compiled", total_steps=200, run_dir=tmp_path / "b", resume=True, **options
    )
    assert resumed.evaluations == whole.evaluations
    finished = mava.launch(
        system, "compiled", total_steps=200, run_dir=tmp_path / "b", resume=True, **options
    )
    assert finished.wall_seconds == resumed.wall_seconds  # its record, not another run
    assert_equal(finished.policy.act_function.variables, resumed.policy.act_function.variables)
    for run in ("a", "b"):
        policy = mava.load_policy(tmp_path / run, seed_index=1)
        timestep = make("matrix/climbing").reset(jax.random.key(0))[1]
        assert policy(timestep)["agents"].shape == (2,)
    with pytest.raises(ConfigurationError, match=r"seed_index is 2.*holds 2 run"):
        mava.load_policy(tmp_path / "a", seed_index=2)
    with pytest.raises(ConfigurationError, match=r"the num_seeds was 2, is 1"):
        mava.launch(
            system, "compiled", total_steps=300, seed=7, run_dir=tmp_path / "b", resume=True
        )
