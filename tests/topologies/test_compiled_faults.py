"""What a compiled run refuses, what it reports when something fails, and sizes at the limits."""

from __future__ import annotations

import dataclasses
import pathlib
from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mava.core.plans import Rounds
from mava.environments import make
from mava.environments.base import JaxEnvironment
from mava.environments.seeds import episode_seed
from mava.errors import ConfigurationError, EnvironmentFault
from mava.launcher.policy import random_policy
from mava.topologies.compiled import Compiled, log
from mava.topologies.compiled.cache import keep_compiled
from mava.topologies.compiled.environments import check_shapes
from mava.topologies.compiled.episodes import CompiledEpisodes
from mava.topologies.host_episodes import EVALUATION_STREAM, HostEpisodes
from mava.types import EnvironmentSpec, PyTree, TimeStep
from tests.topologies.running import ran, small


def started(system: Any, seed: int = 0, **options: Any) -> Compiled:
    runner = Compiled(system, seed, **options)
    runner.start(lambda text: None)
    return runner


@dataclasses.dataclass(frozen=True)
class Climbing(JaxEnvironment):
    """``matrix/climbing``, to be changed."""

    @property
    def spec(self) -> EnvironmentSpec:
        return make("matrix/climbing").spec

    def reset(self, key: jax.Array) -> tuple[PyTree, TimeStep]:
        return make("matrix/climbing").reset(key)

    def step(self, state: PyTree, actions: Mapping[str, jax.Array]) -> tuple[PyTree, TimeStep]:
        return make("matrix/climbing").step(state, actions)


@pytest.mark.slow
def test_chunks_without_a_trainer_step_report_what_the_others_did(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(log, "_MOST_ROWS", 5)
    system = small("matrix/climbing", min_size=16, update_every=9)
    found, expected = started(system).advance(60), ran(system, 0).advance(60)
    assert found.metrics.keys() == expected.metrics.keys()
    for name, values in expected.metrics.items():
        np.testing.assert_allclose(found.metrics[name], values, rtol=1e-4, atol=1e-5)
    assert found.lengths == expected.lengths


@pytest.mark.slow
def test_rounds_are_counted_up_to_the_largest_number_of_steps() -> None:
    runner = started(small("matrix/climbing", min_size=16, update_every=20))
    state, last = runner.state(), 2**31 - 1
    rounds = runner.program.rounds
    begin = last - 70
    runner.restore(
        dataclasses.replace(
            state, extra={**state.extra, "steps": begin, "updates": rounds.due(begin)}
        )
    )
    report = runner.advance(last)
    assert runner.environment_steps == last
    assert runner.trainer_steps == rounds.due(last)
    assert len(report.metrics["madqn_loss/loss"]) == rounds.due(last) - rounds.due(begin) > 2


@pytest.mark.slow
def test_a_round_that_never_comes_again_ends_no_run() -> None:
    runner = started(small("matrix/climbing", min_size=16, update_every=2**40))
    runner.advance(40)
    assert (runner.environment_steps, runner.trainer_steps) == (40, 1)


def test_a_log_is_bounded_over_environments_updates_and_seeds() -> None:
    every = Rounds(16, 4, 2)
    for environments, seeds in ((1, 1), (256, 1), (256, 128), (2**22, 2)):
        steps, updates = log.sizes_of(every, environments, seeds)
        assert steps * environments * seeds <= max(2**20, environments * seeds)
        most = max(due_in(every, begin, steps * environments) for begin in range(40))
        assert most <= updates
    assert log.sizes_of(every, 2**22).steps == 1
    assert log.sizes_of(Rounds(16, 4, 2), 1).steps == 4096


def due_in(rounds: Rounds, begin: int, steps: int) -> int:
    return rounds.due(begin + steps) - rounds.due(begin)


@dataclasses.dataclass(frozen=True)
class BadReset(Climbing):
    """Shows the first agent NaN at the reset of one seed, or pays its second NaN in all steps."""

    seed: int
    pays: bool = False

    def reset(self, key: jax.Array) -> tuple[PyTree, TimeStep]:
        wanted = jax.random.key_data(jax.random.key(self.seed))
        is_bad = jnp.all(jax.random.key_data(key) == wanted)
        state, timestep = super().reset(key)
        if not self.pays:
            shown = timestep.observation["agents"]
            shown = shown.at[0].set(jnp.where(is_bad, jnp.nan, shown[0]))
            timestep = timestep._replace(observation={"agents": shown})
        return (state, is_bad), timestep

    def step(self, state: PyTree, actions: Mapping[str, jax.Array]) -> tuple[PyTree, TimeStep]:
        inner, is_bad = state
        inner, timestep = super().step(inner, actions)
        paid = timestep.reward["agents"]
        if self.pays:
            paid = paid.at[1].set(jnp.where(is_bad, jnp.nan, paid[1]))
        return (inner, is_bad), timestep._replace(reward={"agents": paid})


@pytest.mark.slow
@pytest.mark.parametrize(("episode", "when"), [(0, "at its reset"), (1, "by environment step")])
def test_a_reset_that_is_not_finite_names_environment_and_seed(episode: int, when: str) -> None:
    bad = BadReset(episode_seed(8, 0, 1, episode))
    system = small(lambda: bad, num_environments=2, min_size=1000)
    message = rf"environment 1 of matrix/climbing \(seed 8\), {when}.*'agent_0': observation"
    with pytest.raises(EnvironmentFault, match=message):
        started(system, seed=7, num_seeds=2).advance(100)


@dataclasses.dataclass(frozen=True)
class OverAtReset(Climbing):
    def reset(self, key: jax.Array) -> tuple[PyTree, TimeStep]:
        state, timestep = super().reset(key)
        return state, timestep._replace(end=jnp.asarray(True))


@pytest.mark.slow
def test_episodes_that_are_over_at_their_reset_are_a_fault_before_the_first_step() -> None:
    with pytest.raises(EnvironmentFault, match=r"at its reset: 5 episodes in a row were over"):
        started(small(OverAtReset))


@dataclasses.dataclass(frozen=True)
class OtherShapes(Climbing):
    """Gives another dtype, shape or field in ``step`` or ``reset``."""

    change: str

    def reset(self, key: jax.Array) -> tuple[PyTree, TimeStep]:
        state, timestep = super().reset(key)
        if self.change == "observation":
            shown = timestep.observation["agents"][:, :-1]
            timestep = timestep._replace(observation={"agents": shown})
        return {"inner": state}, timestep

    def step(self, state: PyTree, actions: Mapping[str, jax.Array]) -> tuple[PyTree, TimeStep]:
        inner, timestep = super().step(state["inner"], actions)
        after = {"inner": inner}
        if self.change == "reward":
            paid = timestep.reward["agents"].astype(jnp.int32)
            timestep = timestep._replace(reward={"agents": paid})
        if self.change == "state":
            after["more"] = jnp.zeros(3)
        return after, timestep


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("reward", r"timestep\.reward\['agents'\] is int32\[2\] by step\(\) and float32\[2\]"),
        ("observation", r"timestep\.observation\['agents'\] is float32\[2, \d+\] by reset\(\)"),
        ("state", r"state\['more'\] is float32\[3\] by step\(\) and absent by reset\(\)"),
    ],
)
def test_an_environment_whose_shapes_change_is_refused_by_name(change: str, message: str) -> None:
    with pytest.raises(ConfigurationError, match=f"matrix/climbing cannot be compiled: {message}"):
        Compiled(small(lambda: OtherShapes(change)), 0)


