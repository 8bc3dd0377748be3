"""Timesteps of JAX environments whose agents all stay until the end."""

from __future__ import annotations

from collections.abc import Mapping

import jax
import jax.numpy as jnp

from mava.types import Array, EnvironmentSpec, TimeStep


def joint_timestep(
    spec: EnvironmentSpec,
    observation: Mapping[str, jax.Array],
    reward: Mapping[str, jax.Array] | None = None,
    *,
    terminated: Array | bool = False,
    truncated: Array | bool = False,
    state: jax.Array | None = None,
) -> TimeStep:
    """A timestep in which all agents are in the game or all are out of it, with every action legal
    unless the step reached a terminal state.

    Args:
        spec: of the environment.
        observation: per group ``[N, *observation.shape]``.
        reward: per group ``[N]``; ``None`` after a reset.
        terminated: bool ``[]``; the step reached a terminal state.
        truncated: bool ``[]``; the step reached a time limit.
        state: the global state, where the specification has one.
    """
    terminated, truncated = jnp.asarray(terminated), jnp.asarray(truncated)
    end = terminated | truncated
    sizes = {group.name: group.num_agents for group in spec.groups}
    paid = {name: jnp.zeros(n) for name, n in sizes.items()} if reward is None else reward
    return TimeStep(
        observation={g.name: observation[g.name].astype(g.observation.dtype) for g in spec.groups},
        legal_actions={
            g.name: jnp.broadcast_to(~terminated, (g.num_agents, g.actions.num_choices))
            for g in spec.groups
        },
        alive={name: jnp.broadcast_to(~end, n) for name, n in sizes.items()},
        reward={name: paid[name].astype(jnp.float32) for name in sizes},
        termination={name: jnp.broadcast_to(terminated, n) for name, n in sizes.items()},
        truncation={name: jnp.broadcast_to(truncated, n) for name, n in sizes.items()},
        start=jnp.asarray(reward is None),
        end=end,
        state=state if spec.state is None or state is None else state.astype(spec.state.dtype),
        metrics={},
    )
