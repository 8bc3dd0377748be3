"""The data that flows through a system, and the specifications that describe it.

Axis legend, used in every docstring of the project:

====  =====================================================================
G     groups of agents: always a ``dict`` from the group's name, never an axis
N     agents of one group
A     legal-action flags of one agent (``ActionSpec.num_choices``)
E     environments stepped together
T     time
B     batch
====  =====================================================================

Agents that have the same observation space and the same action space form a group, so everything
about a group is one array. ``TimeStep`` describes one environment; a leading ``[E]``, ``[T, E]`` or
``[B, T]`` is added by whoever stacks it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable, Mapping
from typing import Any, NamedTuple

import jax
import numpy as np

Array = jax.Array | np.ndarray
PyTree = Any
AgentID = Hashable


class TimeStep(NamedTuple):
    """What an environment shows after ``reset`` or ``step``.

    ``reward``, ``termination`` and ``truncation`` belong to the step that led here, the other
    fields to the moment itself. The last timestep of an episode holds the true last observation,
    never that of the episode after it.

    Attributes:
        observation: per group, ``[N, *observation.shape]`` in the dtype of the specification; rows
            of agents that are not alive are zeros, unless the environment still shows them
            something.
        legal_actions: per group, bool ``[N, A]``; ``A`` is 0 for continuous actions. Environments
            without masks give ones. Of an agent that the step truncated, and did not terminate,
            the row is that of its last observation, on which its value goes on, though nobody acts
            there; where the environment gives none, that of the timestep before. Any other row of
            an agent that is not alive is all ``False``.
        alive: per group, bool ``[N]``; whether the agent acts on this observation.
        reward: per group, float32 ``[N]``; the environment's own, individual reward. Zeros after a
            reset.
        termination: per group, bool ``[N]``; true from the step in which the agent reached a
            terminal state until the next reset. Bootstrapping stops here.
        truncation: per group, bool ``[N]``; true from the step in which the agent's episode was cut
            (a time limit) until the next reset. Bootstrapping goes on.
        start: bool ``[]``; the first timestep of an episode. Memory is reset here.
        end: bool ``[]``; the episode is over and nobody acts on this timestep.
        state: the global state ``[*state.shape]``, or ``None`` where the specification has none.
        metrics: scalars named by ``EnvironmentSpec.metrics``, float32 ``[]``. Their value at the
            last timestep of an episode is the episode's (a win, say).
    """

    observation: dict[str, Array]
    legal_actions: dict[str, Array]
    alive: dict[str, Array]
    reward: dict[str, Array]
    termination: dict[str, Array]
    truncation: dict[str, Array]
    start: Array
    end: Array
    state: Array | None
    metrics: dict[str, Array]


@dataclasses.dataclass(frozen=True)
class ArraySpec:
    """Shape and dtype of one array, without leading axes."""

    shape: tuple[int, ...]
    dtype: np.dtype

    def __post_init__(self) -> None:
        object.__setattr__(self, "shape", tuple(int(size) for size in self.shape))
        object.__setattr__(self, "dtype", np.dtype(self.dtype))

    @property
    def is_image(self) -> bool:
        """Whether this is ``[height, width, channels]``."""
        return len(self.shape) == 3

    def zeros(self, *leading: int) -> np.ndarray:
        return np.zeros((*leading, *self.shape), self.dtype)


@dataclasses.dataclass(frozen=True)
class DiscreteActions:
    """One choice among ``num_actions``. Inside Mava actions count from 0; the environment's adapter
    adds ``start``, so index ``i`` of a mask is the environment's action ``start + i``."""

    num_actions: int
    start: int = 0

    @property
    def num_choices(self) -> int:
        return self.num_actions

    @property
    def array(self) -> ArraySpec:
        return ArraySpec((), np.dtype(np.int32))


@dataclasses.dataclass(frozen=True)
class MultiDiscreteActions:
    """Several choices at once. ``legal_actions`` holds the flags of all of them, one after the
    other."""

    num_actions: tuple[int, ...]
    start: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "num_actions", tuple(int(n) for n in self.num_actions))
        start = tuple(int(s) for s in self.start) or (0,) * len(self.num_actions)
        object.__setattr__(self, "start", start)

    @property
    def num_choices(self) -> int:
        return sum(self.num_actions)

    @property
    def array(self) -> ArraySpec:
        return ArraySpec((len(self.num_actions),), np.dtype(np.int32))


@dataclasses.dataclass(frozen=True)
class ContinuousActions:
    """A float32 vector (or array) between bounds that may differ by dimension and may be infinite.

    ``low`` and ``high`` are flat tuples in C order.
    """

    shape: tuple[int, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]

    @property
    def num_choices(self) -> int:
        return 0

    @property
    def array(self) -> ArraySpec:
        return ArraySpec(self.shape, np.dtype(np.float32))

    @property
    def is_bounded(self) -> bool:
        return bool(np.all(np.isfinite(self.low)) and np.all(np.isfinite(self.high)))


ActionSpec = DiscreteActions | MultiDiscreteActions | ContinuousActions


@dataclasses.dataclass(frozen=True)
class GroupSpec:
    """Agents with the same spaces. The position in ``agents`` is the agent's index on the ``N``
    axis."""

    name: str
    agents: tuple[AgentID, ...]
    observation: ArraySpec
    actions: ActionSpec

    @property
    def num_agents(self) -> int:
        return len(self.agents)


@dataclasses.dataclass(frozen=True)
class EnvironmentSpec:
    """All that a system needs to know about an environment.

    Attributes:
        name: for messages and records, such as ``mpe2/simple_spread_v3``.
        groups: in a fixed order, names unique.
        state: the global state, where the environment has one.
        metrics: names of the scalars in ``TimeStep.metrics``.
        episode_limit: the length of the longest episode, where it is known.
    """

    name: str
    groups: tuple[GroupSpec, ...]
    state: ArraySpec | None = None
    metrics: tuple[str, ...] = ()
    episode_limit: int | None = None

    def __getitem__(self, group: str) -> GroupSpec:
        for spec in self.groups:
            if spec.name == group:
                return spec
        raise KeyError(f"no group {group!r}; the groups are {[g.name for g in self.groups]}")

    @property
    def group_names(self) -> tuple[str, ...]:
        return tuple(group.name for group in self.groups)

    @property
    def num_agents(self) -> int:
        return sum(group.num_agents for group in self.groups)

    def zero_timestep(self) -> TimeStep:
        """A timestep of zeros with every shape and dtype right; all agents alive, all actions
        legal."""
        each = {group.name: group.num_agents for group in self.groups}
        return TimeStep(
            observation={g.name: g.observation.zeros(g.num_agents) for g in self.groups},
            legal_actions={
                g.name: np.ones((g.num_agents, g.actions.num_choices), bool) for g in self.groups
            },
            alive={name: np.ones(n, bool) for name, n in each.items()},
            reward={name: np.zeros(n, np.float32) for name, n in each.items()},
            termination={name: np.zeros(n, bool) for name, n in each.items()},
            truncation={name: np.zeros(n, bool) for name, n in each.items()},
            start=np.asarray(True),
            end=np.asarray(False),
            state=None if self.state is None else self.state.zeros(),
            metrics={name: np.zeros((), np.float32) for name in self.metrics},
        )

    def zero_actions(self) -> dict[str, np.ndarray]:
        """Joint action of zeros: per group ``[N, *actions.array.shape]``."""
        return {g.name: g.actions.array.zeros(g.num_agents) for g in self.groups}


Metrics = Mapping[str, Array]
