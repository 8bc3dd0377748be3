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
from mava.errors import ConfigurationError
from mava.types import Array, EnvironmentSpec, PyTree, TimeStep

_with_path = jax.tree_util.tree_leaves_with_path

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

    def reset(self, seed: Array, first: Array | int = 0) -> tuple[Worlds, Array]:
        """Starts the first episode of each; ``first`` is the index of the first environment among
        those of all devices. Returns flags as ``step`` does."""
        episode = jnp.zeros(self.num_environments, jnp.int32)
        state, timestep, bad = self._start(seed, first, episode)
        worlds, more = self._begin(Worlds(state, timestep, episode), seed, first, tried=1)
        return worlds, _with_resets(bad, more)

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
        begun, more = self._begin(Worlds(state, following, worlds.episode), seed, first)
        return begun, following, _with_resets(bad, more)

    def _begin(
        self, worlds: Worlds, seed: Array, first: Array | int, tried: int = 0
    ) -> tuple[Worlds, Array]:
        """Starts the next episode wherever one has ended. Costs nothing where none has."""
        flags: Array = jnp.zeros((self.num_environments, len(leaves(self.spec)) - 1), bool)

        def unfinished(carry: tuple[Worlds, Array, Array]) -> Array:
            held, _, tries = carry
            return jnp.any(held.timestep.end) & (tries < RESETS)

        def reset(carry: tuple[Worlds, Array, Array]) -> tuple[Worlds, Array, Array]:
            held, bad, tries = carry
            end = held.timestep.end
            episode = held.episode + end
            state, timestep, new_bad = self._start(seed, first, episode)
            new = Worlds(state, timestep, episode)
            held = jax.tree.map(lambda x, y: _where(end, x, y), new, held)
            return held, bad | (new_bad & end[:, None]), tries + 1

        tries: Array = jnp.full((), tried, jnp.int32)
        begun, bad, _ = jax.lax.while_loop(unfinished, reset, (worlds, flags, tries))
        return begun, jnp.concatenate([bad, begun.timestep.end[:, None]], axis=1)

    def _start(
        self, seed: Array, first: Array | int, episode: Array
    ) -> tuple[PyTree, TimeStep, Array]:
        """Starts these episodes: states, timesteps, and flags of what is not finite in them."""
        index = first + jnp.arange(self.num_environments, dtype=jnp.int32)
        seeds = episode_seeds(seed, self._stream, index, episode)
        state, timestep = jax.vmap(lambda s: self._environment.reset(jax.random.key(s)))(seeds)
        timestep, bad = jax.vmap(functools.partial(mended, self.spec))(timestep, timestep)
        return state, timestep, bad


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


def check_shapes(environment: JaxEnvironment) -> None:
    """Checks what a compiled loop needs: that all timesteps are as specified, and that states keep
    their structure, shapes and dtypes. Nothing is computed.

    Raises:
        ConfigurationError: naming the environment and the first leaf that differs.
    """
    spec = environment.spec
    key = jax.eval_shape(lambda: jax.random.key(0))
    state, timestep = jax.eval_shape(environment.reset, key)
    after, following = jax.eval_shape(environment.step, state, spec.zero_actions())
    _agree(spec.name, "timestep", ("reset()", timestep), ("its spec", spec.zero_timestep()))
    _agree(spec.name, "timestep", ("step()", following), ("its spec", spec.zero_timestep()))
    _agree(spec.name, "state", ("step()", after), ("reset()", state))


def _agree(environment: str, what: str, one: tuple[str, PyTree], other: tuple[str, PyTree]) -> None:
    (by, found), (by_other, wanted) = (
        (name, {jax.tree_util.keystr(p): _type(x) for p, x in _with_path(tree)})
        for name, tree in (one, other)
    )
    for path in [*wanted, *found]:
        if found.get(path) != wanted.get(path):
            raise ConfigurationError(
                f"{environment} cannot be compiled: {what}{path} is {found.get(path, 'absent')} by "
                f"{by} and {wanted.get(path, 'absent')} by {by_other}; make them agree"
            )


def _type(leaf: Any) -> str:
    return f"{leaf.dtype}{list(leaf.shape)}"


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


def _with_resets(bad: Array, resets: Array) -> Array:
    """Flags ``[E, L - 1]`` of an outcome and ``[E, L]`` of the resets after it."""
    nothing = jnp.zeros((len(bad), 1), bool)
    return resets | jnp.concatenate([bad, nothing], axis=1)


def _where(flags: Array, on_true: Array, on_false: Array) -> Array:
    """Row by row. Typed random keys are rows too."""
    return jnp.where(flags.reshape(-1, *(1,) * (np.ndim(on_true) - 1)), on_true, on_false)
