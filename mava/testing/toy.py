"""What the toy environments share. Numpy, PettingZoo's parallel interface."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
from gymnasium import spaces
from pettingzoo import ParallelEnv

Ids = Sequence[Hashable]
Outcome = tuple[
    dict[Hashable, Any],
    dict[Hashable, Any],
    dict[Hashable, Any],
    dict[Hashable, Any],
    dict[Hashable, Any],
]


def default_ids(count: int) -> tuple[str, ...]:
    return tuple(f"agent_{index}" for index in range(count))


class Toy(ParallelEnv[Hashable, Any, Any]):  # type: ignore[misc]
    """A parallel environment with ``length`` steps and an observation ``[episode, time, agent]``.

    Args:
        ids: of the agents, any hashable values.
        length: steps of an episode; a sequence gives the lengths of the episodes in turn, and 0
            means an episode that is over at its reset.
        truncates: whether the end is a truncation or a termination.
        empties: whether ``agents`` is empty after the final step, as PettingZoo asks.
        num_actions: of each agent's ``Discrete``.
        action_start: its ``start``.

    Attributes:
        actions: each joint action that it was given.
        seeds: each reset's.
    """

    def __init__(
        self,
        ids: Ids = ("agent_0", "agent_1"),
        length: int | Sequence[int] = 7,
        truncates: bool = False,
        empties: bool = True,
        num_actions: int = 3,
        action_start: int = 0,
    ) -> None:
        self.metadata = {"name": type(self).__name__.lower()}
        self.possible_agents = list(ids)
        self.agents: list[Hashable] = []
        self.lengths = (length,) if isinstance(length, int) else tuple(length)
        self.truncates, self.empties = truncates, empties
        self.num_actions, self.action_start = num_actions, action_start
        self.render_mode = None
        self.episode, self.time = -1, 0
        self.actions: list[dict[Hashable, Any]] = []
        self.seeds: list[int | None] = []

    @property
    def length(self) -> int:
        return self.lengths[self.episode % len(self.lengths)]

    def observation_space(self, agent: Hashable) -> spaces.Space[Any]:
        return spaces.Box(0.0, np.inf, (3,), np.float32)

    def action_space(self, agent: Hashable) -> spaces.Space[Any]:
        return spaces.Discrete(self.num_actions, start=self.action_start)

    def observe(self, agent: Hashable) -> Any:
        """What an agent sees now."""
        index = self.possible_agents.index(agent)
        return np.array([self.episode, self.time, index], np.float32)

    def pay(self, agent: Hashable, action: Any) -> Any:
        """The agent's reward for the step that has just begun to count."""
        return float(self.time)

    def inform(self, agent: Hashable) -> dict[str, Any]:
        return {}

    def present(self) -> list[Hashable]:
        """The agents that are in the game at this time, before any end."""
        return list(self.possible_agents)

    def reset(
        self, seed: int | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[dict[Hashable, Any], dict[Hashable, Any]]:
        self.seeds.append(seed)
        self.episode += 1
        self.time = 0
        self.agents = self.present() if self.length else []
        return (
            {agent: self.observe(agent) for agent in self.agents},
            {agent: self.inform(agent) for agent in self.agents},
        )

    def step(self, actions: dict[Hashable, Any]) -> Outcome:
        if set(actions) != set(self.agents):
            raise AssertionError(f"actions for {list(actions)}, agents are {self.agents}")
        self.actions.append(dict(actions))
        acting = list(self.agents)
        self.time += 1
        over = self.time >= self.length
        remaining = self.present()
        left = {agent: agent not in remaining for agent in acting}
        rewards = {agent: self.pay(agent, actions[agent]) for agent in acting}
        terminations = {a: left[a] or (over and not self.truncates) for a in acting}
        truncations = {a: over and self.truncates and not left[a] for a in acting}
        if self.empties:
            self.agents = [] if over else remaining
        observations = {agent: self.observe(agent) for agent in acting}
        infos = {agent: self.inform(agent) for agent in acting}
        return observations, rewards, terminations, truncations, infos

    def render(self) -> None:
        return None

    def close(self) -> None:
        return None
