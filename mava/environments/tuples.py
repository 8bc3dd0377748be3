"""Multi-agent environments of Gymnasium's single-agent interface: agents are places in tuples."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from mava.errors import ConfigurationError
from mava.types import AgentID

if TYPE_CHECKING:
    from gymnasium import spaces


_MASK = "action_mask"


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
    are listed, and given an action, until each has a flag. An info may be a sequence too, or a
    dictionary by agent; else it is every agent's, save that ``action_mask`` in it has one mask for
    each.

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
        observations, info = self.env.reset(seed=seed, options=options)
        self.agents = list(self.possible_agents)
        return self._named(observations), self._infos(info)

    def step(self, actions: Mapping[AgentID, Any]) -> tuple[dict[AgentID, Any], ...]:
        joint = tuple([actions[agent] for agent in self.possible_agents])
        observations, rewards, terminated, truncated, info = self.env.step(joint)
        terminations, truncations = self._named(terminated), self._named(truncated)
        if all(terminations[agent] or truncations[agent] for agent in self.agents):
            self.agents = []
        rewards, infos = self._named(rewards), self._infos(info)
        return self._named(observations), rewards, terminations, truncations, infos

    def render(self) -> Any:
        return self.env.render()

    def close(self) -> None:
        self.env.close()

    def _named(self, values: Any) -> dict[AgentID, Any]:
        """By agent, from one value for each, or one for all."""
        if isinstance(values, (tuple, list, np.ndarray)):
            return dict(zip(self.possible_agents, values, strict=True))
        return dict.fromkeys(self.possible_agents, values)

    def _infos(self, info: Any) -> dict[AgentID, Any]:
        """By agent; a mask in each where there is one for each."""
        if not info:
            return {}
        if not isinstance(info, Mapping):
            return self._named(info)
        if any(agent in info for agent in self.possible_agents):
            return dict(info)
        masks = info.get(_MASK)
        if masks is None:
            return self._named(info)
        return {agent: {**info, _MASK: mask} for agent, mask in self._named(masks).items()}
