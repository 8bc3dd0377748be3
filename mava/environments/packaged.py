"""JAX environments of other packages: what their adapters share.

A package's environment is built once for all adapters that are equal, outside of any trace. Its
adapter tells what it shows (``Moment``); everything else that ``TimeStep`` promises is made here.
"""

from __future__ import annotations

import abc
import contextlib
import dataclasses
import functools
import warnings
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from mava.environments.base import JaxEnvironment
from mava.errors import ConfigurationError, nearest
from mava.types import AgentID, Array, EnvironmentSpec, PyTree, TimeStep

_KEPT = 64
OURS = frozenset({"death_masking", "frame_stack", "global_state", "groups"})
"""What ``make`` takes beside the constructor's arguments."""


class Moment(NamedTuple):
    """What a package's environment shows; ``n`` counts all agents, in the environment's order.

    Attributes:
        observation: per group ``[N, *observation.shape]``, of any dtype.
        legal: per group bool ``[N, A]``, by the environment alone; ``None`` where it has no masks.
        reward: ``[n]``.
        terminated: bool ``[n]``; the step led the agent to a terminal state. What is true of an
            agent that left in an earlier step does not count.
        truncated: bool ``[n]``; the step cut the agent's episode, unless it terminated.
        end: bool ``[]``.
        state: the global state, or ``None``.
        metrics: scalars.
    """

    observation: Mapping[str, Array]
    legal: Mapping[str, Array] | None
    reward: Array
    terminated: Array
    truncated: Array
    end: Array
    state: Array | None
    metrics: Mapping[str, Array]


class Inside(abc.ABC):
    """A package's environment, with pure functions.

    Attributes:
        spec: of the environment.
        rows: per group, where its agents are among all.
    """

    spec: EnvironmentSpec
    rows: dict[str, np.ndarray]

    @abc.abstractmethod
    def reset(self, key: jax.Array) -> tuple[PyTree, Moment]:
        """The package's state at the start of an episode; its moment's ends are not looked at."""

    @abc.abstractmethod
    def step(
        self, key: jax.Array, state: PyTree, actions: Mapping[str, jax.Array], alive: jax.Array
    ) -> tuple[PyTree, Moment]:
        """One transition; ``alive`` is bool ``[n]``, the actions of the others are arbitrary."""

    def render(self, state: PyTree) -> np.ndarray | None:
        """A picture of the package's state, as ``JaxEnvironment.render``."""
        return None


class PackagedState(NamedTuple):
    """``key``: of the steps to come; ``inner``: the package's state; ``termination``,
    ``truncation``: bool ``[n]``, the flags so far."""

    key: jax.Array
    inner: PyTree
    termination: jax.Array
    truncation: jax.Array


@dataclasses.dataclass(frozen=True)
class PackagedEnvironment(JaxEnvironment):
    """A package's environment, by name and arguments; equal where those are equal.

    Attributes:
        name: for ``make``.
        kwargs: for the package's constructor.
        groups: agents of each group, by name, in place of those with equal spaces.
    """

    name: str
    kwargs: Mapping[str, Any] = dataclasses.field(default_factory=dict, compare=False)
    groups: Mapping[str, Sequence[AgentID]] | None = dataclasses.field(default=None, compare=False)
    identity: Hashable = dataclasses.field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "identity", identity_of((dict(self.kwargs), self.groups)))

    @abc.abstractmethod
    def build(self) -> Inside:
        """The package's environment.

        Raises:
            ConfigurationError: arguments that it does not take.
        """

    @property
    def spec(self) -> EnvironmentSpec:
        return _inside(self).spec

    def reset(self, key: jax.Array) -> tuple[PackagedState, TimeStep]:
        state, timestep = _reset(self, key)
        return state, timestep

    def step(
        self, state: PackagedState, actions: Mapping[str, jax.Array]
    ) -> tuple[PackagedState, TimeStep]:
        after, timestep = _step(self, state, dict(actions))
        return after, timestep

    def render(self, state: PackagedState) -> np.ndarray | None:
        return _inside(self).render(jax.device_get(state.inner))


# Compiled also where the caller is not, since packages are slow as plain Python; and every program
# of a process that has the environment in it traces it once.
@functools.partial(jax.jit, static_argnums=0)
def _reset(environment: PackagedEnvironment, key: jax.Array) -> tuple[PackagedState, TimeStep]:
    inside = _inside(environment)
    key, first = jax.random.split(key)
    with as_shipped():
        inner, moment = inside.reset(first)
    nobody = jnp.zeros(inside.spec.num_agents, bool)
    state = PackagedState(key, jax.tree.map(_strong, inner), nobody, nobody)
    moment = moment._replace(
        reward=jnp.zeros(nobody.shape), terminated=nobody, truncated=nobody, end=nobody[0]
    )
    return state, _timestep(inside, moment, state, state, start=True)


