"""Memory: reset at the start of an episode and only there, in training as in acting."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mava.components.executors.executor import RecordState
from mava.components.trainers.epoch_trainer import EpochTrainer
from mava.components.trainers.trainer import Adam
from mava.core.acting import Acting
from mava.core.contexts import Transition
from mava.core.lifecycle import Record
from mava.core.system import System, build
from mava.core.unrolling import unroll_scores, unroll_values
from mava.environments import as_factory
from mava.errors import WiringError
from mava.testing import builders, probes
from mava.testing.components import TanhCritic, TanhNetwork
from mava.testing.policy_gradient import CorrelatedGaussian
from mava.testing.small_systems import actor_critic
from tests.core.looping import run

SPEC = builders.environment_spec(
    builders.group_spec(1, (2,), 2, "scouts"), builders.group_spec(2, (3,), 4, "carriers"), state=4
)
SYSTEM = actor_critic("matrix/climbing", RecordState())
ACTING = Acting(SYSTEM.components, SPEC)


def params() -> Any:
    made = TanhNetwork(width=4).init_params(jax.random.key(0), SPEC)
    return made | TanhCritic(width=4).init_params(jax.random.key(1), SPEC)


def two_episodes() -> Any:
    """One sequence of ten steps, an episode of four and one of six; each step's next observation is
    that of the step after it, but for the last of each episode."""
    batch = builders.batch(SPEC, size=1, length=10)
    batch["start"] = jnp.asarray([[t in (0, 4) for t in range(10)]])
    for field in ("observation", "state"):
        following = jax.tree.map(lambda x: jnp.roll(x, -1, axis=1), batch[field])
        batch[f"next_{field}"] = following
    return batch


def unrolled(batch: Any) -> dict[str, Any]:
    """Everything that a loss may ask of the networks."""
    batch = {name: x for name, x in batch.items() if name != "action"}
    scores = unroll_scores(ACTING, params(), batch, {})
    critic: Any = ACTING.critic
    values = unroll_values(ACTING, critic, params(), batch, {})
    return {
        "scores": scores.scores,
        "next_scores": scores.next_scores(),
        "values": values.values,
        "next_values": values.next_values(),
    }


def test_the_second_episode_is_as_if_it_were_alone() -> None:
    batch = two_episodes()
    alone = {n: jax.tree.map(lambda x: x[:, 4:] if x.ndim > 1 else x, x) for n, x in batch.items()}
    whole, second = jax.jit(unrolled)(batch), jax.jit(unrolled)(alone)
    jax.tree.map(
        lambda a, b: np.testing.assert_allclose(a[:, 4:], b, rtol=1e-6, atol=1e-6), whole, second
    )


def test_memory_lasts_within_an_episode() -> None:
    """Changing the first observation changes all ten steps of one episode, and four of two."""
    first = jax.jit(unrolled)
    for start, reached in ((4, 4), (0, 10)):
        batch = two_episodes()
        batch["start"] = jnp.asarray([[t in (0, start) for t in range(10)]])
        other = {**batch, "observation": {n: x.at[:, 0].add(1.0) for n, x in _shown(batch).items()}}
        before, after = first(batch)["scores"], first(other)["scores"]
        for name in before:
            changed = np.any(np.asarray(before[name] != after[name]), axis=(0, 2, 3))
            assert changed.tolist() == [t < reached for t in range(10)]


def _shown(batch: Any) -> dict[str, Any]:
    return dict(batch["observation"])


def test_what_follows_has_the_memory_of_its_step() -> None:
    """Within an episode, the next step's scores now are its own scores a step later."""
    found = jax.jit(unrolled)(two_episodes())
    inside = np.asarray([0, 1, 2, 4, 5, 6, 7, 8])
    for name in ("scores", "values"):
        for group in SPEC.group_names:
            now, later = found[name][group], found[f"next_{name}"][group]
            np.testing.assert_allclose(later[:, inside], now[:, inside + 1], rtol=1e-5, atol=1e-6)


def test_a_sequence_begins_with_the_memory_recorded() -> None:
    batch = two_episodes()
    memory = ACTING.init_memory()
    carry: dict[str, Any] = {}
    for hook in ("score", "value"):
        carry[hook] = {n: x[None, None] + 0.5 for n, x in memory[hook].items()}
    middle = jnp.zeros((1, 10), bool)
    compiled = jax.jit(unrolled)
    with_memory = compiled({**batch, "start": middle, "memory": carry})
    without = compiled({**batch, "start": middle})
    restarted = compiled({**batch, "start": middle.at[0, 0].set(True), "memory": carry})
    for name in ("scores", "values"):
        for group in SPEC.group_names:
            assert np.all(np.asarray(with_memory[name][group] != without[name][group])[:, 0])
            np.testing.assert_allclose(restarted[name][group], without[name][group], rtol=1e-6)


