"""Environments of PettingZoo's parallel interface."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mava.environments.base import Actions
from mava.environments.pettingzoo.adapter import PettingZooAdapter
from mava.environments.pettingzoo.groups import Group
from mava.types import AgentID, TimeStep

_RESET = ("observations", "infos")
_STEP = ("observations", "rewards", "terminations", "truncations", "infos")
_COUNTS = {2: "two", 5: "five"}


class PettingZooEnvironment(PettingZooAdapter):
    """A ``ParallelEnv`` as a Mava environment.

    The keys of each joint action given to the environment are exactly its ``agents``. An agent is
    alive while it is one of them and has no flag. Where the environment still lists an agent that
    it has flagged, that agent is given its first action.

    Args:
        env: follows ``pettingzoo.ParallelEnv``; it need not inherit from it.
        name: for messages and records; the environment's own by default.
        groups: the agents of each group; by default agents with equal spaces (the action mask set
            aside) form one. Rows follow ``possible_agents`` in either case.
        global_state: give ``env.state()`` as ``TimeStep.state``, in float32.
        reset_kwargs: passed to each ``env.reset`` beside the seed.

    Raises:
        mava.errors.ConfigurationError: a space that Mava has no form of, impossible ``groups``, or
            no ``possible_agents``.
    """

    def reset(self, seed: int) -> TimeStep:
        observations, infos = self._call_reset(seed)
        self._begin(self._env.agents)
        acting = None if len(self._live) == len(self._agents) else set(self._live)
        reward = self._zero_reward()
        return self._timestep(observations, infos or {}, reward, self._playing, acting, True)

    def step(self, actions: Actions) -> TimeStep:
        observations, rewards, terminations, truncations, infos = self._call_step(
            self._joint(actions)
        )
        before, live = self._live, self._env.agents
        acting = None
        if live != before or any(terminations.values()) or any(truncations.values()):
            self._mark(live, terminations, truncations)
        if len(self._live) != len(self._agents):
            acting = self._cut.union(self._live)
        reward = {group.name: self._rewards(group, rewards, before) for group in self._groups}
        return self._timestep(observations, infos or {}, reward, self._playing, acting, False)

    def _call_reset(self, seed: int) -> Any:
        return self._dictionaries("reset", _RESET, super()._call_reset(seed))

    def _call_step(self, action: Any) -> Any:
        return self._dictionaries("step", _STEP, super()._call_step(action))

    def _dictionaries(self, method: str, names: tuple[str, ...], outcome: Any) -> Any:
        parts = outcome if isinstance(outcome, (tuple, list)) else ()
        if len(parts) == len(names):
            for part in parts:
                if not isinstance(part, dict):
                    break
            else:
                return parts
            *others, infos = parts
            if all(isinstance(part, Mapping) for part in others) and (
                infos is None or isinstance(infos, Mapping)
            ):
                return parts
        given = f"({', '.join(type(part).__name__ for part in parts)})" if parts else repr(outcome)
        raise self._fault(
            f"{method}() must return {_COUNTS[len(names)]} dictionaries ({', '.join(names)}), got "
            f"{given:.200}"
        )

    def _joint(self, actions: Actions) -> dict[AgentID, Any]:
        values = self._decoded(actions)
        joint = {}
        for agent in self._env.agents:
            group, row = self._places[agent]
            alive = self._playing[group.name][row]
            joint[agent] = values[group.name][row] if alive else group.decoder.idle
        return joint

    def _rewards(self, group: Group, rewards: Mapping[AgentID, Any], before: list[AgentID]) -> Any:
        try:
            return self._reward(group, [rewards[agent] for agent in group.agents])
        except KeyError:
            pass
        for agent in group.agents:
            if agent in before and agent not in rewards:
                raise self._fault(f"agent {agent!r} acted and has no reward")
        return self._reward(group, [rewards.get(agent, 0.0) for agent in group.agents])
