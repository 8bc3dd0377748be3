"""Wrappers for both kinds of environment, written once."""

from __future__ import annotations

import abc
import dataclasses
import functools
from collections.abc import Mapping
from typing import overload

import jax
import numpy as np

from mava.environments.base import Actions, Environment, JaxEnvironment
from mava.types import EnvironmentSpec, PyTree, TimeStep


class Wrapper(abc.ABC):
    """Changes timesteps on their way out of an environment, by what it carries along an episode.

    A frozen dataclass, whose methods take numpy and JAX arrays and return what they took.
    """

    @abc.abstractmethod
    def spec(self, spec: EnvironmentSpec) -> EnvironmentSpec:
        """Of what comes out, from that of what goes in."""

    @abc.abstractmethod
    def first(self, timestep: TimeStep) -> tuple[PyTree, TimeStep]:
        """What an episode's first timestep becomes, and what is carried on from it: a tree of
        arrays."""

    @abc.abstractmethod
    def following(self, carried: PyTree, timestep: TimeStep) -> tuple[PyTree, TimeStep]:
        """The same of any later timestep, the last of the episode among them. Writes to neither."""


class WrappedEnvironment(Environment):
    """An environment of the host and a wrapper around it."""

    def __init__(self, environment: Environment, wrapper: Wrapper) -> None:
        self._environment, self._wrapper = environment, wrapper
        self._spec = wrapper.spec(environment.spec)
        self._carried: PyTree = None

    @property
    def spec(self) -> EnvironmentSpec:
        return self._spec

    def reset(self, seed: int) -> TimeStep:
        self._carried, timestep = self._wrapper.first(self._environment.reset(seed))
        return timestep

    def step(self, actions: Actions) -> TimeStep:
        outcome = self._environment.step(actions)
        self._carried, timestep = self._wrapper.following(self._carried, outcome)
        return timestep

    def render(self) -> np.ndarray | None:
        return self._environment.render()

    def close(self) -> None:
        self._environment.close()


@dataclasses.dataclass(frozen=True)
class WrappedJaxEnvironment(JaxEnvironment):
    """A JAX environment and a wrapper around it; its state is the environment's and what the
    wrapper carries."""

    environment: JaxEnvironment
    wrapper: Wrapper

    @property
    def spec(self) -> EnvironmentSpec:
        return self.wrapper.spec(self.environment.spec)

    def reset(self, key: jax.Array) -> tuple[PyTree, TimeStep]:
        state, timestep = self.environment.reset(key)
        carried, timestep = self.wrapper.first(timestep)
        return (state, carried), timestep

    def step(self, state: PyTree, actions: Mapping[str, jax.Array]) -> tuple[PyTree, TimeStep]:
        inner, carried = state
        inner, timestep = self.environment.step(inner, actions)
        carried, timestep = self.wrapper.following(carried, timestep)
        return (inner, carried), timestep

    def render(self, state: PyTree) -> np.ndarray | None:
        return self.environment.render(state[0])


@overload
def wrap(environment: Environment, *wrappers: Wrapper) -> Environment: ...
@overload
def wrap(environment: JaxEnvironment, *wrappers: Wrapper) -> JaxEnvironment: ...
def wrap(
    environment: Environment | JaxEnvironment, *wrappers: Wrapper
) -> Environment | JaxEnvironment:
    """The environment inside the wrappers, the first of them innermost."""

    def around(
        inner: Environment | JaxEnvironment, wrapper: Wrapper
    ) -> Environment | JaxEnvironment:
        if isinstance(inner, JaxEnvironment):
            return WrappedJaxEnvironment(inner, wrapper)
        return WrappedEnvironment(inner, wrapper)

    return functools.reduce(around, wrappers, environment)
