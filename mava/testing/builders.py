"""Small values for tests of one component: specifications, timesteps, batches and contexts.

Everything is made from a specification and a seed, so a test of a component builds nothing else.
"""

from __future__ import annotations

import pathlib
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from mava.core.contexts import (
    ActContext,
    Batch,
    GroupContext,
    LearnContext,
    Params,
    Transition,
    Unrolled,
    UnrolledValues,
)
from mava.core.evaluation import ActFunction, Episodes, Evaluation
from mava.core.observing import Progress, Run
from mava.types import (
    ActionSpec,
    Array,
    ArraySpec,
    ContinuousActions,
    DiscreteActions,
    EnvironmentSpec,
    GroupSpec,
    MultiDiscreteActions,
    PyTree,
    TimeStep,
)


def group_spec(
    count: int = 2,
    observation: tuple[int, ...] = (3,),
    actions: ActionSpec | int = 4,
    name: str = "agents",
    dtype: Any = np.float32,
) -> GroupSpec:
    """``count`` agents called ``{name}_{index}``; a number of actions stands for ``Discrete``."""
    ids = tuple(f"{name}_{index}" for index in range(count))
    actions = DiscreteActions(actions) if isinstance(actions, int) else actions
    return GroupSpec(name, ids, ArraySpec(observation, np.dtype(dtype)), actions)


def environment_spec(*groups: GroupSpec, state: int | None = None) -> EnvironmentSpec:
    """An environment of these groups, with a global state of ``state`` numbers."""
    shape = None if state is None else ArraySpec((state,), np.dtype(np.float32))
    return EnvironmentSpec("test/made_up", groups or (group_spec(),), state=shape)


BOX = ContinuousActions((2,), (-1.0, 0.0), (1.0, 5.0))

DISCRETE_SPECS: dict[str, EnvironmentSpec] = {
    "vector": environment_spec(group_spec(3), state=5),
    "two_groups": environment_spec(
        group_spec(1, (2,), 2, "scouts"), group_spec(2, (3,), 4, "carriers"), state=4
    ),
    "image": environment_spec(group_spec(2, (5, 5, 2), 3, dtype=np.uint8), state=2),
}
"""One group; two groups of other sizes, one of them of a single agent; images of bytes."""

CONTINUOUS_SPECS: dict[str, EnvironmentSpec] = {
    "vector": environment_spec(group_spec(3, actions=BOX), state=5),
    "two_groups": environment_spec(
        group_spec(1, (2,), BOX, "scouts"),
        group_spec(2, (3,), ContinuousActions((1,), (-2.0,), (-1.0,)), "carriers"),
    ),
}


def random_array(spec: ArraySpec, rng: np.random.Generator, *leading: int) -> np.ndarray:
    """Standard normal numbers, or small integers where the dtype is one."""
    shape = (*leading, *spec.shape)
    if spec.dtype.kind == "f":
        return np.asarray(rng.normal(size=shape), spec.dtype)
    return rng.integers(0, 256 if spec.dtype == np.uint8 else 2, shape).astype(spec.dtype)


def random_legal(actions: ActionSpec, rng: np.random.Generator, *leading: int) -> np.ndarray:
    """Masks ``[*leading, A]`` under which at least the first action is legal."""
    legal = rng.random((*leading, actions.num_choices)) < 0.6
    first = [0]
    if isinstance(actions, MultiDiscreteActions):
        first = [0, *np.cumsum(actions.num_actions)[:-1].tolist()]
    if actions.num_choices:
        legal[..., first] = True
    return legal


def random_actions(
    group: GroupSpec, legal: Array, rng: np.random.Generator, *leading: int
) -> Array:
    """Actions ``[*leading, N, *actions.array.shape]``, legal where they are a choice."""
    actions, shape = group.actions, (*leading, group.num_agents)
    if isinstance(actions, DiscreteActions):
        draws = np.where(legal, rng.random(legal.shape), -1.0)
        return np.asarray(draws.argmax(-1), np.int32)
    if isinstance(actions, ContinuousActions):
        drawn = rng.uniform(actions.low, actions.high, (*shape, len(actions.low)))
        return np.asarray(drawn.reshape(*shape, *actions.shape), np.float32)
    return np.zeros((*shape, *actions.array.shape), np.int32)


def timestep(spec: EnvironmentSpec, seed: int = 0, start: bool = False) -> TimeStep:
    """A timestep of random observations, masks, rewards and global state; all agents alive."""
    rng = np.random.default_rng(seed)
    zero = spec.zero_timestep()
    return zero._replace(
        observation={g.name: random_array(g.observation, rng, g.num_agents) for g in spec.groups},
        legal_actions={g.name: random_legal(g.actions, rng, g.num_agents) for g in spec.groups},
        reward={g.name: rng.normal(size=g.num_agents).astype(np.float32) for g in spec.groups},
        start=np.asarray(start),
        state=None if spec.state is None else random_array(spec.state, rng),
    )


def transition(spec: EnvironmentSpec, seed: int = 0, memory: PyTree = ()) -> Transition:
    """A transition in the middle of an episode."""
    rng = np.random.default_rng(seed)
    now, after = timestep(spec, 2 * seed), timestep(spec, 2 * seed + 1)
    action = {g.name: random_actions(g, now.legal_actions[g.name], rng) for g in spec.groups}
    return Transition(now, action, {g.name: {} for g in spec.groups}, memory, after)


