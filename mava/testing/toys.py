"""Toy environments, each for one kind of fault at the border to PettingZoo environments."""

from __future__ import annotations

import copy
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
from gymnasium import spaces

from mava.testing.toy import Outcome, Toy, default_ids

FAULTS = (
    "raise",
    "nan_observation",
    "inf_observation",
    "nan_reward",
    "shape",
    "missing_observation",
    "missing_reward",
    "unknown_agent",
)


class Echo(Toy):
    """Shows ``[episode, time, agent]`` and pays the time; records actions and seeds.

    With the default length of 7 the return of an episode is 28 for each agent.
    """


class Const(Toy):
    """Constant observation 1 and reward 1; the end after ``length`` steps is a truncation or a
    termination. The value of each step is ``1 / (1 - discount)`` or, for length 1, 1."""

    def __init__(self, truncates: bool, length: int = 1, empties: bool = True) -> None:
        super().__init__(length=length, truncates=truncates, empties=empties)

    def observation_space(self, agent: Hashable) -> spaces.Space[Any]:
        return spaces.Box(0.0, 1.0, (1,), np.float32)

    def observe(self, agent: Hashable) -> Any:
        return np.ones(1, np.float32)

    def pay(self, agent: Hashable, action: Any) -> Any:
        return 1.0


class Masked(Toy):
    """One legal action per agent, another in each step; any other raises.

    Args:
        where: the mask is in the ``"observation"`` or in the ``"info"``.
        num_actions: of each agent.
        action_start: the first action; index ``i`` of the mask is action ``action_start + i``.
        none_from: from this time on the first agent's mask is all zeros and anything goes for it.
        toy: arguments of ``Toy``.
    """

    def __init__(
        self,
        where: str = "observation",
        num_actions: int = 30,
        action_start: int = 0,
        none_from: int | None = None,
        **toy: Any,
    ) -> None:
        super().__init__(num_actions=num_actions, action_start=action_start, **toy)
        self.where, self.none_from = where, none_from

    def observation_space(self, agent: Hashable) -> spaces.Space[Any]:
        plain = super().observation_space(agent)
        if self.where == "info":
            return plain
        mask = spaces.Box(0, 1, (self.num_actions,), np.int8)
        return spaces.Dict({"observation": plain, "action_mask": mask})

    def legal(self, agent: Hashable) -> int:
        """The index of the legal action."""
        index = self.possible_agents.index(agent)
        return (7 * self.time + 3 * index + self.episode) % self.num_actions

    def is_free(self, agent: Hashable) -> bool:
        late = self.none_from is not None and self.time >= self.none_from
        return late and agent == self.possible_agents[0]

    def mask(self, agent: Hashable) -> np.ndarray:
        mask = np.zeros(self.num_actions, np.int8)
        if not self.is_free(agent):
            mask[self.legal(agent)] = 1
        return mask

    def observe(self, agent: Hashable) -> Any:
        shown = super().observe(agent)
        if self.where == "info":
            return shown
        return {"observation": shown, "action_mask": self.mask(agent)}

    def inform(self, agent: Hashable) -> dict[str, Any]:
        return {"action_mask": self.mask(agent)} if self.where == "info" else {}

    def step(self, actions: dict[Hashable, Any]) -> Outcome:
        for agent, action in actions.items():
            right = self.action_start + self.legal(agent)
            if action != right and not self.is_free(agent):
                raise AssertionError(
                    f"action {action} of {agent!r} is illegal, only {right} is not"
                )
        return super().step(actions)


class Death(Masked):
    """Agent ``i`` is in the game for ``deaths[i]`` steps, 0 for not at all, and is paid 1 for each
    step and 10 for the one in which it dies.

    Args:
        deaths: one number per agent, or one such row per episode, taken in turn.
        where: as for ``Masked``, or ``None`` for no masks.
        toy: arguments of ``Toy``.
    """

    def __init__(
        self,
        deaths: Sequence[int] | Sequence[Sequence[int]] = (2, 4, 6),
        where: str | None = None,
        **toy: Any,
    ) -> None:
        rows: Any = [deaths] if isinstance(deaths[0], int) else deaths
        self.deaths: list[tuple[int, ...]] = [tuple(row) for row in rows]
        options = {"ids": default_ids(len(self.deaths[0])), "num_actions": 5, "length": 1000, **toy}
        super().__init__(where or "info", **options)
        self.shows_masks = where is not None

    def present(self) -> list[Hashable]:
        deaths = self.deaths[self.episode % len(self.deaths)]
        return [a for a, last in zip(self.possible_agents, deaths, strict=True) if self.time < last]

    def pay(self, agent: Hashable, action: Any) -> Any:
        return 1.0 if agent in self.present() else 10.0

    def is_free(self, agent: Hashable) -> bool:
        return not self.shows_masks or super().is_free(agent)

    def inform(self, agent: Hashable) -> dict[str, Any]:
        return super().inform(agent) if self.shows_masks else {}

    def step(self, actions: dict[Hashable, Any]) -> Outcome:
        outcome = super().step(actions)
        if self.empties and not self.present():
            self.agents = []
        return outcome


