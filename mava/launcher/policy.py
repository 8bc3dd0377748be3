"""Policies that are ready to act: from a run, and at random."""

from __future__ import annotations

import contextlib
import os
import pathlib

import jax
import jax.numpy as jnp
import numpy as np

from mava.core.evaluation import ActFunction
from mava.core.keys import address
from mava.core.learner import Variables
from mava.core.program import Program
from mava.core.system import build
from mava.errors import ConfigurationError, nearest
from mava.functional.loops import plain_python
from mava.launcher.run_dir import RunDirectory
from mava.topologies.base import of_seed, policy_of
from mava.types import (
    Array,
    ContinuousActions,
    DiscreteActions,
    EnvironmentSpec,
    GroupSpec,
    MultiDiscreteActions,
    PyTree,
    TimeStep,
)


class Policy:
    """The greedy policy of a trained system, for one environment at a time.

    ::

        timestep = environment.reset(seed=0)
        while not timestep.end:
            timestep = environment.step(policy(timestep))

    Memory, of systems that have one, is reset at the first timestep of each episode.

    Attributes:
        act_function: the same policy as pure functions, for evaluators.
        spec: the environment that it was trained in.
        step: environment steps of training behind it.
    """

    def __init__(self, act_function: ActFunction, spec: EnvironmentSpec, step: int = 0) -> None:
        self.act_function = act_function
        self.spec = spec
        self.step = step
        self._act = jax.jit(act_function.act) if act_function.jit else act_function.act
        self._key = jax.random.key(0)  # a greedy policy draws nothing
        self.reset()

    def reset(self) -> None:
        """Forgets the episode so far; needed only to leave one before its end."""
        self._memory: PyTree = self.act_function.init_memory()

    def __call__(self, timestep: TimeStep) -> dict[str, np.ndarray]:
        """Actions by group, ``[N, *actions.array.shape]``, for a timestep without leading axes."""
        variables = self.act_function.variables
        with contextlib.nullcontext() if self.act_function.jit else plain_python():
            actions, self._memory = self._act(variables, self._memory, timestep, self._key)
        return {name: np.asarray(action) for name, action in actions.items()}

    def __repr__(self) -> str:
        return f"Policy({self.spec.name}, step={self.step})"


def make_policy(program: Program, variables: Variables, step: int, jit: bool = True) -> Policy:
    return Policy(policy_of(program, variables, jit), program.spec, step)


def load_policy(
    run_dir: str | os.PathLike[str], which: str = "best", seed_index: int = 0
) -> Policy:
    """The policy of a run, ready to act.

    A run's directory holds pickles: load only runs that you trust.

    Args:
        run_dir: of ``launch``.
        which: ``"best"``, by mean return in evaluation, or ``"last"``.
        seed_index: of the runs that were trained together, from 0.

    Raises:
        ConfigurationError: the directory holds no run, or no such checkpoint or run.
        CheckpointError: the checkpoint cannot be read.
    """
    if which not in ("best", "last"):
        raise ConfigurationError(f"there is no {which!r} policy{nearest(which, ('best', 'last'))}")
    directory = RunDirectory(pathlib.Path(run_dir).expanduser())
    checkpoints = directory.checkpoints
    step = checkpoints.best_step if which == "best" else checkpoints.last_step
    if step is None:
        raise ConfigurationError(f"{run_dir} has no {which} checkpoint{_instead(directory)}")
    program = build(directory.load_system())
    seeds: int = directory.load_config().get("num_seeds", 1)
    if not 0 <= seed_index < seeds:
        raise ConfigurationError(
            f"seed_index is {seed_index}, and {run_dir} holds {seeds} run(s); count from 0"
        )
    variables = checkpoints.load_variables(which, variables_like(program, seeds), step)
    return make_policy(program, of_seed(variables, seed_index, seeds), step)


def variables_like(program: Program, num_seeds: int = 1) -> PyTree:
    """Shapes and dtypes of what acting needs."""

    def one(key: jax.Array) -> Variables:
        return program.publish(program.init_learner(key))

    if num_seeds == 1:
        return jax.eval_shape(one, jax.random.key(0))
    return jax.eval_shape(jax.vmap(one), jax.random.split(jax.random.key(0), num_seeds))


def _instead(directory: RunDirectory) -> str:
    if directory.checkpoints.last_step is not None:
        return "; which='last' would load"
    return "" if directory.path.is_dir() else ": there is no such directory"


def random_policy(spec: EnvironmentSpec) -> ActFunction:
    """Random actions: uniform over legal ones and between finite bounds, standard normal elsewhere.

    An agent with no legal action gets action 0, the defined no-op.
    """

    def act(
        variables: PyTree, memory: PyTree, timestep: TimeStep, key: jax.Array
    ) -> tuple[dict[str, Array], PyTree]:
        actions: dict[str, Array] = {
            group.name: _random_action(
                group, timestep.legal_actions[group.name], address(key, group.name)
            )
            for group in spec.groups
        }
        return actions, memory

    return ActFunction(act)


def _random_action(group: GroupSpec, legal: Array, key: jax.Array) -> jax.Array:
    """Legal flags ``[N, A]`` -> actions ``[N, *actions.array.shape]``."""
    match group.actions:
        case DiscreteActions():
            return _random_choice(jnp.asarray(legal), key)
        case MultiDiscreteActions(num_actions):
            ends = np.cumsum(num_actions)
            choices = [
                _random_choice(jnp.asarray(legal)[:, end - n : end], address(key, index))
                for index, (n, end) in enumerate(zip(num_actions, ends, strict=True))
            ]
            return jnp.stack(choices, axis=-1)
        case ContinuousActions() as actions:
            return _random_vector(actions, group.num_agents, key)


def _random_choice(legal: jax.Array, key: jax.Array) -> jax.Array:
    """Bool ``[N, A]`` -> int32 ``[N]``; 0 in rows without a true entry."""
    logits = jnp.where(legal, 0.0, -jnp.inf)
    choice = jax.random.categorical(key, jnp.where(legal.any(-1, keepdims=True), logits, 0.0))
    return jnp.where(legal.any(-1), choice, 0).astype(jnp.int32)


def _random_vector(actions: ContinuousActions, num_agents: int, key: jax.Array) -> jax.Array:
    """Float32 ``[N, *shape]``."""
    low = np.asarray(actions.low, np.float32).reshape(1, *actions.shape)
    high = np.asarray(actions.high, np.float32).reshape(1, *actions.shape)
    bounded = np.isfinite(low) & np.isfinite(high)
    shape = (num_agents, *actions.shape)
    part = jax.random.uniform(address(key, "uniform"), shape)
    uniform = (1 - part) * np.where(bounded, low, 0) + part * np.where(bounded, high, 0)
    normal = jax.random.normal(address(key, "normal"), shape)
    return jnp.clip(jnp.where(bounded, uniform, normal), low, high).astype(jnp.float32)