def batch(spec: EnvironmentSpec, size: int = 4, length: int = 2, seed: int = 0) -> Batch:
    """Fields ``[B, T, ...]`` as ``RecordTransition`` stores them, and what other components add to
    them: ``state``, ``next_state``, ``discount``, ``individual_reward``, ``next_alive``,
    ``probability`` and ``importance_weight``; of policies ``extras`` (``log_prob``), ``advantage``,
    ``value`` and ``value_target``.

    One agent in four is dead, one transition in four terminates, and episodes end now and then.
    """
    rng = np.random.default_rng(seed)
    lead = (size, length)
    agents = {g.name: (*lead, g.num_agents) for g in spec.groups}

    def flags(share: float) -> dict[str, np.ndarray]:
        return {name: rng.random(shape) < share for name, shape in agents.items()}

    def observations() -> dict[str, np.ndarray]:
        return {g.name: random_array(g.observation, rng, *agents[g.name]) for g in spec.groups}

    def numbers() -> dict[str, np.ndarray]:
        return {n: rng.normal(size=shape).astype(np.float32) for n, shape in agents.items()}

    def masks() -> dict[str, np.ndarray]:
        return {g.name: random_legal(g.actions, rng, *agents[g.name]) for g in spec.groups}

    legal, terminated = masks(), flags(0.25)
    fields: Batch = {
        "observation": observations(),
        "legal_actions": legal,
        "action": {g.name: random_actions(g, legal[g.name], rng, *lead) for g in spec.groups},
        "reward": numbers(),
        "termination": terminated,
        "truncation": {name: np.zeros(shape, bool) for name, shape in agents.items()},
        "alive": flags(0.75),
        "next_observation": observations(),
        "next_legal_actions": masks(),
        "start": rng.random(lead) < 0.2,
        "end": rng.random(lead) < 0.2,
        "discount": {n: np.where(x, 0.0, 0.9).astype(np.float32) for n, x in terminated.items()},
        "individual_reward": numbers(),
        "next_alive": {n: ~x for n, x in terminated.items()},
        "probability": rng.uniform(0.1, 1.0, size).astype(np.float32),
        "importance_weight": rng.uniform(0.1, 1.0, size).astype(np.float32),
    }
    if spec.state is not None:
        fields["state"] = random_array(spec.state, rng, *lead)
        fields["next_state"] = random_array(spec.state, rng, *lead)
    fields["extras"] = {n: {"log_prob": -np.abs(x)} for n, x in numbers().items()}
    fields |= {name: numbers() for name in ("advantage", "value", "value_target")}
    return jax.tree.map(jnp.asarray, fields)  # type: ignore[no-any-return]


def group_context(group: GroupSpec, state: PyTree = ()) -> GroupContext:
    return GroupContext(group, state)


def act_context(
    group: GroupSpec,
    clock: int | Array = 0,
    key: int | jax.Array = 0,
    explore: bool = True,
    state: PyTree = (),
) -> ActContext:
    """``key`` may be a seed."""
    key = jax.random.key(key) if isinstance(key, int) else key
    return ActContext(group, state, jnp.asarray(clock, jnp.int32), key, explore)


def fixed_scores(
    scores: dict[str, Array], next_scores: dict[str, Array]
) -> Callable[[Params, Batch], Unrolled]:
    """An ``unroll`` that gives these scores whatever the parameters."""
    return lambda params, batch: Unrolled(scores, lambda: next_scores)


def learn_context(
    spec: EnvironmentSpec,
    target_params: Params | None = None,
    updates: int | Array = 0,
    key: int | jax.Array = 0,
    unroll: Callable[[Params, Batch], Unrolled] | None = None,
    value: Callable[[Params, Batch], UnrolledValues] | None = None,
    mix: Callable[..., Array] | None = None,
) -> LearnContext:
    """A context on one device; calling a function that was not given fails the test."""

    def missing(*args: Any) -> Any:
        raise AssertionError("this test gave the context no such function")

    return LearnContext(
        spec=spec,
        target_params={} if target_params is None else target_params,
        updates=jnp.asarray(updates, jnp.int32),
        key=jax.random.key(key) if isinstance(key, int) else key,
        all_mean=lambda tree: tree,
        unroll=unroll or missing,
        value=value or missing,
        mix=mix or missing,
    )


class ConstantEpisodes:
    """An ``EpisodeRunner`` that plays nothing."""

    def run(self, act: ActFunction, episodes: int, seed: int) -> Episodes:
        returns = {"agents": np.zeros((episodes, 2))}
        return Episodes(returns, np.ones(episodes, int), {})


def run(run_dir: pathlib.Path | None = None) -> Run:
    spec = environment_spec()
    return Run("madqn", spec.name, "single_process", 0, 100, spec, run_dir)


def progress(step: int) -> Progress:
    return Progress(step, step // 10, step // 25, 100, step / 100, 1.5, evaluation(step))


def evaluation(step: int) -> Evaluation:
    return Evaluation(step, (1.0, 2.0), (25, 25), {"agents": (1.0, 2.0)}, {"won": 0.5})
