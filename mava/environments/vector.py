"""Several environments of one kind, stepped together by the host."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from mava.environments.base import Actions, Environment
from mava.environments.episodes import (
    ActionRecord,
    OpenEpisode,
    episode_seed,
    pickled,
    replay,
    same,
)
from mava.environments.factory import Buildable
from mava.environments.host import to_host
from mava.errors import EnvironmentFault
from mava.types import EnvironmentSpec, TimeStep

_RESETS = 5


class VectorEnvironment:
    """Steps ``num_environments`` environments in turn and starts their next episodes.

    Every array it returns is the caller's to keep: no later call writes to it.

    Args:
        factory: makes the environments; JAX environments are stepped by the host.
        num_environments: ``E``.
        seed: of the run. Each episode has its own seed, see ``episode_seed``.
        stream: keeps users of the same seed apart.
    """

    def __init__(
        self, factory: Buildable, num_environments: int, seed: int, stream: int = 0
    ) -> None:
        if num_environments < 1:
            raise ValueError(f"num_environments must be at least 1, got {num_environments}")
        self._environments = [to_host(factory.build()) for _ in range(num_environments)]
        self._seed, self._stream = seed, stream
        self._spec = self._environments[0].spec
        self._records = [ActionRecord(self._spec) for _ in self._environments]
        self._episodes = [-1] * num_environments
        self._seeds = [0] * num_environments
        self._current: TimeStep | None = None

    @property
    def spec(self) -> EnvironmentSpec:
        return self._spec

    @property
    def num_environments(self) -> int:
        return len(self._environments)

    @property
    def current(self) -> TimeStep:
        """The timestep to act on, ``[E]`` leading."""
        if self._current is None:
            raise ValueError("reset comes first")
        return self._current

    def reset(self) -> TimeStep:
        """Starts an episode in each environment; ``[E]`` leading.

        Raises:
            EnvironmentFault: an environment failed, or five of its episodes in a row were over at
                once.
        """
        self._current = _stack([self._start(index) for index in range(self.num_environments)])
        return self._current

    def step(self, actions: Actions) -> tuple[TimeStep, TimeStep]:
        """Takes the actions, per group ``[E, N, *actions.array.shape]``.

        Returns:
            The outcome, with the true last observations of episodes that ended, and the timestep to
            act on
            now: the same, except that where an episode ended it is the first of the next.

        Raises:
            EnvironmentFault: names the index of the environment that failed.
        """
        taken = {name: np.asarray(value) for name, value in actions.items()}
        outcomes = []
        for index, environment in enumerate(self._environments):
            own = {name: value[index] for name, value in taken.items()}
            self._records[index].append(own)
            try:
                outcomes.append(environment.step(own))
            except EnvironmentFault as error:
                raise self._fault(index, error) from error
        following = _stack(outcomes)
        ended = [index for index, outcome in enumerate(outcomes) if outcome.end]
        if ended:
            for index in ended:
                outcomes[index] = self._start(index)
            self._current = _stack(outcomes)
        else:
            self._current = following
        return following, self._current

    def _start(self, index: int) -> TimeStep:
        """Starts the next episode of one environment that is not over at its first timestep."""
        for _ in range(_RESETS):
            self._episodes[index] += 1
            self._seeds[index] = episode_seed(
                self._seed, self._stream, index, self._episodes[index]
            )
            self._records[index].clear()
            try:
                timestep = self._environments[index].reset(self._seeds[index])
            except EnvironmentFault as error:
                raise self._fault(index, error) from error
            if not timestep.end:
                return timestep
        raise EnvironmentFault(
            f"environment {index} of {self._spec.name}: {_RESETS} episodes in a row were over at "
            f"their reset; the last seed was {self._seeds[index]}"
        )

    def _fault(self, index: int, error: EnvironmentFault) -> EnvironmentFault:
        return EnvironmentFault(
            f"environment {index}, episode {self._episodes[index]} "
            f"(seed {self._seeds[index]}): {error}"
        )

    def open_episodes(self) -> list[OpenEpisode]:
        """What ``restore`` needs to go on from here: numbers, arrays and bytes."""
        current = self.current
        return [
            OpenEpisode(
                self._episodes[index],
                self._seeds[index],
                self._records[index].copy(),
                jax.tree.map(lambda leaf, i=index: np.array(leaf[i]), current),
                pickled(environment),
            )
            for index, environment in enumerate(self._environments)
        ]

    def restore(self, open_episodes: Sequence[OpenEpisode]) -> list[bool | str]:
        """Goes back to recorded episodes; ``current`` is then the timestep to act on.

        Each episode is played again from its seed and actions. Where that does not lead to the same
        timestep to the bit, the pickled environment is taken. Where there is none, a new episode
        starts.

        Returns:
            Per environment ``True``, or a message that says why it started a new episode.
        """
        if len(open_episodes) != self.num_environments:
            raise ValueError(
                f"{len(open_episodes)} episodes for {self.num_environments} environments"
            )
        timesteps, outcomes = [], []
        for index, opened in enumerate(open_episodes):
            timestep, outcome = self._reopen(index, opened)
            timesteps.append(timestep)
            outcomes.append(outcome)
        self._current = _stack(timesteps)
        return outcomes

    def _reopen(self, index: int, opened: OpenEpisode) -> tuple[TimeStep, bool | str]:
        self._episodes[index], self._seeds[index] = opened.episode, opened.seed
        try:
            reached = same(replay(self._environments[index], opened), opened.timestep)
            why = "playing it again from its seed and actions led to another timestep"
        except Exception as error:  # whatever fails, the pickled environment is next
            reached, why = False, f"playing it again failed: {error}"
        if not reached:
            unpickled = _unpickled(opened.pickled, self._spec)
            if unpickled is None:
                message = (
                    f"environment {index} of {self._spec.name} starts a new episode: {why}, and "
                    "the environment does not pickle"
                )
                return self._start(index), message
            self._environments[index].close()
            self._environments[index] = unpickled
        record = self._records[index]
        record.clear()
        for t in range(len(next(iter(opened.actions.values())))):
            record.append({name: taken[t] for name, taken in opened.actions.items()})
        return opened.timestep, True

    def render(self, index: int = 0) -> np.ndarray | None:
        """The frame of one environment."""
        return self._environments[index].render()

    def close(self) -> None:
        for environment in self._environments:
            environment.close()


def _unpickled(data: bytes | None, spec: EnvironmentSpec) -> Environment | None:
    if data is None:
        return None
    try:
        environment = pickle.loads(data)
    except Exception:  # as for pickling: it does not pickle
        return None
    fits = isinstance(environment, Environment) and environment.spec == spec
    return environment if fits else None


def _stack(timesteps: Sequence[TimeStep]) -> TimeStep:
    """Adds the leading ``[E]``; views where there is one environment."""
    if len(timesteps) == 1:
        return TimeStep(*map(_led, timesteps[0]))
    return TimeStep(*map(_joined, zip(*timesteps, strict=True)))


def _led(field: Any) -> Any:
    if type(field) is dict:
        return {name: leaf[None] for name, leaf in field.items()}
    return None if field is None else field[None]


def _joined(fields: tuple[Any, ...]) -> Any:
    if type(fields[0]) is dict:
        return {name: _join([field[name] for field in fields]) for name in fields[0]}
    return None if fields[0] is None else _join(fields)


def _join(leaves: Sequence[np.ndarray]) -> np.ndarray:
    # np.stack costs several microseconds a call, and these arrays are small and many.
    joined = np.empty((len(leaves), *leaves[0].shape), leaves[0].dtype)
    for index, leaf in enumerate(leaves):
        joined[index] = leaf
    return joined
