"""Multi-agent environments of Gymnasium's single-agent interface: agents are places in tuples."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from mava.errors import ConfigurationError
from mava.types import AgentID

if TYPE_CHECKING:
    from gymnasium import spaces


def has_tuples(env: Any) -> bool:
    """Whether ``env`` has a tuple of spaces for observations and one for actions."""
    from gymnasium import spaces

    held = (getattr(env, "observation_space", None), getattr(env, "action_space", None))
    return all(isinstance(space, spaces.Tuple) for space in held)


class TupleAgents:
    """A ``gymnasium.Env`` of several agents, under PettingZoo's parallel interface.

    Its spaces are tuples with one space for each agent; observations, actions and rewards are
    sequences in the same order. Agents are called ``agent_0``, ``agent_1``, ... One number in place
    of a sequence of rewards is paid to every agent, and one flag holds for every agent. All agents
    are listed, and given an action, until each has a flag.

    Args:
        env: the environment.

    Raises:
        ConfigurationError: the tuples have other lengths, or none at all.
    """

    def __init__(self, env: Any) -> None:
        shown, acts = tuple(env.observation_space), tuple(env.action_space)
        if not shown or len(shown) != len(acts):
            raise ConfigurationError(
                f"{type(env).__name__}: {len(shown)} observation spaces and {len(acts)} action "
                "spaces; need one of each for every agent"
            )
        self.env = env
        self.possible_agents: list[AgentID] = [f"agent_{index}" for index in range(len(acts))]
        self.agents: list[AgentID] = []
        name = type(getattr(env, "unwrapped", env)).__name__
        self.metadata: dict[str, Any] = {"name": name, **(getattr(env, "metadata", None) or {})}
        self.render_mode: str | None = getattr(env, "render_mode", None)
        self._spaces: dict[AgentID, tuple[spaces.Space[Any], spaces.Space[Any]]] = {
            agent: (seen, act)
            for agent, seen, act in zip(self.possible_agents, shown, acts, strict=True)
        }

    def observation_space(self, agent: AgentID) -> spaces.Space[Any]:
        return self._spaces[agent][0]

    def action_space(self, agent: AgentID) -> spaces.Space[Any]:
        return self._spaces[agent][1]

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[AgentID, Any], dict[AgentID, Any]]:
        observations, _ = self.env.reset(seed=seed, options=options)
        self.agents = list(self.possible_agents)
        return self._named(observations), {}

    def step(self, actions: Mapping[AgentID, Any]) -> tuple[dict[AgentID, Any], ...]:
        joint = tuple([actions[agent] for agent in self.possible_agents])
        observations, rewards, terminated, truncated, _ = self.env.step(joint)
        terminations, truncations = self._named(terminated), self._named(truncated)
        if all(terminations[agent] or truncations[agent] for agent in self.agents):
            self.agents = []
        return self._named(observations), self._named(rewards), terminations, truncations, {}

    def render(self) -> Any:
        return self.env.render()

    def close(self) -> None:
        self.env.close()

    def _named(self, values: Any) -> dict[AgentID, Any]:
        """By agent, from one value for each, or one for all."""
        if isinstance(values, (tuple, list, np.ndarray)):
            return dict(zip(self.possible_agents, values, strict=True))
        return dict.fromkeys(self.possible_agents, values)
