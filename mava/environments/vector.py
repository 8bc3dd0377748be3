"""Several environments of one kind, stepped together by the host."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from mava.environments.base import Actions
from mava.environments.episodes import (
    ActionRecord,
    OpenEpisode,
    pickled,
    unpickled,
    why_not_replayed,
)
from mava.environments.factory import Buildable
from mava.environments.finite import check_finite
from mava.environments.host import to_host
from mava.environments.seeds import episode_seed
from mava.errors import ConfigurationError, EnvironmentFault
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

    Raises:
        ConfigurationError: fewer than one environment, or as ``factory.build``.
    """

    def __init__(
        self, factory: Buildable, num_environments: int, seed: int, stream: int = 0
    ) -> None:
        if num_environments < 1:
            raise ConfigurationError(
                f"num_environments is {num_environments}; it must be at least 1"
            )
        self._environments = [to_host(factory.build()) for _ in range(num_environments)]
        self._seed, self._stream = seed, stream
        self._spec = self._environments[0].spec
        self._records = [ActionRecord(self._spec) for _ in self._environments]
        self._episodes = [-1] * num_environments
        self._seeds = [0] * num_environments
        self._shown: list[TimeStep] = [self._spec.zero_timestep()] * num_environments
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
            EnvironmentFault: an environment failed, or showed what is not finite, or five of its
                episodes in a row were over at once.
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
            EnvironmentFault: an environment failed, or gave a reward, observation or state that is
                not finite; names the environment's index, and the step of its episode.
        """
        taken = {name: np.asarray(value) for name, value in actions.items()}
        outcomes = []
        for index, environment in enumerate(self._environments):
            own = {name: value[index] for name, value in taken.items()}
            self._records[index].append(own)
            try:
                outcome = environment.step(own)
                if not environment.checks_finite:
                    outcome = check_finite(
                        outcome, self._spec, self._where(index), self._shown[index]
                    )
            except EnvironmentFault as error:
                raise self._fault(index, error) from error
            self._shown[index] = outcome
            outcomes.append(outcome)
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
                if not self._environments[index].checks_finite:
                    timestep = check_finite(timestep, self._spec, self._where(index))
            except EnvironmentFault as error:
                raise self._fault(index, error) from error
            self._shown[index] = timestep
            if not timestep.end:
                return timestep
        raise EnvironmentFault(
            f"environment {index} of {self._spec.name}: {_RESETS} episodes in a row were over at "
            f"their reset; the last seed was {self._seeds[index]}"
        )

    def _where(self, index: int) -> str:
        return f"{self._spec.name}, step {self._records[index].steps}"

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
                self._records[index].steps,
                self._records[index].copy(),
                jax.tree.map(lambda leaf, i=index: np.array(leaf[i]), current),
                pickled(environment),
            )
            for index, environment in enumerate(self._environments)
        ]

    def restore(self, open_episodes: Sequence[OpenEpisode]) -> list[bool | str]:
        """Goes back to recorded episodes; ``current`` is then the timestep to act on.

        Each episode is played again from its seed and actions. Where that does not lead to the same
        timestep, and the same pickle where there is one, to the bit, the pickled environment is
        taken, and so it is for an episode of more than 100,000 steps, whose actions are not kept.
        Where there is none, a new episode starts. What neither the timestep nor a pickle shows is
        not seen: state that the seed does not decide, in an environment that does not pickle.

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
        why = why_not_replayed(self._environments[index], opened)
        if why is not None:
            environment = unpickled(opened, self._spec)
            if environment is None:
                message = (
                    f"environment {index} of {self._spec.name} starts a new episode: {why}, and "
                    "the environment does not pickle"
                )
                return self._start(index), message
            self._environments[index].close()
            self._environments[index] = environment
        self._records[index].go_on_from(opened)
        self._shown[index] = opened.timestep
        return opened.timestep, True

    def render(self, index: int = 0) -> np.ndarray | None:
        """The frame of one environment."""
        return self._environments[index].render()

    def close(self) -> None:
        for environment in self._environments:
            environment.close()


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
