"""Runs whole episodes of an act function in environments stepped by the host."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from mava.core.evaluation import ActFunction, Episodes
from mava.core.keys import address
from mava.environments.base import Environment, JaxEnvironment
from mava.environments.finite import check_finite
from mava.environments.host import to_host
from mava.environments.seeds import episode_seed
from mava.errors import EnvironmentFault
from mava.functional.loops import plain_python, vmap
from mava.types import EnvironmentSpec, PyTree, TimeStep

EVALUATION_STREAM = 1

MOST_STEPS = 100_000
"""An episode longer than this is taken for one that never ends."""

_TIMES_LIMIT = 10


class Interrupted(BaseException):
    """Episodes were given up, since ``should_stop`` said so. No ``except Exception`` of an
    evaluator's may keep it, so it is none."""


class HostEpisodes:
    """Episodes in up to ``num_environments`` environments side by side.

    Episode i has a seed and keys of its own, so how many environments there are changes nothing.
    They run in waves, one episode each: no episode is cut short, and none is counted for ending
    early.

    Attributes:
        should_stop: asked before every step.

    Args:
        make: an environment.
        num_environments: at most.
        most_steps: of an episode, where the environment does not tell its ``episode_limit``; where
            it does, ten times that.
    """

    def __init__(
        self,
        make: Callable[[], Environment | JaxEnvironment],
        num_environments: int = 8,
        most_steps: int = MOST_STEPS,
    ) -> None:
        self.should_stop: Callable[[], bool] = lambda: False
        self._make = make
        self._most = num_environments
        self._most_steps = most_steps
        self._environments: list[Environment] = []
        self._compiled: dict[Any, Callable[..., Any]] = {}

    def run(self, act: ActFunction, episodes: int, seed: int) -> Episodes:
        """See ``mava.core.evaluation.EpisodeRunner``.

        Raises:
            EnvironmentFault: the environment failed, or an episode does not end.
            Interrupted: ``should_stop`` said so.
        """
        width = min(self._most, episodes)
        while len(self._environments) < width:
            self._environments.append(to_host(self._make()))
        spec = self._environments[0].spec
        waves = [
            self._wave(act, spec, list(range(first, min(first + width, episodes))), width, seed)
            for first in range(0, episodes, width)
        ]
        returns, lengths, metrics = zip(*waves, strict=True)
        return Episodes(
            *(
                jax.tree.map(lambda *x: np.concatenate(x), *part)
                for part in (returns, lengths, metrics)
            )
        )

    def close(self) -> None:
        for environment in self._environments:
            environment.close()
        self._environments = []

    def _wave(
        self, act: ActFunction, spec: EnvironmentSpec, indices: list[int], width: int, seed: int
    ) -> tuple[dict[str, np.ndarray], np.ndarray, dict[str, np.ndarray]]:
        """One episode in each of ``width`` environments, of which ``len(indices)`` count."""
        environments = self._environments[: len(indices)]
        timesteps = [
            environment.reset(episode_seed(seed, EVALUATION_STREAM, 0, index))
            for environment, index in zip(environments, indices, strict=True)
        ]
        returns = {g.name: np.zeros((len(indices), g.num_agents)) for g in spec.groups}
        lengths = np.zeros(len(indices), int)
        step = self._step(act)
        key = address(jax.random.key(seed), "evaluate")
        numbers = np.asarray(indices + [indices[-1]] * (width - len(indices)), np.int32)
        memory = _repeated(act.init_memory(), width)
        t = 0
        with contextlib.nullcontext() if act.jit else plain_python():
            while not all(timestep.end for timestep in timesteps):
                self._check(spec, t)
                shown = timesteps + [timesteps[-1]] * (width - len(indices))
                actions, memory = step(
                    act.variables, memory, stack(shown), key, numbers, np.int32(t)
                )
                taken = {name: np.asarray(value) for name, value in actions.items()}
                for row, environment in enumerate(environments):
                    if timesteps[row].end:
                        continue
                    own = {name: value[row] for name, value in taken.items()}
                    before, timesteps[row] = timesteps[row], environment.step(own)
                    if not environment.checks_finite:
                        where = f"{spec.name}, evaluation, step {t + 1}"
                        timesteps[row] = check_finite(timesteps[row], spec, where, before)
                    lengths[row] += 1
                    for name, total in returns.items():
                        total[row] += timesteps[row].reward[name]
                t += 1
        metrics = {
            name: np.asarray([timestep.metrics[name] for timestep in timesteps], np.float64)
            for name in spec.metrics
        }
        return returns, lengths, metrics

    def _check(self, spec: EnvironmentSpec, t: int) -> None:
        """Before step ``t``."""
        if self.should_stop():
            raise Interrupted
        if t >= most_steps_of(spec, self._most_steps):
            raise EnvironmentFault(
                f"{spec.name}: an episode of evaluation has not ended after {t:,} steps; truncate "
                f"episodes, for example by the environment's max_cycles or gymnasium's TimeLimit"
            )

    def _step(self, act: ActFunction) -> Callable[..., Any]:
        """``act`` over environments; compiled once for each ``act.act``."""
        if (act.act, act.jit) not in self._compiled:

            def one(
                variables: PyTree,
                memory: PyTree,
                timestep: TimeStep,
                key: jax.Array,
                episode: jax.Array,
                t: jax.Array,
            ) -> tuple[dict[str, Any], PyTree]:
                return act.act(variables, memory, timestep, address(key, episode, t))

            mapped = vmap(one, in_axes=(None, 0, 0, None, 0, None))
            self._compiled[act.act, act.jit] = jax.jit(mapped) if act.jit else mapped
        return self._compiled[act.act, act.jit]


def most_steps_of(spec: EnvironmentSpec, otherwise: int = MOST_STEPS) -> int:
    """An episode that is longer than this is taken for one that never ends."""
    return _TIMES_LIMIT * spec.episode_limit if spec.episode_limit else otherwise


def stack(timesteps: list[TimeStep]) -> TimeStep:
    """Adds a leading axis."""
    return jax.tree.map(lambda *leaves: np.stack(leaves), *timesteps)  # type: ignore[no-any-return]


def _repeated(memory: PyTree, width: int) -> PyTree:
    return jax.tree.map(lambda x: np.broadcast_to(x, (width, *np.shape(x))), memory)
