"""Devices that train together do as one would with all of the batch."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mava.components.batches.rewards import RewardNormaliser
from mava.components.losses.ppo import PPOLoss
from mava.components.networks.observation_normaliser import ObservationNormaliser
from mava.components.trainers.trainer import Adam
from mava.core.program import Program
from mava.core.system import System, build
from mava.testing import builders
from tests.systems.every import ON_POLICY, RECURRENT, VARIANTS, every

pytestmark = pytest.mark.slow

ACTORS = {"maddpg", "matd3"}
OPTIONS: dict[str, Any] = {
    "matd3": {"target_noise": 0.0},
    "madqn": {"prioritised": True, "n_step": 2},
    "vdn": {"prioritised": True},
}


def small(variant: str) -> System:
    """Without noise, and with steps that are almost as long as gradients are."""
    options: dict[str, Any] = {"num_environments": 4, **OPTIONS.get(variant, {})}
    if variant in ON_POLICY:
        options |= {"rollout_length": 5, "epochs": 1, "minibatches": 1}
    else:
        options |= {"batch_size": 4}
    if variant in RECURRENT and variant not in ON_POLICY:
        options |= {"sequence_length": 4}
    system = every(variant, "probe/agreement", **options)
    for optimiser in [c for c in system if isinstance(c, Adam)]:
        system = system.replace(optimiser.name, epsilon=1.0, learning_rate=0.1)
    return system


def unequal(program: Program, seed: int) -> Any:
    """A batch of random numbers; in its second half most agents are dead, and show nonsense."""
    size, length = program.plan.batch_size, program.plan.sequence_length
    made = builders.batch(program.spec, size, length, seed)
    rng = np.random.default_rng(seed)
    late = np.arange(size)[:, None, None] >= size // 2
    for group, alive in made["alive"].items():
        dead = late & (rng.random(alive.shape) < 0.7)
        made["alive"][group] = alive & ~dead
        shown = made["observation"][group]
        made["observation"][group] = jnp.where(dead[..., None], jnp.nan, shown)
    # The same in both halves, since the largest weight of each device scales them all.
    half = rng.uniform(0.1, 1.0, size // 2).astype(np.float32)
    made["probability"] = jnp.concatenate([half, half])
    made["memory"] = jax.tree.map(
        lambda x: jnp.asarray(rng.normal(size=(size, length, *x.shape)), x.dtype),
        program.item.get("memory", ()),
    )
    item = {name: made[name] for name in program.item}
    assert jax.tree.map(lambda x: x.shape[2:], item) == jax.tree.map(jnp.shape, program.item)
    return {**item, "probability": made["probability"]}


def all_mean(tree: Any) -> Any:
    return jax.lax.pmean(tree, "devices")


def check(system: System, spec: Any) -> None:
    program, key = build(system, spec), jax.random.key(1)
    whole = jax.jit(program.learn)
    parts = jax.jit(
        jax.vmap(
            lambda learner, batch: program.learn(learner, batch, key, all_mean)[:2],
            in_axes=(None, 0),
            axis_name="devices",
        )
    )
    learner = parted = jax.jit(program.init_learner)(jax.random.key(0))
    for seed in range(2):
        batch = unequal(program, seed)
        after, metrics, _ = whole(learner, batch, key)
        halves = jax.tree.map(lambda x: x.reshape(2, len(x) // 2, *x.shape[1:]), batch)
        together, shown = parts(parted, halves)
        for device in range(2):
            one = jax.tree.map(lambda x, d=device: x[d], together)
            near(learner.params, after.params, one.params)
            near(learner.target_params, after.target_params, one.target_params)
            for name, value in metrics.items():
                if "/by_agent/" not in name:
                    np.testing.assert_allclose(shown[name][device], value, 2e-4, 1e-5, err_msg=name)
        learner, parted = after, one


def near(old: Any, expected: Any, found: Any) -> None:
    """Parameters moved alike: far, against the differences that are allowed."""
    for name, before in old.items():
        for x, y, z in zip(
            *map(jax.tree.leaves, (before, expected[name], found[name])), strict=True
        ):
            change = np.asarray(y - x)
            assert np.isfinite(change).all()
            np.testing.assert_allclose(z - x, change, rtol=1e-3, atol=2e-6, err_msg=name)


@pytest.mark.parametrize("variant", VARIANTS)
def test_devices_learn_from_the_whole_batch(variant: str) -> None:
    specs = builders.CONTINUOUS_SPECS if variant in ACTORS else builders.DISCRETE_SPECS
    check(small(variant), specs["vector"])


def test_devices_normalise_by_the_whole_batch() -> None:
    system = small("ippo").replace(PPOLoss, normalise_advantage=True)
    system = system.with_(ObservationNormaliser(), RewardNormaliser(), after="executor")
    check(system, builders.DISCRETE_SPECS["vector"])
