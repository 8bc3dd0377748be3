"""Counts what happens in training, apart from training."""

from __future__ import annotations

from typing import Any

import numpy as np

from mava.topologies.base import Report
from mava.types import Array, EnvironmentSpec, TimeStep


class Tally:
    """Returns and lengths of training episodes, and means of training metrics, since the last
    report."""

    def __init__(self, spec: EnvironmentSpec, num_environments: int) -> None:
        self.episodes = 0
        self._agents = spec.num_agents
        self._running = np.zeros(num_environments)
        self._lengths = np.zeros(num_environments, int)
        self._returns: list[float] = []
        self._ended: list[int] = []
        self._metrics: list[dict[str, Array]] = []

    def step(self, following: TimeStep) -> None:
        """One vectorised outcome, leaves ``[E, ...]``."""
        for reward in following.reward.values():
            self._running += np.asarray(reward, np.float64).sum(-1)
        self._lengths += 1
        end = np.asarray(following.end)
        if end.any():
            for index in np.flatnonzero(end):
                self._returns.append(float(self._running[index]) / self._agents)
                self._ended.append(int(self._lengths[index]))
            self._running[end], self._lengths[end] = 0.0, 0
            self.episodes += int(end.sum())

    def trained(self, metrics: dict[str, Array]) -> None:
        """The metrics of one trainer step."""
        self._metrics.append(metrics)

    def forget(self, indices: list[int]) -> None:
        """Drops the open episodes of some environments."""
        self._running[indices], self._lengths[indices] = 0.0, 0

    def report(self) -> Report:
        """What happened since the last report."""
        names = [n for n in (self._metrics[0] if self._metrics else ()) if "/by_agent/" not in n]
        values = {name: tuple(float(m[name]) for m in self._metrics) for name in names}
        report = Report(values, tuple(self._returns), tuple(self._ended))
        self._returns, self._ended, self._metrics = [], [], []
        return report

    def state(self) -> dict[str, Any]:
        """What was not reported yet is not part of it: a report precedes every checkpoint."""
        return {
            "episodes": self.episodes,
            "running": self._running.copy(),
            "lengths": self._lengths.copy(),
        }

    def restore(self, state: dict[str, Any]) -> None:
        self.episodes = state["episodes"]
        self._running, self._lengths = state["running"].copy(), state["lengths"].copy()
        self._returns, self._ended, self._metrics = [], [], []