@dataclasses.dataclass(frozen=True)
class Weak(Climbing):
    """Its reset gives Python's numbers, whose types are weak."""

    def reset(self, key: jax.Array) -> tuple[PyTree, TimeStep]:
        state, timestep = super().reset(key)
        paid = jax.tree.map(lambda x: jnp.full(x.shape, 0.0), timestep.reward)
        return (state, jnp.asarray(0.0)), timestep._replace(reward=paid)

    def step(self, state: PyTree, actions: Mapping[str, jax.Array]) -> tuple[PyTree, TimeStep]:
        inner, total = state
        inner, timestep = super().step(inner, actions)
        return (inner, total + timestep.reward["agents"].sum()), timestep


@pytest.mark.slow
def test_weak_types_are_no_other_types() -> None:
    check_shapes(Weak())
    runner = started(small(Weak))
    report = [*runner.advance(30).lengths, *runner.advance(60).lengths]
    assert report == list(ran(small(Weak), 0).advance(60).lengths)
    policy = random_policy(Weak().spec)
    found = CompiledEpisodes(Weak()).run(policy, 2, seed=0)
    assert found.lengths.tolist() == HostEpisodes(Weak).run(policy, 2, seed=0).lengths.tolist()


@pytest.mark.slow
def test_evaluation_plays_no_episode_that_is_not_counted() -> None:
    environment = BadReset(episode_seed(0, EVALUATION_STREAM, 0, 5), pays=True)
    policy = random_policy(environment.spec)
    episodes = CompiledEpisodes(environment, most_environments=3)
    expected = HostEpisodes(lambda: environment).run(policy, 5, seed=0)
    np.testing.assert_allclose(episodes.run(policy, 5, seed=0).returns, expected.returns)
    with pytest.raises(EnvironmentFault, match=r"agent_1.*reward"):
        episodes.run(policy, 6, seed=0)


def test_seeds_beyond_32_bits_are_refused() -> None:
    with pytest.raises(ConfigurationError, match=r"the last seed would be 4294967296"):
        Compiled(small("matrix/climbing"), 2**32 - 1, num_seeds=2)


@pytest.fixture
def no_cache(monkeypatch: pytest.MonkeyPatch) -> Any:
    """JAX's own settings, put back after the test."""
    names = ("jax_compilation_cache_dir", "jax_persistent_cache_min_compile_time_secs")
    before = {name: getattr(jax.config, name) for name in names}
    jax.config.update(names[0], None)
    jax.config.update(names[1], 1.0)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    yield
    for name, value in before.items():
        jax.config.update(name, value)


def test_without_a_home_nothing_is_kept(no_cache: None, monkeypatch: pytest.MonkeyPatch) -> None:
    def home() -> pathlib.Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(pathlib.Path, "home", home)
    keep_compiled()
    assert jax.config.jax_compilation_cache_dir is None


def test_what_is_set_already_stays_as_it_is(
    no_cache: None, monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 9.0)
    keep_compiled()
    assert jax.config.jax_compilation_cache_dir == str(tmp_path / "mava" / "compiled")
    assert jax.config.jax_persistent_cache_min_compile_time_secs == 9.0
    jax.config.update("jax_compilation_cache_dir", "elsewhere")
    keep_compiled()
    assert jax.config.jax_compilation_cache_dir == "elsewhere"
