"""A toy environment of PettingZoo's turn-based interface."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
from gymnasium import spaces
from pettingzoo import AECEnv

from mava.testing.toy import default_ids


class Turns(AECEnv[Hashable, Any, Any]):  # type: ignore[misc]
    """Agents move in turn; agent ``i`` dies right after turn ``deaths[i]`` of the game, counted
    from 1, whoever moved. The game terminates when nobody is left, and is truncated after
    ``length`` turns.

    The observation is ``[turn, agent, whether it is the agent's turn]``. A turn pays 1 to who
    moves, 0.5 to the others, and 10 more to whoever dies in it.

    Attributes:
        actions: ``(agent, action)`` of each call of ``step``, those with ``None`` included.
    """

    def __init__(
        self,
        deaths: Sequence[int] = (1000, 1000),
        length: int = 10,
        ids: Sequence[Hashable] | None = None,
    ) -> None:
        super().__init__()
        self.metadata = {"name": "turns", "is_parallelizable": False}
        self.render_mode = None
        self.possible_agents = list(default_ids(len(deaths)) if ids is None else ids)
        self.deaths = dict(zip(self.possible_agents, deaths, strict=True))
        self.length = length
        self.actions: list[tuple[Hashable, Any]] = []

    def observation_space(self, agent: Hashable) -> spaces.Space[Any]:
        return spaces.Box(0.0, np.inf, (3,), np.float32)

    def action_space(self, agent: Hashable) -> spaces.Space[Any]:
        return spaces.Discrete(3)

    def observe(self, agent: Hashable) -> Any:
        moves = agent == self.agent_selection
        return np.array([self.turn, self.possible_agents.index(agent), moves], np.float32)

    def reset(self, seed: int | None = None, options: Mapping[str, Any] | None = None) -> None:
        self.agents = list(self.possible_agents)
        self.turn = 0
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self.infos: dict[Hashable, Any] = {agent: {} for agent in self.agents}
        self._skip_agent_selection = None
        self.agent_selection = self.agents[0]

    def step(self, action: Any) -> None:
        mover = self.agent_selection
        self.actions.append((mover, action))
        if self.terminations[mover] or self.truncations[mover]:
            self._was_dead_step(action)
            return
        if action is None:
            raise AssertionError(f"{mover!r} is in the game and was given no action")
        self.turn += 1
        self._cumulative_rewards[mover] = 0.0
        for agent in self.agents:
            dies = self.deaths[agent] == self.turn
            self.rewards[agent] = (1.0 if agent == mover else 0.5) + (10.0 if dies else 0.0)
            self.terminations[agent] = dies
            self.truncations[agent] = self.turn >= self.length and not dies
        self._accumulate_rewards()
        self.agent_selection = self._next(mover)
        self._deads_step_first()

    def _next(self, mover: Hashable) -> Hashable:
        """The next agent in the game, or the mover where nobody is left."""
        order = self.possible_agents
        place = order.index(mover)
        circle = [*order[place + 1 :], *order[: place + 1]]
        return next((agent for agent in circle if self._plays(agent)), mover)

    def _plays(self, agent: Hashable) -> bool:
        if agent not in self.agents:
            return False
        return not (self.terminations[agent] or self.truncations[agent])

    def render(self) -> None:
        return None

    def close(self) -> None:
        return None