@dataclasses.dataclass(frozen=True)
class LongTarget(probes.ContinuousTarget):
    """Three steps long, so that noise is remembered."""

    length: int = dataclasses.field(default=3, init=False)


def act(program: Any, memory: Any, timestep: Any, step: int) -> Any:
    variables = program.publish(program.init_learner(jax.random.key(0)))
    clock = jnp.asarray(step, jnp.int32)
    return program.act(variables, memory, timestep, clock, jax.random.key(1))


def test_acting_forgets_at_a_start_and_only_there() -> None:
    program = build(SYSTEM, SPEC)
    acting = jax.jit(lambda memory, timestep, step: act(program, memory, timestep, step)[2])
    memory = used = acting(program.init_memory(), builders.timestep(SPEC, 0, start=True), 0)
    for step in range(1, 4):
        used = acting(used, builders.timestep(SPEC, step), step)
    for start, equal in ((True, True), (False, False)):
        timestep = builders.timestep(SPEC, 0, start=start)
        again = acting(used, timestep, 0)
        same = [
            np.array_equal(a, b)
            for a, b in zip(jax.tree.leaves(memory), jax.tree.leaves(again), strict=True)
        ]
        assert all(same) == equal
    assert {"score", "select_action", "value"} == set(memory)


def test_what_is_recorded_is_the_memory_that_acting_began_with() -> None:
    program = build(SYSTEM, SPEC)
    left = jax.tree.map(lambda x: x + 1.0, program.init_memory())
    for start, used in ((True, program.init_memory()), (False, left)):
        made = builders.transition(SPEC, memory=left)
        timestep = made.timestep._replace(start=np.asarray(start))
        extras = {g.name: {"log_prob": np.zeros(g.num_agents, np.float32)} for g in SPEC.groups}
        item = program.record(made._replace(timestep=timestep, extras=extras))
        jax.tree.map(np.testing.assert_array_equal, item["memory"], used)


def climbing(length: int) -> Any:
    return as_factory("matrix/climbing", length=length)


def still(length: int) -> System:
    """An actor and a critic whose actor never changes, trained once on each rollout."""
    adam = Adam(learning_rate=0.0, optimises=("network",))
    trainer = EpochTrainer(epochs=1, minibatches=1)
    return actor_critic(climbing(length), RecordState(), adam, trainer)


def change(system: System) -> Any:
    """How far recorded and recomputed probabilities of actions are apart, in each round."""
    _, (items, metrics) = run(system, rounds=4)
    assert 0 < items["start"].sum() < items["start"].size
    return np.asarray(metrics["policy_loss/change"])


@pytest.mark.slow
def test_training_computes_what_acting_computed() -> None:
    """Rollouts of 4 steps begin and end anywhere in episodes of 3."""
    assert change(still(3)).max() < 1e-5


@pytest.mark.slow
def test_noise_that_remembers_has_the_same_density_in_training() -> None:
    adam = Adam(learning_rate=0.0, optimises=("network",))
    trainer = EpochTrainer(epochs=1, minibatches=1)
    system = actor_critic(
        functools.partial(LongTarget, num_agents=1), CorrelatedGaussian(), adam, trainer
    )
    assert change(system).max() < 1e-4


@dataclasses.dataclass(frozen=True)
class Forgets(Record):
    """Stores the memory of an episode's start, whatever there was."""

    def record(self, transition: Transition) -> dict[str, Any]:
        return {"memory": jax.tree.map(jnp.zeros_like, transition.memory)}


def test_without_the_recorded_memory_it_does_not() -> None:
    apart = change(still(25).without("record_memory").with_(Forgets()))
    assert apart[0] < 1e-5  # all begin together
    assert apart[1:].max() > 1e-3


@dataclasses.dataclass(frozen=True)
class OfTheActor(Record):
    def record(self, transition: Transition) -> dict[str, Any]:
        return {"memory": {"score": transition.memory["score"]}}


@pytest.mark.parametrize(
    ("components", "named"), [((), "tanh_network"), ((OfTheActor(),), "tanh_critic")]
)
def test_rollouts_without_the_memory_they_were_acted_with_are_refused(
    components: Any, named: str
) -> None:
    system = still(25).without("record_memory").with_(*components)
    with pytest.raises(WiringError, match=rf"^{named} has memory.*add RecordMemory\(\)"):
        build(system)
