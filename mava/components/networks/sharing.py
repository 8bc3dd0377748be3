"""Which agents of a group share a set of parameters.

``"shared"``: all of them; ``"none"``: every agent has its own, applied side by side with ``vmap``;
a mapping from agent to set: ``(("agent_0", "left"), ("agent_1", "left"), ("agent_2", "right"))``.
Parameters of a group always carry a leading axis of sets ``[K, ...]``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp

from mava.errors import ConfigurationError, nearest
from mava.functional.loops import vmap
from mava.types import AgentID, Array, EnvironmentSpec, GroupSpec, PyTree

Sharing = str | tuple[tuple[AgentID, Any], ...]


def as_sharing(owner: str, sharing: str | Mapping[AgentID, Any] | Sharing) -> Sharing:
    """A hashable form of what a user may write.

    Raises:
        ConfigurationError: anything but ``shared``, ``none`` and a mapping, or its pairs.
    """
    if isinstance(sharing, Mapping):
        return tuple(sharing.items())
    pairs = isinstance(sharing, tuple) and all(
        isinstance(pair, tuple) and len(pair) == 2 for pair in sharing
    )
    if not pairs and sharing not in ("shared", "none"):
        raise ConfigurationError(
            f"{owner}.sharing is {sharing!r}; give 'shared', 'none' or a mapping from agent to set"
        )
    return sharing


def check_agents(owner: str, sharing: Sharing, spec: EnvironmentSpec) -> None:
    """Checks that a mapping names agents of the environment alone.

    Raises:
        ConfigurationError: with the nearest name.
    """
    if isinstance(sharing, str):
        return
    known = {agent: str(agent) for group in spec.groups for agent in group.agents}
    for agent, _ in sharing:
        if agent not in known:
            raise ConfigurationError(
                f"{owner}.sharing names agent {agent!r}, which {spec.name} does not have"
                f"{nearest(str(agent), known.values())}"
            )


def sets_of(group: GroupSpec, sharing: Sharing) -> tuple[int, ...]:
    """The index of each agent's set of parameters.

    Raises:
        ConfigurationError: a mapping that leaves out an agent of the group.
    """
    if sharing == "shared":
        return (0,) * group.num_agents
    if sharing == "none":
        return tuple(range(group.num_agents))
    mapping = dict(sharing)  # type: ignore[arg-type]
    missing = [agent for agent in group.agents if agent not in mapping]
    if missing:
        raise ConfigurationError(
            f"the parameter sharing says nothing of agents {missing} of group {group.name!r}; "
            f"name a set for every agent"
        )
    order = list(dict.fromkeys(mapping[agent] for agent in group.agents))
    return tuple(order.index(mapping[agent]) for agent in group.agents)


def init_sets(init: Callable[[jax.Array], PyTree], key: jax.Array, sets: tuple[int, ...]) -> PyTree:
    """Makes every set from a key of its own; leaves ``[K, ...]``."""
    return vmap(init)(jax.random.split(key, max(sets) + 1))


def apply_sets(
    apply: Callable[[PyTree, Array], Array],
    params: PyTree,
    sets: tuple[int, ...],
    observation: Array,
    rank: int,
) -> Array:
    """Applies to each agent the set that is its own.

    Args:
        apply: one set, ``[..., *O]`` -> ``[..., out]``.
        params: leaves ``[K, ...]``.
        sets: from ``sets_of``.
        observation: ``[..., N, *O]``.
        rank: the number of axes of ``O``.

    Returns:
        ``[..., N, out]``.
    """
    own = of_agents(params, sets)
    if max(sets) == 0:
        return apply(own, observation)
    agents_first = jnp.moveaxis(observation, -1 - rank, 0)
    return jnp.moveaxis(vmap(apply)(own, agents_first), 0, -2)


def of_agents(params: PyTree, sets: tuple[int, ...]) -> PyTree:
    """Each agent's own set, leaves ``[N, ...]``; the set itself where all share one."""
    if max(sets) == 0:
        return jax.tree.map(lambda x: x[0], params)
    if sets == tuple(range(len(sets))):
        return params
    return jax.tree.map(lambda x: x[jnp.asarray(sets)], params)
