"""How the families of ``jaxmarl`` end an episode, and what else they tell.

The package has one ``done`` for each agent, whatever the reason. Each family's own rules say which
of them is a terminal state and which a time limit.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from mava.environments.jaxmarl import drawing

Actions = Mapping[Any, jax.Array]
Ends = tuple[jax.Array, jax.Array]


@dataclasses.dataclass(frozen=True)
class Family:
    """An environment that ends by its time limit alone.

    Attributes:
        env: of ``jaxmarl``.
        metrics: what ``measures`` gives.
    """

    env: Any
    metrics: ClassVar[tuple[str, ...]] = ()

    def limit(self) -> int | None:
        """Length of the longest episode."""
        steps = getattr(self.env, "max_steps", None)
        return None if steps is None else int(steps)

    def ends(self, before: Any, actions: Actions, after: Any, done: jax.Array) -> Ends:
        """Which agents the step terminated and which it truncated, bool ``[n]`` each.

        Args:
            before: the package's state.
            actions: of each agent.
            after: its state after the step.
            done: bool ``[n]``, what the package says of each agent.
        """
        return jnp.zeros_like(done), done

    def legal(self, state: Any) -> Mapping[str, jax.Array] | None:
        """Flags ``[A]`` of each agent; ``None`` without masks."""
        return None

    def replaced(self, actions: Actions, alive: jax.Array) -> Actions:
        """The actions with those of the dead put right, where they would matter."""
        return actions

    def global_state(self, observations: Mapping[Any, Any]) -> Any:
        return None

    def measures(self, state: Any) -> dict[str, jax.Array]:
        return {}

    def render(self, state: Any) -> np.ndarray | None:
        """A picture of the state, uint8 ``[height, width, 3]``."""
        return None


class Kitchen(Family):
    """Overcooked."""

    def render(self, state: Any) -> np.ndarray | None:
        return drawing.kitchen(self.env, state)


class LateLimit(Family):
    """The same of an environment that compares its limit with the steps made before this one, so
    that an episode has ``max_steps + 1``."""

    def limit(self) -> int | None:
        return int(self.env.max_steps) + 1


class Particles(LateLimit):
    """MPE."""

    def render(self, state: Any) -> np.ndarray | None:
        return drawing.particles(self.env, state)


class CoinGame(Family):
    """Several games one after the other: a game's end is part of the dynamics, the limit on the
    number of games ends the episode."""

    def limit(self) -> int | None:
        return None


class GameOver(Family):
    """Hanabi: the game is won, lost, or over when the last round was played."""

    def limit(self) -> int | None:
        return None

    def ends(self, before: Any, actions: Actions, after: Any, done: jax.Array) -> Ends:
        return done, jnp.zeros_like(done)

    def legal(self, state: Any) -> Mapping[str, jax.Array] | None:
        flags: Mapping[str, jax.Array] = self.env.get_legal_moves(state)
        return flags


class Riddle(Family):
    """The switch riddle: who is in the room tells, and the game is over; or time runs out."""

    def ends(self, before: Any, actions: Actions, after: Any, done: jax.Array) -> Ends:
        joint = jnp.stack([actions[agent] for agent in self.env.agents])
        told = joint[before.agent_in_room] == self.env.game_actions["TELL"]
        return done & told, done & ~told


class Battle(LateLimit):
    """SMAX: a unit that dies has terminated; a battle is over when a team is dead.

    ``won``: 1 where all enemies are dead and an ally is not, as the package's bonus has it.
    """

    metrics: ClassVar[tuple[str, ...]] = ("won",)

    def ends(self, before: Any, actions: Actions, after: Any, done: jax.Array) -> Ends:
        allies, enemies = self._teams(after)
        units = jnp.concatenate([allies, enemies])[: len(self.env.agents)]
        over = ~jnp.any(allies) | ~jnp.any(enemies)
        return ~units | over, _battle(after).done & units & ~over

    def legal(self, state: Any) -> Mapping[str, jax.Array] | None:
        if self.env.action_type == "continuous":
            return None
        flags: Mapping[str, jax.Array] = self.env.get_avail_actions(state)
        return flags

    def replaced(self, actions: Actions, alive: jax.Array) -> Actions:
        # Conic observations show what the dead last did.
        stop = 0.0 if self.env.action_type == "continuous" else self.env.num_movement_actions - 1
        return {
            agent: jnp.where(alive[index], actions[agent], jnp.full_like(actions[agent], stop))
            for index, agent in enumerate(self.env.agents)
        }

    def global_state(self, observations: Mapping[Any, Any]) -> Any:
        return observations["world_state"]

    def measures(self, state: Any) -> dict[str, jax.Array]:
        allies, enemies = self._teams(state)
        return {"won": ~jnp.any(enemies) & jnp.any(allies)}

    def render(self, state: Any) -> np.ndarray | None:
        return drawing.battle(self.env, _battle(state))

    def _teams(self, state: Any) -> tuple[jax.Array, jax.Array]:
        alive = _battle(state).unit_alive
        return alive[: self.env.num_allies], alive[self.env.num_allies :]


def _battle(state: Any) -> Any:
    """The state of SMAX itself, where an enemy's is around it."""
    return getattr(state, "state", state)


class Navigation(Family):
    """JaxNav: an agent terminates at its goal or in a collision, and time may run out."""

    def ends(self, before: Any, actions: Actions, after: Any, done: jax.Array) -> Ends:
        reached = after.goal_reached | after.move_term
        return done & reached, done & ~reached


_BY_CLASS: dict[str, type[Family]] = {
    "SMAX": Battle,
    "HeuristicEnemySMAX": Battle,
    "hanabi": GameOver,
    "switch_riddle": Riddle,
    "coin_game": CoinGame,
    "jaxnav": Navigation,
    "overcooked": Kitchen,
    "overcooked_v2": Family,
}


def family_of(registered: str, env: Any) -> Family:
    """The rules of an environment, by the name that ``jaxmarl`` has for it."""
    family = Particles if registered.startswith("MPE_") else _BY_CLASS[registered]
    return family(env)