class Crash(Toy):
    """Does one thing wrong at a step, for its first agent.

    Args:
        at: the step, counted over all episodes, from 1.
        fault: one of ``FAULTS``.
        toy: arguments of ``Toy``.
    """

    def __init__(self, at: int, fault: str = "raise", **toy: Any) -> None:
        if fault not in FAULTS:
            raise ValueError(f"fault is one of {FAULTS}, not {fault!r}")
        super().__init__(**toy)
        self.at, self.fault, self.total = at, fault, 0

    def step(self, actions: dict[Hashable, Any]) -> Outcome:
        self.total += 1
        observations, rewards, terminations, truncations, infos = super().step(actions)
        if self.total == self.at:
            self._break(observations, rewards)
        return observations, rewards, terminations, truncations, infos

    def _break(self, observations: dict[Hashable, Any], rewards: dict[Hashable, Any]) -> None:
        agent = self.possible_agents[0]
        if self.fault == "raise":
            raise RuntimeError(f"crash at step {self.total}")
        if self.fault in ("nan_observation", "inf_observation"):
            observations[agent][1] = np.nan if self.fault == "nan_observation" else np.inf
        if self.fault == "nan_reward":
            rewards[agent] = float("nan")
        if self.fault == "shape":
            observations[agent] = np.zeros(4, np.float32)
        if self.fault == "missing_observation":
            del observations[agent]
        if self.fault == "missing_reward":
            del rewards[agent]
        if self.fault == "unknown_agent":
            self.agents = [*self.agents, "stranger"]


class Drift(Toy):
    """Returns other dtypes than its spaces say: float64 observations, rewards that are a Python int
    and a numpy float64, flags that are numpy bools, int8 masks in info."""

    def observe(self, agent: Hashable) -> Any:
        return super().observe(agent).astype(np.float64)

    def pay(self, agent: Hashable, action: Any) -> Any:
        first = agent == self.possible_agents[0]
        return int(self.time) if first else np.float64(self.time)

    def inform(self, agent: Hashable) -> dict[str, Any]:
        return {"action_mask": np.ones(self.num_actions, np.int8)}

    def step(self, actions: dict[Hashable, Any]) -> Outcome:
        observations, rewards, terminations, truncations, infos = super().step(actions)
        flags = {agent: np.bool_(flag) for agent, flag in terminations.items()}
        return observations, rewards, flags, truncations, infos


class Spaces(Toy):
    """Any observation and action spaces; observations are drawn from the first, from the reset's
    seed.

    Args:
        observations: per agent.
        actions: per agent; each action must lie in its space.
        toy: arguments of ``Toy``.
    """

    def __init__(
        self,
        observations: Mapping[Hashable, spaces.Space[Any]],
        actions: Mapping[Hashable, spaces.Space[Any]],
        **toy: Any,
    ) -> None:
        super().__init__(ids=tuple(observations), **toy)
        # Spaces hold a random generator, which two environments must not share.
        self._observations = copy.deepcopy(dict(observations))
        self._actions = copy.deepcopy(dict(actions))

    def observation_space(self, agent: Hashable) -> spaces.Space[Any]:
        return self._observations[agent]

    def action_space(self, agent: Hashable) -> spaces.Space[Any]:
        return self._actions[agent]

    def observe(self, agent: Hashable) -> Any:
        return self._observations[agent].sample()

    def step(self, actions: dict[Hashable, Any]) -> Outcome:
        for agent, action in actions.items():
            if not self._actions[agent].contains(action):
                raise AssertionError(f"{action!r} of {agent!r} is not in {self._actions[agent]}")
        return super().step(actions)