@functools.partial(jax.jit, static_argnums=0)
def _step(
    environment: PackagedEnvironment, state: PackagedState, actions: Mapping[str, jax.Array]
) -> tuple[PackagedState, TimeStep]:
    inside = _inside(environment)
    key, now = jax.random.split(state.key)
    alive = ~(state.termination | state.truncation)
    with as_shipped():
        inner, moment = inside.step(now, state.inner, actions, alive)
    termination = state.termination | (alive & moment.terminated)
    truncation = state.truncation | (alive & moment.truncated & ~moment.terminated)
    inner = jax.tree_util.tree_map_with_path(_like, state.inner, inner)
    after = PackagedState(key, inner, termination, truncation)
    return after, _timestep(inside, moment, state, after, start=False)


@functools.lru_cache(maxsize=_KEPT)
def _inside(environment: PackagedEnvironment) -> Inside:
    # A first use may be inside a trace; arrays that the package makes must not belong to it.
    with jax.ensure_compile_time_eval(), as_shipped():
        return environment.build()


def _timestep(
    inside: Inside, moment: Moment, before: PackagedState, after: PackagedState, start: bool
) -> TimeStep:
    spec = inside.spec
    cut = after.truncation & ~before.truncation
    alive = ~(after.termination | after.truncation)

    def of(rows: Array) -> dict[str, Array]:
        return {name: taken(rows, inside.rows[name]) for name in spec.group_names}

    going = of(alive | cut)
    legal = {}
    for group in spec.groups:
        shape = (group.num_agents, group.actions.num_choices)
        given = jnp.ones(shape, bool) if moment.legal is None else moment.legal[group.name]
        legal[group.name] = given.astype(bool) & going[group.name][:, None]
    return TimeStep(
        observation={
            g.name: _as(moment.observation[g.name], g.observation.dtype) for g in spec.groups
        },
        legal_actions=legal,
        alive=of(alive),
        reward=of(_as(moment.reward, np.dtype(np.float32))),
        termination=of(after.termination),
        truncation=of(after.truncation),
        start=jnp.asarray(start),
        end=moment.end,
        state=None if spec.state is None else _as(moment.state, spec.state.dtype),
        metrics={name: _as(moment.metrics[name], np.dtype(np.float32)) for name in spec.metrics},
    )


def _as(value: Any, dtype: np.dtype[Any]) -> jax.Array:
    array: jax.Array = jnp.asarray(value).astype(dtype)
    return array


def taken(rows: Array, index: np.ndarray) -> Array:
    """``rows[index]``, without a gather where that is all of them."""
    everyone = len(index) == rows.shape[0] and np.array_equal(index, np.arange(len(index)))
    return rows if everyone else rows[index]


def _strong(leaf: Any) -> jax.Array:
    """Without a weak type, which the next step would lose: loops refuse that."""
    array: jax.Array = jnp.asarray(leaf)
    return array if jnp.issubdtype(array.dtype, jax.dtypes.extended) else array.astype(array.dtype)


def _like(path: Any, before: jax.Array, after: Any) -> jax.Array:
    """A leaf of a state in the dtype that it had at the reset."""
    array: jax.Array = jnp.asarray(after)
    if jnp.issubdtype(before.dtype, jax.dtypes.extended):
        return array
    if not np.can_cast(array.dtype, before.dtype, "same_kind"):
        name = jax.tree_util.keystr(path)
        raise TypeError(f"state{name} is {before.dtype} after a reset and {array.dtype} later")
    return array.astype(before.dtype)


def check_arguments(name: str, kwargs: Iterable[str], accepted: Iterable[str]) -> None:
    """Raises:
    ConfigurationError: an argument that the constructor does not take, with the nearest of those
        that it, or ``make``, takes.
    """
    known = {*accepted}
    for key in kwargs:
        if key not in known:
            raise ConfigurationError(f"{name} has no argument {key!r}{nearest(key, known | OURS)}")


@contextlib.contextmanager
def as_shipped() -> Iterator[None]:
    """For a package's own code: JAX's usual promotions, whatever the user chose for theirs, and
    none of the warnings that only the package's authors can heed."""
    with warnings.catch_warnings():
        for category in (DeprecationWarning, FutureWarning):
            warnings.simplefilter("ignore", category)
        with jax.numpy_rank_promotion("allow"), jax.numpy_dtype_promotion("standard"):
            yield


def identity_of(value: Any) -> Hashable:
    """A value that is equal where the given one is: arrays, lists and dictionaries by what they
    hold, anything else by its own equality, or by itself where it has no hash.

    >>> identity_of({"a": [1, 2]}) == identity_of({"a": [1, 2]})
    True
    """
    if isinstance(value, Mapping):
        items = [(str(key), identity_of(item)) for key, item in value.items()]
        return ("mapping", *sorted(items, key=lambda item: item[0]))
    if isinstance(value, (list, tuple)):
        return (type(value).__name__, *(identity_of(item) for item in value))
    if isinstance(value, (np.ndarray, jax.Array)):
        array = np.asarray(value)
        return ("array", array.shape, array.dtype.str, array.tobytes())
    if isinstance(value, Hashable):
        return value
    return ("object", type(value).__qualname__, id(value))
