"""Act functions, and what running whole episodes with one gives."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import jax
import numpy as np

from mava.types import Array, PyTree, TimeStep


class ActFunction(NamedTuple):
    """A policy as pure functions of one environment. An evaluator needs nothing else.

    Attributes:
        act: variables, memory, timestep, key -> actions by group, memory.
        init_memory: the memory before an episode's first step.
        variables: what ``act`` reads; passed as an argument so that new values compile nothing.
        jit: whether ``act`` may be compiled; ``False`` for plain Python.
    """

    act: Callable[[PyTree, PyTree, TimeStep, jax.Array], tuple[dict[str, Array], PyTree]]
    init_memory: Callable[[], PyTree] = tuple
    variables: PyTree = ()
    jit: bool = True


class Episodes(NamedTuple):
    """Whole episodes, each counted once.

    Attributes:
        agent_returns: per group, float64 ``[episodes, N]``; the undiscounted sum of each agent's
            own rewards.
        lengths: int ``[episodes]``, in environment steps.
        metrics: the environment's own scalars at the end of each episode, ``[episodes]`` by name.
    """

    agent_returns: dict[str, np.ndarray]
    lengths: np.ndarray
    metrics: dict[str, np.ndarray]

    @property
    def returns(self) -> np.ndarray:
        """Float64 ``[episodes]``: the mean over all agents of their returns."""
        joined = np.concatenate(list(self.agent_returns.values()), axis=-1)
        return np.asarray(joined.mean(-1))


class EpisodeRunner(Protocol):
    """An environment that a topology offers to evaluators."""

    def run(self, act: ActFunction, episodes: int, seed: int) -> Episodes:
        """Runs exactly ``episodes`` whole episodes; the same seed gives the same ones, however many
        environments run side by side."""


@dataclasses.dataclass(frozen=True)
class Evaluation:
    """One evaluation.

    Attributes:
        step: environment steps of training before it.
        returns: per episode, the mean over agents of their undiscounted returns.
        lengths: per episode, in environment steps.
        agent_returns: the mean return of each agent, by group in the order of its agents.
        metrics: means over episodes of the environment's own scalars.
        seeds: where several runs were trained together, the evaluation of each; the other fields
            are then of all their episodes. Empty for a single run.
    """

    step: int
    returns: tuple[float, ...]
    lengths: tuple[int, ...]
    agent_returns: dict[str, tuple[float, ...]]
    metrics: dict[str, float]
    seeds: tuple[Evaluation, ...] = ()

    @property
    def mean_return(self) -> float:
        return float(np.mean(self.returns))

    @classmethod
    def of(cls, episodes: Episodes, step: int = 0) -> Evaluation:
        return cls(
            step=step,
            returns=tuple(float(x) for x in episodes.returns),
            lengths=tuple(int(x) for x in episodes.lengths),
            agent_returns={
                group: tuple(float(x) for x in returns.mean(0))
                for group, returns in episodes.agent_returns.items()
            },
            metrics={name: float(values.mean()) for name, values in episodes.metrics.items()},
        )

    @classmethod
    def of_seeds(cls, seeds: Sequence[Evaluation]) -> Evaluation:
        """One of runs that were trained together, from one of each."""
        groups, names = seeds[0].agent_returns, seeds[0].metrics
        return cls(
            step=seeds[0].step,
            returns=tuple(x for one in seeds for x in one.returns),
            lengths=tuple(x for one in seeds for x in one.lengths),
            agent_returns={
                group: tuple(np.mean([one.agent_returns[group] for one in seeds], axis=0).tolist())
                for group in groups
            },
            metrics={name: float(np.mean([one.metrics[name] for one in seeds])) for name in names},
            seeds=tuple(seeds),
        )

    @property
    def best_seed(self) -> int:
        """The index of the run with the highest mean return; 0 for a single run."""
        returns = [one.mean_return for one in self.seeds]
        return int(np.nanargmax(returns)) if np.any(np.isfinite(returns)) else 0

    def at(self, step: int) -> Evaluation:
        return dataclasses.replace(self, step=step)

    def as_json(self) -> dict[str, Any]:
        return {**dataclasses.asdict(self), "mean_return": self.mean_return}
