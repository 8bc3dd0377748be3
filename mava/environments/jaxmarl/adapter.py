"""Environments of ``jaxmarl`` (Rutherford et al., 2024) as ``JaxEnvironment``."""

from __future__ import annotations

import contextlib
import dataclasses
import inspect
import io
import sys
from collections.abc import Iterator, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from mava.environments.jaxmarl.families import Family, family_of
from mava.environments.jaxmarl.names import CLASSES, registered
from mava.environments.members import members_of
from mava.environments.packaged import Inside, Moment, PackagedEnvironment, check_arguments
from mava.errors import ConfigurationError, nearest
from mava.types import (
    ActionSpec,
    AgentID,
    Array,
    ArraySpec,
    ContinuousActions,
    DiscreteActions,
    EnvironmentSpec,
    GroupSpec,
    MultiDiscreteActions,
    PyTree,
)


@dataclasses.dataclass(frozen=True)
class JaxMarlEnvironment(PackagedEnvironment):
    """An environment of ``jaxmarl`` by its name in ``make``, such as ``jaxmarl/smax/3m``.

    Observations and the global state are float32, whatever the package computes with. Its
    automatic reset is not used, so the last timestep holds the true last observation.
    """

    def build(self) -> Inside:
        task = self.name.partition("/")[2]
        name, scenario = registered(task)
        env = _made(self.name, name, scenario, dict(self.kwargs))
        return _Agents(self.name, env, family_of(name, env), self.groups)


class _Agents(Inside):
    def __init__(self, name: str, env: Any, family: Family, groups: Any) -> None:
        self.env, self.family = env, family
        observations, _ = jax.eval_shape(env.reset, jax.random.key(0))
        shapes = {agent: observations[agent].shape for agent in env.agents}
        acts = {agent: _actions(name, agent, env.action_space(agent)) for agent in env.agents}
        kinds = {agent: (shapes[agent], acts[agent]) for agent in env.agents}
        index = {agent: position for position, agent in enumerate(env.agents)}
        members = members_of(name, env.agents, kinds, groups)
        self.rows = {group: np.array([index[a] for a in ids]) for group, ids in members.items()}
        world = family.global_state(observations)
        self.spec = EnvironmentSpec(
            name,
            tuple(
                GroupSpec(group, tuple(ids), _float(shapes[ids[0]]), acts[ids[0]])
                for group, ids in members.items()
            ),
            None if world is None else _float(world.shape),
            family.metrics,
            family.limit(),
        )

    def reset(self, key: jax.Array) -> tuple[PyTree, Moment]:
        observations, state = self.env.reset(key)
        nobody = jnp.zeros(len(self.env.agents), bool)
        return state, self._moment(observations, state, nobody, (nobody, nobody), nobody[0])

    def step(
        self, key: jax.Array, state: PyTree, actions: Mapping[str, jax.Array], alive: jax.Array
    ) -> tuple[PyTree, Moment]:
        given: Mapping[Any, jax.Array] = {
            agent: actions[group.name][row]
            for group in self.spec.groups
            for row, agent in enumerate(group.agents)
        }
        given = self.family.replaced(given, alive)
        observations, after, rewards, dones, _ = self.env.step_env(key, state, dict(given))
        agents = self.env.agents
        done = jnp.stack([jnp.asarray(dones[agent], bool) for agent in agents])
        reward = jnp.stack([jnp.asarray(rewards[agent], jnp.float32) for agent in agents])
        ends = self.family.ends(state, given, after, done)
        return after, self._moment(observations, after, reward, ends, dones["__all__"])

    def render(self, state: PyTree) -> np.ndarray | None:
        return self.family.render(state)

    def _moment(
        self,
        observations: Mapping[Any, Any],
        state: PyTree,
        reward: jax.Array,
        ends: tuple[jax.Array, jax.Array],
        end: Any,
    ) -> Moment:
        legal = self.family.legal(state)
        return Moment(
            observation=self._stacked(observations),
            legal=None if legal is None else self._stacked(legal),
            reward=reward,
            terminated=ends[0],
            truncated=ends[1],
            end=jnp.asarray(end, bool),
            state=self.family.global_state(observations),
            metrics=self.family.measures(state),
        )

    def _stacked(self, values: Mapping[Any, Array]) -> dict[str, Array]:
        return {g.name: jnp.stack([values[agent] for agent in g.agents]) for g in self.spec.groups}


