"""What the environments of ``jumanji`` show each agent, and how they end an episode.

The package says with a discount of 0 that an episode terminated, and with one of 1 that it was
truncated. Two of its environments report their time limit as a termination; here it is a
truncation.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from mava.environments.jumanji import drawing


@dataclasses.dataclass(frozen=True)
class Task:
    """An environment whose discounts are right, such as level-based foraging.

    Attributes:
        env: of ``jumanji``.
    """

    env: Any

    def observed(self, observation: Any) -> jax.Array:
        """``[N, *O]``: the package's views; the layers of a grid come last, as in an image. The
        count of steps is left out: time limits truncate."""
        views: jax.Array = observation.agents_view
        return views if views.ndim == 2 else jnp.moveaxis(views, 1, -1)

    def terminated(self, before: Any, actions: jax.Array, after: Any, timestep: Any) -> jax.Array:
        """Which agents reached a terminal state, bool ``[N]``.

        Args:
            before: the package's state.
            actions: ``[N]``.
            after: its state after the step.
            timestep: what it returned.
        """
        return jnp.broadcast_to(timestep.discount == 0, self.env.num_agents)

    def render(self, state: Any) -> np.ndarray:
        """A picture of the state, uint8 ``[height, width, 3]``."""
        return drawing.foraging(self.env, state)


class Warehouse(Task):
    """RobotWarehouse: a collision terminates, whether the time is up or not."""

    def terminated(self, before: Any, actions: jax.Array, after: Any, timestep: Any) -> jax.Array:
        from jumanji.environments.routing.robot_warehouse.utils import is_collision

        collides = jax.vmap(functools.partial(is_collision, after.grid))
        hit = jnp.any(collides(after.agents, self.env.agent_ids))
        return jnp.broadcast_to(hit, self.env.num_agents)

    def render(self, state: Any) -> np.ndarray:
        return drawing.warehouse(self.env, state)


class Connecting(Task):
    """Connector: an agent terminates when it is connected, or blocked for good."""

    def observed(self, observation: Any) -> jax.Array:
        """``[N, G, G, 6]``: where the agent's own path, head and target are, and those of the
        others."""
        grid = observation.grid
        kinds = jax.nn.one_hot(jnp.where(grid > 0, (grid - 1) % 3, -1), 3)
        mine = (grid - 1) // 3 == jnp.arange(self.env.num_agents)[:, None, None]
        mine = (mine & (grid > 0))[..., None]
        return jnp.concatenate([kinds * mine, kinds * ~mine], axis=-1)

    def render(self, state: Any) -> np.ndarray:
        return drawing.connecting(self.env, state)


class Cleaning(Task):
    """Cleaner: a clean floor terminates, and so does an illegal move."""

    def observed(self, observation: Any) -> jax.Array:
        """``[N, rows, columns, 4]``: dirty tiles, walls, the agent's own place, and how many others
        are at each place."""
        from jumanji.environments.routing.cleaner.constants import DIRTY, WALL

        grid, places = observation.grid, observation.agents_locations
        agents = self.env.num_agents
        own = jnp.zeros((agents, *grid.shape))
        own = own.at[jnp.arange(agents), places[:, 0], places[:, 1]].set(1)
        floor = jnp.stack([grid == DIRTY, grid == WALL], axis=-1)
        floor = jnp.broadcast_to(floor, (agents, *floor.shape)).astype(own.dtype)
        others = jnp.sum(own, axis=0) - own
        return jnp.concatenate([floor, own[..., None], others[..., None]], axis=-1)

    def terminated(self, before: Any, actions: jax.Array, after: Any, timestep: Any) -> jax.Array:
        from jumanji.environments.routing.cleaner.constants import DIRTY

        agents = self.env.num_agents
        legal = jnp.all(before.action_mask[jnp.arange(agents), actions])
        return jnp.broadcast_to(~legal | ~jnp.any(after.grid == DIRTY), agents)

    def render(self, state: Any) -> np.ndarray:
        return drawing.cleaning(self.env, state)
