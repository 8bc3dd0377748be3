"""The rows of the compiled benchmark: a system, its settings, and what known programs reach."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp

SMAX = "jaxmarl/smax/3m"
SPREAD = "jaxmarl/mpe/simple_spread_v3"


@dataclasses.dataclass(frozen=True)
class Row:
    """A setting.

    Attributes:
        system, environment, options: what is run.
        known: steps per second of known programs with such settings, on two such cores.
        factor: how many times of it is aimed at.
        steps: environment steps in one measurement, whole rounds of training.
    """

    system: str
    environment: str
    options: Mapping[str, Any]
    known: int
    factor: float
    steps: int


_IQL = {
    "num_environments": 16,
    "torso_sizes": (128,),
    "memory_size": 64,
    "head_sizes": (),
    "batch_size": 32,
    "period": 1,
    "capacity": 50_000,
}
_PPO = {"rollout_length": 128, "epochs": 4}
_GRU = {"recurrent": True, "hidden_sizes": (128,), "memory_size": 128}

ROWS: dict[str, Row] = {
    "rec_iql_short": Row(
        "rec_iql",
        SMAX,
        {**_IQL, "update_every": 32, "updates": 2, "sequence_length": 20, "min_size": 1024},
        430,
        2.0,
        4_096,
    ),
    "rec_iql_long": Row(
        "rec_iql",
        SMAX,
        {**_IQL, "update_every": 2048, "updates": 8, "sequence_length": 128, "min_size": 4096},
        2_260,
        1.7,
        2 * 2_048,
    ),
    "rec_ippo": Row(
        "ippo",
        SMAX,
        {**_PPO, **_GRU, "num_environments": 128, "minibatches": 4},
        4_900,
        1.5,
        16_384,
    ),
    "ff_ippo": Row(
        "ippo",
        SMAX,
        {**_PPO, "num_environments": 32, "minibatches": 2, "hidden_sizes": (128, 128)},
        7_900,
        1.5,
        4 * 4_096,
    ),
    "rec_mappo": Row(
        "mappo", SMAX, {**_PPO, **_GRU, "num_environments": 32, "minibatches": 2}, 920, 2.5, 4_096
    ),
    "ff_ippo_spread": Row(
        "ippo",
        SPREAD,
        {**_PPO, "num_environments": 16, "minibatches": 4, "hidden_sizes": (64, 64)},
        33_000,
        1.3,
        16 * 2_048,
    ),
}


def system_of(row: Row) -> Any:
    from mava.systems import SYSTEMS

    return SYSTEMS[row.system](row.environment, **row.options)


def bare(row: Row) -> Callable[[int], None]:
    """Plays so many vectorised steps of the environment with random legal actions."""
    from mava.environments import make
    from mava.launcher.policy import random_policy
    from mava.topologies.compiled.environments import VectorisedEnvironment

    environment = make(row.environment)
    count = int(row.options["num_environments"])
    worlds = VectorisedEnvironment(environment, count)  # type: ignore[arg-type]
    act = random_policy(environment.spec).act

    def choose(timestep: Any, key: jax.Array) -> Any:
        return act((), (), timestep, key)[0]

    @jax.jit
    def play(held: Any, key: jax.Array, steps: jax.Array) -> Any:
        def body(t: jax.Array, held: Any) -> Any:
            keys = jax.random.split(jax.random.fold_in(key, t), count)
            actions = jax.vmap(choose)(held.timestep, keys)
            return worlds.step(held, actions, jnp.uint32(0))[0]

        return jax.lax.fori_loop(0, steps, body, held)

    held, _ = jax.jit(worlds.reset)(jnp.uint32(0))
    key = jax.random.key(0)

    def run(steps: int) -> None:
        jax.block_until_ready(play(held, key, jnp.int32(steps)))

    return run
