"""Environments of a compiled program: stepped together, reset where an episode ends."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from mava.environments.base import JaxEnvironment
from mava.environments.seeds import episode_seeds
from mava.types import Array, EnvironmentSpec, PyTree, TimeStep

RESETS = 5
"""Episodes in a row that may be over at their reset."""


class Worlds(NamedTuple):
    """Environments under way.

    Attributes:
        state: of the environments, ``[E, ...]``.
        timestep: to act on, ``[E, ...]``.
        episode: int32 ``[E]``; counts the resets of each environment.
    """

    state: PyTree
    timestep: TimeStep
    episode: Array


class VectorisedEnvironment:
    """``VectorEnvironment`` as pure functions: the same episodes from the same seeds.

    Args:
        environment: one environment.
        num_environments: stepped together.
        stream: as for ``episode_seed``.
    """

    def __init__(self, environment: JaxEnvironment, num_environments: int, stream: int = 0) -> None:
        self.spec = environment.spec
        self.num_environments = num_environments
        self._environment = environment
        self._stream = stream

    def reset(self, seed: Array, first: Array | int = 0) -> Worlds:
        """Starts the first episode of each; ``first`` is the index of the first environment among
        those of all devices."""
        episode = jnp.zeros(self.num_environments, jnp.int32)
        state, timestep = self.start(self._seeds(seed, first, episode))
        return Worlds(state, timestep, episode)

    def start(self, seeds: Array) -> tuple[PyTree, TimeStep]:
        """Starts the episodes of these seeds, uint32 ``[E]``."""
        return jax.vmap(lambda seed: self._environment.reset(jax.random.key(seed)))(seeds)

    def step(
        self, worlds: Worlds, actions: Mapping[str, Any], seed: Array, first: Array | int = 0
    ) -> tuple[Worlds, TimeStep, Array]:
        """Takes the actions ``[E, N, ...]`` by group.

        Returns:
            The environments, new episodes begun; the outcome with its true last observations; and
            for each environment and leaf of ``leaves`` whether it is bad, bool ``[E, L]``.
        """
        state, following = jax.vmap(self._environment.step)(worlds.state, actions)
        following, bad = jax.vmap(functools.partial(mended, self.spec))(following, worlds.timestep)
        begun = self.begin(Worlds(state, following, worlds.episode), seed, first)
        over = begun.timestep.end[:, None]
        return begun, following, jnp.concatenate([bad, over], axis=1)

    def begin(self, worlds: Worlds, seed: Array, first: Array | int = 0) -> Worlds:
        """Starts the next episode wherever one has ended. Costs nothing where none has."""

        def unfinished(carry: tuple[Worlds, jax.Array]) -> jax.Array:
            held, tries = carry
            return jnp.any(held.timestep.end) & (tries < RESETS)

        def reset(carry: tuple[Worlds, jax.Array]) -> tuple[Worlds, jax.Array]:
            held, tries = carry
            end = held.timestep.end
            episode = held.episode + end
            state, timestep = self.start(self._seeds(seed, first, episode))
            new = Worlds(state, timestep, episode)
            return jax.tree.map(lambda x, y: _where(end, x, y), new, held), tries + 1

        return jax.lax.while_loop(unfinished, reset, (worlds, jnp.zeros((), jnp.int32)))[0]

    def _seeds(self, seed: Array, first: Array | int, episode: Array) -> Array:
        index = first + jnp.arange(self.num_environments, dtype=jnp.int32)
        return episode_seeds(seed, self._stream, index, episode)


def mended(spec: EnvironmentSpec, timestep: TimeStep, before: TimeStep) -> tuple[TimeStep, Array]:
    """The timestep of one environment with zeros for what is not finite where nobody looks, as
    ``check_finite`` does, and a flag for each of ``leaves`` that is not finite and counts."""
    flags = []
    changed: dict[str, dict[str, Array]] = {}
    for field in ("reward", "observation"):
        changed[field] = {}
        for name in spec.group_names:
            rows = getattr(timestep, field)[name]
            counted = timestep.alive[name] | before.alive[name]
            changed[field][name] = rows
            if jnp.issubdtype(rows.dtype, jnp.floating):
                fine = jnp.isfinite(rows)
                wide = counted.reshape(-1, *(1,) * (rows.ndim - 1))
                changed[field][name] = jnp.where(fine | wide, rows, jnp.zeros((), rows.dtype))
                flags.append(jnp.any((~fine & wide).reshape(len(rows), -1), axis=1))
            else:
                flags.append(jnp.zeros(len(rows), bool))
    state = timestep.state
    wrong = jnp.zeros((), bool)
    if state is not None and jnp.issubdtype(state.dtype, jnp.floating):
        wrong = ~jnp.all(jnp.isfinite(state))
    flags.append(wrong[None])
    return timestep._replace(**changed), jnp.concatenate(flags)  # type: ignore[arg-type]


def leaves(spec: EnvironmentSpec) -> list[str]:
    """What each flag of ``VectorisedEnvironment.step`` says, when it is true."""
    found = [
        f"agent {agent!r}: {field} is not finite"
        for field in ("reward", "observation")
        for group in spec.groups
        for agent in group.agents
    ]
    return [
        *found,
        "the global state has values that are not finite",
        f"{RESETS} episodes in a row were over at their reset",
    ]


def _where(flags: Array, on_true: Array, on_false: Array) -> Array:
    """Row by row. Typed random keys are rows too."""
    return jnp.where(flags.reshape(-1, *(1,) * (np.ndim(on_true) - 1)), on_true, on_false)
