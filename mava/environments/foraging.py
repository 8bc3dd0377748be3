"""Level-based foraging (Albrecht and Ramamoorthy, 2013; Papoudakis et al., 2021), of the package
``lbforaging``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from mava.environments.tuples import TupleAgents
from mava.errors import ConfigurationError
from mava.types import AgentID

_NAME = re.compile(r"Foraging(-2s)?-(\d+)x(\d+)-(\d+)p-(\d+)f(-coop)?-v3")
NAMES = (
    "Foraging-8x8-2p-2f-coop-v3",
    "Foraging-2s-8x8-2p-2f-coop-v3",
    "Foraging-10x10-3p-3f-v3",
    "Foraging-2s-10x10-3p-3f-v3",
    "Foraging-15x15-3p-5f-v3",
    "Foraging-15x15-4p-3f-v3",
    "Foraging-15x15-4p-5f-v3",
)
"""The tasks of Papoudakis et al. (2021)."""


def arguments_of(name: str) -> dict[str, Any] | None:
    """What a task's name says, as the package registers it: ``Foraging[-2s]-RxC-Pp-Ff[-coop]-v3``
    is a field of R x C cells, P players of level 1 or 2, and F foods; ``-2s`` limits sight to 2
    cells, and ``-coop`` makes foods that need all players (of the first three levels).

    ``None`` where the name is of another form.
    """
    found = _NAME.fullmatch(name)
    if found is None:
        return None
    near, rows, columns, players, foods, coop = found.groups()
    return {
        "players": int(players),
        "min_player_level": 1,
        "max_player_level": 2,
        "field_size": (int(rows), int(columns)),
        "min_food_level": 1,
        "max_food_level": None,
        "max_num_food": int(foods),
        "sight": 2 if near else max(int(rows), int(columns)),
        "max_episode_steps": 50,
        "force_coop": coop is not None,
        "grid_observation": False,
        "penalty": 0.0,
    }


class Foraging(TupleAgents):
    """``lbforaging``'s environment, under PettingZoo's parallel interface, with two repairs.

    The package reports its step limit as a termination; here it is a truncation, unless the last
    food was collected in that very step. And its reset takes the cells where players stood in the
    episode before for occupied; here an episode depends on its seed alone.

    Each player is paid its share of the food's level over the sum of all levels, so the players'
    rewards over an episode add up to at most 1. There is no picture: its renderer needs a window.

    Args:
        name: of a task, see ``arguments_of``.
        changed: arguments of ``lbforaging.foraging.ForagingEnv`` to give in place of the task's.

    Raises:
        ConfigurationError: a name of another form.
    """

    def __init__(self, name: str, **changed: Any) -> None:
        from lbforaging.foraging.environment import ForagingEnv

        arguments = arguments_of(name)
        if arguments is None:
            raise ConfigurationError(f"{name!r} is no task of lbforaging; one is {NAMES[0]!r}")
        super().__init__(ForagingEnv(**{**arguments, **changed}))
        self.max_steps: int = self.env._max_episode_steps

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[AgentID, Any], dict[AgentID, Any]]:
        for player in self.env.players:
            player.position = None
        return super().reset(seed, options)

    def step(self, actions: Mapping[AgentID, Any]) -> tuple[dict[AgentID, Any], ...]:
        observations, rewards, terminations, truncations, infos = super().step(actions)
        if not self.agents and self.env.field.any():
            terminations = dict.fromkeys(terminations, False)
            truncations = dict.fromkeys(truncations, True)
        return observations, rewards, terminations, truncations, infos
