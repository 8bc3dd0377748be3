"""Environments of ``jumanji`` (Bonnet et al., 2024) as ``JaxEnvironment``."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
from collections.abc import Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from mava.environments.jumanji.tasks import Cleaning, Connecting, Task, Warehouse
from mava.environments.members import members_of
from mava.environments.packaged import (
    Inside,
    Moment,
    PackagedEnvironment,
    check_arguments,
    taken,
)
from mava.errors import ConfigurationError
from mava.types import ArraySpec, DiscreteActions, EnvironmentSpec, GroupSpec, PyTree


class _Kind(NamedTuple):
    """Rules, the environment's class, that of its generator, and what it generates by default."""

    rules: type[Task]
    constructor: str
    generator: str
    defaults: dict[str, Any]


_ROUTING = "jumanji.environments.routing"
_KINDS = {
    "Cleaner-v0": _Kind(
        Cleaning,
        "Cleaner",
        "cleaner.generator:RandomGenerator",
        {"num_rows": 10, "num_cols": 10, "num_agents": 3},
    ),
    "Connector-v3": _Kind(
        Connecting,
        "Connector",
        "connector.generator:RandomWalkGenerator",
        {"grid_size": 10, "num_agents": 10},
    ),
    "LevelBasedForaging-v0": _Kind(
        Task,
        "LevelBasedForaging",
        "lbf.generator:RandomGenerator",
        {"grid_size": 8, "fov": 8, "num_agents": 2, "num_food": 2, "force_coop": True},
    ),
    "RobotWarehouse-v0": _Kind(
        Warehouse,
        "RobotWarehouse",
        "robot_warehouse.generator:RandomGenerator",
        {
            "shelf_rows": 2,
            "shelf_columns": 3,
            "column_height": 8,
            "num_agents": 4,
            "sensor_range": 1,
            "request_queue_size": 8,
        },
    ),
}


@dataclasses.dataclass(frozen=True)
class JumanjiEnvironment(PackagedEnvironment):
    """An environment of ``jumanji`` by its name in ``make``, such as
    ``jumanji/LevelBasedForaging-v0``.

    Arguments of the environment's generator, such as ``num_agents``, are given as its own.
    Observations are float32. Where the package pays a team one reward, all agents get it.
    """

    def build(self) -> Inside:
        kind = _KINDS[self.name.partition("/")[2]]
        env = _made(self.name, kind, dict(self.kwargs))
        return _Agents(self.name, kind.rules(env), self.groups)


class _Agents(Inside):
    def __init__(self, name: str, task: Task, groups: Any) -> None:
        self.env, self.task = task.env, task
        _, shown = jax.eval_shape(self.env.reset, jax.random.key(0))
        views = jax.eval_shape(task.observed, shown.observation)
        agents = [f"agent_{index}" for index in range(self.env.num_agents)]
        seen = ArraySpec(views.shape[1:], np.dtype(np.float32))
        acts = DiscreteActions(shown.observation.action_mask.shape[1])
        members = members_of(name, agents, dict.fromkeys(agents, (seen, acts)), groups)
        self.rows = {
            group: np.array([agents.index(str(agent)) for agent in ids])
            for group, ids in members.items()
        }
        self.spec = EnvironmentSpec(
            name,
            tuple(GroupSpec(group, tuple(ids), seen, acts) for group, ids in members.items()),
            metrics=tuple(sorted(shown.extras)),
            episode_limit=int(self.env.time_limit),
        )

    def reset(self, key: jax.Array) -> tuple[PyTree, Moment]:
        state, timestep = self.env.reset(key)
        return state, self._moment(timestep, jnp.zeros(self.env.num_agents, bool))

    def step(
        self, key: jax.Array, state: PyTree, actions: Mapping[str, jax.Array], alive: jax.Array
    ) -> tuple[PyTree, Moment]:
        joint = jnp.zeros(self.env.num_agents, jnp.int32)
        for group, rows in self.rows.items():
            joint = joint.at[rows].set(actions[group])
        joint = jnp.where(alive, joint, 0)
        after, timestep = self.env.step(state, joint)
        return after, self._moment(timestep, self.task.terminated(state, joint, after, timestep))

    def render(self, state: PyTree) -> np.ndarray | None:
        return self.task.render(state)

    def _moment(self, timestep: Any, terminated: jax.Array) -> Moment:
        views = self.task.observed(timestep.observation)
        end = timestep.last()
        return Moment(
            observation={group: taken(views, rows) for group, rows in self.rows.items()},
            legal={
                group: taken(timestep.observation.action_mask, rows)
                for group, rows in self.rows.items()
            },
            reward=jnp.broadcast_to(timestep.reward, terminated.shape),
            terminated=terminated,
            truncated=jnp.broadcast_to(end, terminated.shape),
            end=end,
            state=None,
            metrics=timestep.extras,
        )


def _made(name: str, kind: _Kind, kwargs: dict[str, Any]) -> Any:
    constructor = getattr(importlib.import_module("jumanji.environments"), kind.constructor)
    module, _, attribute = kind.generator.partition(":")
    generator = getattr(importlib.import_module(f"{_ROUTING}.{module}"), attribute)
    own = set(inspect.signature(constructor).parameters) - {"viewer"}
    generated = set(inspect.signature(generator).parameters)
    check_arguments(name, kwargs, own | generated)
    given = {key: kwargs.pop(key) for key in generated & set(kwargs)}
    if given and "generator" in kwargs:
        raise ConfigurationError(
            f"{name}: generator= or its arguments ({', '.join(given)}), not both"
        )
    try:
        if given:
            kwargs["generator"] = generator(**{**kind.defaults, **given})
        return constructor(**kwargs)
    except (AssertionError, TypeError, ValueError) as error:
        raise ConfigurationError(f"{name}: {error}") from error
