"""Act functions, and what running whole episodes with one gives."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
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
    """

    step: int
    returns: tuple[float, ...]
    lengths: tuple[int, ...]
    agent_returns: dict[str, tuple[float, ...]]
    metrics: dict[str, float]

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

    def at(self, step: int) -> Evaluation:
        return dataclasses.replace(self, step=step)

    def as_json(self) -> dict[str, Any]:
        return {**dataclasses.asdict(self), "mean_return": self.mean_return}
