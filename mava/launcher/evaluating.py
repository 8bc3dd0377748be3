"""Evaluations of a run, each with randomness of its own."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from mava.core.calling import call
from mava.core.evaluation import Evaluation
from mava.core.learner import Variables
from mava.core.lifecycle import Evaluate
from mava.topologies.base import Runner, of_seed, policy_of

_ABSOLUTE_FACTOR = 10


class Best(NamedTuple):
    """The best policy so far; a copy, since a runner may reuse the memory of its own."""

    variables: Variables
    evaluation: Evaluation

    @classmethod
    def of(cls, variables: Variables, evaluation: Evaluation) -> Best:
        return cls(jax.tree.map(jnp.copy, variables), evaluation)

    @property
    def step(self) -> int:
        return self.evaluation.step

    def is_beaten_by(self, evaluation: Evaluation) -> bool:
        """Of two equals the later is better: where nothing is earned yet, it has learnt longer."""
        mean = self.evaluation.mean_return
        return evaluation.mean_return >= mean or math.isnan(mean)


class Evaluator:
    """The system's evaluator, over the runner's own environments for it.

    The seed of an evaluation follows from the run's seed and the environment step alone.

    Attributes:
        should_stop: asked at each step of an evaluation, which it ends with ``Interrupted``.
    """

    def __init__(self, component: Evaluate, runner: Runner, seed: int, jit: bool = True) -> None:
        self.should_stop: Callable[[], bool] = lambda: False
        self._component = component
        self._runner = runner
        self._seed = seed
        self._jit = jit

    def evaluate(self, variables: Variables, step: int) -> Evaluation:
        """Evaluates the greedy policy after ``step`` environment steps."""
        return self._run(self._component, variables, step, stream=0)

    def absolute_metric(self, best: Best) -> Evaluation | None:
        """The same on ten times the episodes; ``None`` for an evaluator without ``episodes``."""
        component = longer(self._component)
        return None if component is None else self._run(component, best.variables, best.step, 1)

    def _run(self, component: Evaluate, variables: Variables, step: int, stream: int) -> Evaluation:
        if not hasattr(self, "_policy"):
            # Made once: what compiles the policy recognises it by its function.
            self._policy = policy_of(self._runner.program, variables, self._jit)
            self._environments = self._runner.episode_runner()
            self._environments.should_stop = lambda: self.should_stop()
        seeds = self._runner.num_seeds
        found = []
        for index in range(seeds):
            act = self._policy._replace(variables=of_seed(variables, index, seeds))
            seed = evaluation_seed(self._seed + index, step, stream)
            one: Evaluation = call(component, "evaluate", act, self._environments, seed)
            found.append(one.at(step))
        return found[0] if seeds == 1 else Evaluation.of_seeds(found)


def longer(component: Evaluate) -> Evaluate | None:
    fields = {f.name for f in dataclasses.fields(component)}  # type: ignore[arg-type]
    if "episodes" not in fields:
        return None
    episodes = _ABSOLUTE_FACTOR * component.episodes  # type: ignore[attr-defined]
    return dataclasses.replace(component, episodes=episodes)  # type: ignore[type-var]


def evaluation_seed(seed: int, step: int, stream: int) -> int:
    """A seed below 2**31, from the run's seed, the environment step and the purpose."""
    words = np.random.SeedSequence(seed, spawn_key=(stream, step)).generate_state(1)
    return int(words[0]) >> 1
