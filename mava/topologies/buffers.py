"""Realises a buffer plan in this process, with Flashbax."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import flashbax
import jax
import jax.numpy as jnp

from mava.core.plans import BufferPlan, Sampling
from mava.types import Array, PyTree


class Sample(NamedTuple):
    """A batch ``[B, T, ...]``, the probability of each item ``[B]``, and what ``set_priorities``
    needs."""

    batch: PyTree
    probability: Array
    indices: Array


class Buffer(NamedTuple):
    """A buffer as pure functions over its state.

    Attributes:
        init: item shapes -> an empty state.
        add: state, transitions ``[E, T, ...]`` that continue those added before -> state. To a
            buffer on policy whole rollouts are added.
        add_step: the same of one transition of each environment, ``[E, ...]``, on policy too.
        sample: state, key -> ``Sample``.
        set_priorities: state, indices, priorities ``[B]`` -> state.
    """

    init: Callable[[PyTree], Any]
    add: Callable[[Any, PyTree], Any]
    add_step: Callable[[Any, PyTree], Any]
    sample: Callable[[Any, jax.Array], Sample]
    set_priorities: Callable[[Any, Array, Array], Any]


def make_buffer(plan: BufferPlan, num_environments: int) -> Buffer:
    """The buffer of a plan that was placed for ``num_environments`` environments."""
    length = plan.capacity // num_environments
    if plan.sampling is Sampling.ON_POLICY:
        return _on_policy(plan)
    if plan.sampling is Sampling.PRIORITISED:
        return _prioritised(plan, num_environments, length)
    return _uniform(plan, num_environments, length)


def _sizes(plan: BufferPlan, num_environments: int, length: int) -> dict[str, int]:
    """What Flashbax's buffers of sequences have in common."""
    return {
        "add_batch_size": num_environments,
        "sample_batch_size": plan.batch_size,
        "sample_sequence_length": plan.sequence_length,
        "period": plan.period,
        "min_length_time_axis": max(plan.sequence_length, plan.min_size // num_environments),
        "max_length_time_axis": length,
    }


def _uniform(plan: BufferPlan, num_environments: int, length: int) -> Buffer:
    buffer = flashbax.make_trajectory_buffer(**_sizes(plan, num_environments, length))

    def sample(state: Any, key: jax.Array) -> Sample:
        size = jnp.where(state.is_full, length, state.current_index)
        items = num_environments * ((size - plan.sequence_length) // plan.period + 1)
        probability = jnp.full((plan.batch_size,), 1.0, jnp.float32) / items
        indices = jnp.zeros((plan.batch_size,), jnp.int32)
        return Sample(buffer.sample(state, key).experience, probability, indices)

    return Buffer(
        lambda item: buffer.init(_zeros(item)),
        _add_in_place,
        lambda state, step: _add_in_place(state, _as_sequence(step)),
        sample,
        lambda state, indices, p: state,
    )


def _add_in_place(state: Any, items: PyTree) -> Any:
    """What Flashbax's ``add`` does to a trajectory buffer, one step at a time.

    A step is a slice, which XLA writes into a donated buffer; several that may wrap around are a
    scatter, for which older versions copy the whole buffer.
    """
    added = jax.tree.leaves(items)[0].shape[1]
    length = jax.tree.leaves(state.experience)[0].shape[1]

    def write(t: Array, experience: PyTree) -> PyTree:
        return _written(experience, items, t, (state.current_index + t) % length)

    experience = jax.lax.fori_loop(0, added, write, state.experience)
    end = state.current_index + added
    full = state.is_full | (end >= length)
    return state.replace(experience=experience, current_index=end % length, is_full=full)


def _prioritised(plan: BufferPlan, num_environments: int, length: int) -> Buffer:
    buffer = flashbax.make_prioritised_trajectory_buffer(
        **_sizes(plan, num_environments, length),
        priority_exponent=plan.priority_exponent,
        device=jax.default_backend(),
    )

    def sample(state: Any, key: jax.Array) -> Sample:
        drawn = buffer.sample(state, key)
        return Sample(drawn.experience, drawn.probabilities, drawn.indices)

    return Buffer(
        lambda item: buffer.init(_zeros(item)),
        buffer.add,
        lambda state, step: buffer.add(state, _as_sequence(step)),
        sample,
        buffer.set_priorities,
    )


class OnPolicyState(NamedTuple):
    """One rollout ``[E, T, ...]``, and the step of it that is written next, int32 ``[]``."""

    experience: PyTree
    current_index: Array


def _on_policy(plan: BufferPlan) -> Buffer:
    """Holds exactly one rollout: what is added replaces what was there."""
    shape = (plan.batch_size, plan.sequence_length)

    def init(item: PyTree) -> OnPolicyState:
        experience = jax.tree.map(lambda x: jnp.zeros((*shape, *x.shape), x.dtype), item)
        return OnPolicyState(experience, jnp.zeros((), jnp.int32))

    def add(state: OnPolicyState, items: PyTree) -> OnPolicyState:
        return state._replace(experience=items)

    def add_step(state: OnPolicyState, step: PyTree) -> OnPolicyState:
        at = state.current_index
        experience = _written(state.experience, _as_sequence(step), 0, at)
        return OnPolicyState(experience, (at + 1) % plan.sequence_length)

    def sample(state: OnPolicyState, key: jax.Array) -> Sample:
        ones = jnp.ones((plan.batch_size,), jnp.float32)
        return Sample(state.experience, ones, jnp.arange(plan.batch_size))

    return Buffer(init, add, add_step, sample, lambda state, indices, p: state)


def _as_sequence(step: PyTree) -> PyTree:
    """``[E, ...]`` -> ``[E, 1, ...]``."""
    return jax.tree.map(lambda x: jnp.expand_dims(x, 1), step)


def _written(experience: PyTree, items: PyTree, t: Array | int, at: Array) -> PyTree:
    """Step ``t`` of ``items`` written to step ``at`` of what is held."""

    def one(held: Array, new: Array) -> Array:
        step = jax.lax.dynamic_slice_in_dim(new, t, 1, axis=1)
        return jax.lax.dynamic_update_slice_in_dim(held, step, at, axis=1)

    return jax.tree.map(one, experience, items)


def _zeros(item: PyTree) -> PyTree:
    return jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), item)


def buffer_bytes(plan: BufferPlan, item: PyTree) -> int:
    """Bytes that the buffer will hold, from shapes alone."""
    per_item = sum(int(math.prod(x.shape) * x.dtype.itemsize) for x in jax.tree.leaves(item))
    tree = 0
    if plan.sampling is Sampling.PRIORITISED:
        leaves = 2 ** math.ceil(math.log2(max(2, plan.capacity // plan.period)))
        tree = 2 * leaves * 4
    return plan.capacity * per_item + tree
