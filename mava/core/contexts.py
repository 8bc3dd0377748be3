"""The small typed values that hooks receive and return."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import jax

from mava.core.learner import LearnerState, Params
from mava.types import Array, EnvironmentSpec, GroupSpec, PyTree, TimeStep

Batch = dict[str, Any]
"""Batch fields by name; each an array ``[B, T, ...]`` or a dict of them by group."""


@dataclasses.dataclass(frozen=True)
class GroupContext:
    """Where a hook that runs once per group stands.

    Attributes:
        group: the group, its observations as they enter this hook.
        state: this component's statistics, as published by the trainer; ``()`` where it keeps none.
    """

    group: GroupSpec
    state: PyTree


@dataclasses.dataclass(frozen=True)
class ActContext(GroupContext):
    """Also when and why: for hooks that choose actions.

    Attributes:
        clock: int32 ``[]``; the index of this very transition over the whole run. With E
            environments, transition i of vectorised step t has index ``t * E + i``.
        key: a random key for this component, transition and group alone.
        explore: a Python bool; whether the action is for training.
    """

    clock: Array
    key: jax.Array
    explore: bool


@dataclasses.dataclass(frozen=True)
class ValueContext(GroupContext):
    """Also all the other groups: for critics, which look at them.

    Attributes:
        spec: the environment, its observations as the networks see them.
    """

    spec: EnvironmentSpec


class Selection(NamedTuple):
    """Actions ``[N, *actions.array.shape]`` of one group, and extras to record (a log-probability,
    say)."""

    action: Array
    extras: dict[str, Array]


class ActHooks(NamedTuple):
    """The act hooks over all groups, for an executor to compose.

    Attributes:
        transform_observation: observations by group -> observations by group.
        score: transformed observations by group, memory -> scores by group, memory.
        select_action: scores by group, legal actions by group, memory -> selections by group,
            memory.
    """

    transform_observation: Callable[[dict[str, Array]], dict[str, Array]]
    score: Callable[
        [dict[str, Array], dict[str, PyTree]], tuple[dict[str, PyTree], dict[str, PyTree]]
    ]
    select_action: Callable[
        [dict[str, PyTree], dict[str, Array], dict[str, PyTree]],
        tuple[dict[str, Selection], dict[str, PyTree]],
    ]


class Transition(NamedTuple):
    """One transition of one environment, for ``record`` to choose from.

    Attributes:
        timestep: what was acted on.
        action: per group, ``[N, *actions.array.shape]``.
        extras: per group, what ``select_action`` gave beside the action.
        memory: the memory before acting, by hook then group.
        next_timestep: the outcome; at the end of an episode, its true last timestep.
    """

    timestep: TimeStep
    action: dict[str, Array]
    extras: dict[str, dict[str, Array]]
    memory: dict[str, PyTree]
    next_timestep: TimeStep


class LossOutput(NamedTuple):
    """What a loss returns.

    Attributes:
        loss: float ``[]``, the scalar to descend.
        metrics: scalars by name.
        priorities: ``[B]``, new priorities of the sampled items; ``None`` where the loss has none.
        per_agent: per group ``[N]``, each agent's share; names the agent when a loss is not finite.
    """

    loss: Array
    metrics: Mapping[str, Array]
    priorities: Array | None = None
    per_agent: Mapping[str, Array] | None = None


class Unrolled(NamedTuple):
    """The acting network over a batch ``[B, T]``.

    Memory starts from the batch's ``memory`` field where there is one, else from its initial value,
    and is reset wherever the batch's ``start`` is true. Where the batch has a ``burn_in``, the
    steps before its first, memory starts there, and comes from these very parameters without a
    gradient.

    Attributes:
        scores: per group ``[B, T, N, ...]``.
        next_scores: a call that gives the same on ``next_observation``, the true outcome of each
            step, each with the memory that followed the step. Computed only when called.
    """

    scores: dict[str, PyTree]
    next_scores: Callable[[], dict[str, PyTree]]


class ValueInputs(NamedTuple):
    """What a critic may look at.

    Attributes:
        observation: by group, of all agents, as the networks see them.
        action: by group; ``None`` where the batch has none. A discrete one may also be given as
            weights over the choices, ``[N, A]``, through which gradients flow.
        state: the global state; ``None`` where the batch has none.
        own_action: by group; the action in whose place each agent's own value is asked for, while
            the others are seen to do as ``action`` says. ``None`` where that is ``action`` too.
    """

    observation: dict[str, Array]
    action: dict[str, Array] | None
    state: Array | None
    own_action: dict[str, Array] | None = None


class UnrolledValues(NamedTuple):
    """The critic over a batch ``[B, T]``, its memory as in ``Unrolled``.

    Attributes:
        values: per group ``[B, T, N]``, or ``[B, T, N, K]`` from a critic that is K of them.
        next_values: a call that gives the same of the true outcome of each step.
    """

    values: dict[str, Array]
    next_values: Callable[[], dict[str, Array]]


@dataclasses.dataclass(frozen=True)
class LearnContext:
    """What learn hooks share.

    Attributes:
        spec: the environment, its observations as the networks see them.
        target_params: by the name of the set.
        updates: int32 ``[]``; gradient steps done before this one.
        key: a random key for this component and trainer step alone.
        all_mean: averages a tree over the devices that train together; the identity on one.
        unroll: the acting network over a batch: params, batch -> ``Unrolled``.
        value: the critic over a batch: params, batch -> ``UnrolledValues``. The values are of the
            batch's ``observation``, ``action``, ``state`` and ``own_action``; the next ones of the
            fields of these names that begin with ``next_``.
        mix: the mixer: params, values by group, batch -> ``[B, T]``.
        recurrent: whether the acting network has memory.
    """

    spec: EnvironmentSpec
    target_params: Params
    updates: Array
    key: jax.Array
    all_mean: Callable[[PyTree], PyTree]
    unroll: Callable[[Params, Batch], Unrolled]
    value: Callable[[Params, Batch], UnrolledValues]
    mix: Callable[[Params, dict[str, Array], Batch], Array]
    recurrent: bool = False


class LearnHooks(NamedTuple):
    """The learn hooks, for a trainer to compose.

    Attributes:
        prepare: learner, batch -> learner with new statistics, prepared batch. What is computed in
            this trainer step still sees the old ones.
        gradients: learner, prepared batch -> gradients by set, metrics, priorities or ``None``.
        apply: learner, gradients -> learner one gradient step on, its targets moved.
        key: for the trainer's own randomness (shuffling minibatches).
        recurrent: whether the acting network or the critic has memory, so that steps of a sequence
            belong together.
    """

    prepare: Callable[[LearnerState, Batch], tuple[LearnerState, Batch]]
    gradients: Callable[[LearnerState, Batch], tuple[Params, dict[str, Array], Array | None]]
    apply: Callable[[LearnerState, Params], LearnerState]
    key: jax.Array
    recurrent: bool = False


__all__ = [
    "ActContext",
    "ActHooks",
    "Batch",
    "GroupContext",
    "LearnContext",
    "LearnHooks",
    "LossOutput",
    "Params",
    "Selection",
    "Transition",
    "Unrolled",
    "UnrolledValues",
    "ValueContext",
    "ValueInputs",
]