def _float(shape: tuple[int, ...]) -> ArraySpec:
    return ArraySpec(shape, np.dtype(np.float32))


def _actions(name: str, agent: AgentID, space: Any) -> ActionSpec:
    kind = type(space).__name__
    if kind == "Discrete":
        return DiscreteActions(int(space.n))
    if kind == "MultiDiscrete":
        return MultiDiscreteActions(tuple(np.asarray(space.num_categories).tolist()))
    if kind == "Box":
        shape = tuple(int(size) for size in np.atleast_1d(space.shape))
        low, high = (np.broadcast_to(np.asarray(b), shape) for b in (space.low, space.high))
        return ContinuousActions(
            shape, tuple(low.reshape(-1).tolist()), tuple(high.reshape(-1).tolist())
        )
    raise ConfigurationError(
        f"{name}: agent {agent!r} has an action space that Mava has no form of: {kind}"
    )


_SIZES = {
    *("scenario", "num_allies", "num_enemies"),
    *("smacv2_position_generation", "smacv2_unit_type_generation"),
}


def _made(name: str, task: str, scenario: str | None, kwargs: dict[str, Any]) -> Any:
    with _unheard():
        from jaxmarl import environments
    constructor = getattr(environments, CLASSES[task])
    # Those of the battle itself are what the enemy's environment passes on.
    battle = (environments.SMAX,) if task == "HeuristicEnemySMAX" else ()
    accepted = _accepted(constructor, *battle) - (_SIZES if scenario else set())
    check_arguments(name, kwargs, accepted)
    given = {**kwargs, **({"scenario": scenario} if scenario else {})}
    for key, known in _named(task).items():
        if isinstance(given.get(key), str):
            if given[key] not in known:
                hint = nearest(given[key], known)
                raise ConfigurationError(f"{name}: unknown {key} {given[key]!r}{hint}")
            given[key] = known[given[key]]
    try:
        return constructor(**given)
    except (AssertionError, TypeError, ValueError) as error:
        raise ConfigurationError(f"{name}: {error}") from error


@contextlib.contextmanager
def _unheard() -> Iterator[None]:
    """Importing the package prints, and leaves the process's own streams in place of those that
    were in use."""
    kept = sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__
    sys.stdout = sys.__stdout__ = io.StringIO()  # type: ignore[misc,assignment]
    try:
        yield
    finally:
        sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__ = kept  # type: ignore[misc]


def _accepted(*constructors: Any) -> set[str]:
    """The arguments of constructors and of those that they pass the rest to."""
    named: set[str] = set()
    for constructor in constructors:
        if not inspect.isclass(constructor):
            return set(inspect.signature(constructor).parameters)
        for kind in constructor.__mro__[:-1]:
            parameters = inspect.signature(vars(kind).get("__init__", lambda **_: None)).parameters
            named |= {p.name for p in parameters.values() if p.kind is p.POSITIONAL_OR_KEYWORD}
            if not any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
                break
    return named - {"self"}


def _named(task: str) -> dict[str, Mapping[str, Any]]:
    """Arguments that may be given by a name of the package's."""
    if task in ("SMAX", "HeuristicEnemySMAX"):
        from jaxmarl.environments.smax.smax_env import MAP_NAME_TO_SCENARIO

        return {"scenario": MAP_NAME_TO_SCENARIO}
    if task == "overcooked":
        from jaxmarl.environments.overcooked import overcooked_layouts

        return {"layout": overcooked_layouts}
    return {}
