"""JAX environments stepped by the host."""

from __future__ import annotations

import functools
from typing import Any

import jax
import numpy as np

from mava.environments.base import Actions, Environment, JaxEnvironment
from mava.types import EnvironmentSpec, PyTree, TimeStep


class HostEnvironment(Environment):
    """A JAX environment with a state of its own, numpy in and out.

    ``reset`` and ``step`` are compiled once for all environments that are equal, so a
    ``JaxEnvironment`` is best a frozen dataclass; it must be hashable.
    """

    def __init__(self, environment: JaxEnvironment) -> None:
        self._environment = environment
        self._state: PyTree = None

    @property
    def spec(self) -> EnvironmentSpec:
        return self._environment.spec

    def reset(self, seed: int) -> TimeStep:
        self._state, timestep = _reset(self._environment, jax.random.key(seed))
        return _to_numpy(timestep)

    def step(self, actions: Actions) -> TimeStep:
        self._state, timestep = _step(self._environment, self._state, dict(actions))
        return _to_numpy(timestep)

    def render(self) -> np.ndarray | None:
        return None if self._state is None else self._environment.render(self._state)

    def __getstate__(self) -> dict[str, Any]:
        return {"environment": self._environment, "state": jax.tree.map(_portable, self._state)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._environment = state["environment"]
        self._state = jax.tree.map(_restored, state["state"], is_leaf=_is_portable_key)


@functools.partial(jax.jit, static_argnums=0)
def _reset(environment: JaxEnvironment, key: jax.Array) -> tuple[PyTree, TimeStep]:
    return environment.reset(key)


@functools.partial(jax.jit, static_argnums=0)
def _step(environment: JaxEnvironment, state: PyTree, actions: Any) -> tuple[PyTree, TimeStep]:
    return environment.step(state, actions)


def to_host(environment: Environment | JaxEnvironment) -> Environment:
    """The environment as one that the host steps."""
    if isinstance(environment, JaxEnvironment):
        return HostEnvironment(environment)
    return environment


def _to_numpy(timestep: TimeStep) -> TimeStep:
    converted: TimeStep = jax.tree.map(np.asarray, jax.device_get(timestep))
    return converted


class _Key(tuple[str, np.ndarray]):
    """A typed random key on its way through pickle: implementation and data."""


def _portable(leaf: Any) -> Any:
    if isinstance(leaf, jax.Array) and jax.numpy.issubdtype(leaf.dtype, jax.dtypes.prng_key):
        return _Key((str(jax.random.key_impl(leaf)), np.asarray(jax.random.key_data(leaf))))
    return np.asarray(leaf)


def _is_portable_key(leaf: Any) -> bool:
    return isinstance(leaf, _Key)


def _restored(leaf: Any) -> Any:
    if isinstance(leaf, _Key):
        return jax.random.wrap_key_data(jax.numpy.asarray(leaf[1]), impl=leaf[0])
    return jax.numpy.asarray(leaf)
