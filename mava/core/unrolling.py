"""The acting network and the critic over batches of sequences, for losses to call."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp

from mava.core import lifecycle as lc
from mava.core.acting import Acting
from mava.core.calling import call
from mava.core.contexts import (
    Batch,
    GroupContext,
    Unrolled,
    UnrolledValues,
    ValueContext,
    ValueInputs,
)
from mava.core.learner import Params
from mava.core.outcomes import outcomes
from mava.types import Array, PyTree

Statistics = dict[str, PyTree]


def unroll_scores(acting: Acting, params: Params, batch: Batch, statistics: Statistics) -> Unrolled:
    """The acting network over ``observation``, and on demand over ``next_observation``."""

    def fields(batch: Batch, prefix: str) -> PyTree:
        return batch[f"{prefix}observation"]

    def inputs(fields: PyTree) -> dict[str, PyTree]:
        return dict(acting.transform(statistics, fields))

    def step(x: PyTree, memory: PyTree, context: GroupContext) -> tuple[PyTree, PyTree]:
        result: tuple[PyTree, PyTree] = call(acting.scorer, "score", params, x, memory, context)
        return result

    def sequence(x: PyTree, start: Array, memory: PyTree, context: GroupContext) -> Any:
        return call(acting.scorer, "unroll", params, x, start, memory, context)

    state = statistics.get(acting.scorer.name, ())
    contexts = {group.name: GroupContext(group, state) for group in acting.network_spec.groups}
    return Unrolled(*_unroll(acting, "score", batch, fields, inputs, contexts, sequence, step))


def unroll_values(
    acting: Acting, critic: lc.Value, params: Params, batch: Batch, statistics: Statistics
) -> UnrolledValues:
    """The critic over the batch's fields, and on demand over those that begin with ``next_``."""

    def fields(batch: Batch, prefix: str) -> ValueInputs:
        return ValueInputs(
            observation=batch[f"{prefix}observation"],
            action=batch.get(f"{prefix}action"),
            state=batch.get(f"{prefix}state"),
            own_action=batch.get(f"{prefix}own_action"),
        )

    def inputs(fields: ValueInputs) -> dict[str, PyTree]:
        whole = fields._replace(observation=acting.transform(statistics, fields.observation))
        return {group.name: whole for group in acting.network_spec.groups}

    def step(x: PyTree, memory: PyTree, context: ValueContext) -> tuple[PyTree, PyTree]:
        result: tuple[PyTree, PyTree] = call(critic, "value", params, x, memory, context)
        return result

    def sequence(x: PyTree, start: Array, memory: PyTree, context: ValueContext) -> Any:
        return call(critic, "unroll_value", params, x, start, memory, context)

    spec, state = acting.network_spec, statistics.get(critic.name, ())
    contexts = {group.name: ValueContext(group, state, spec) for group in spec.groups}
    return UnrolledValues(
        *_unroll(acting, "value", batch, fields, inputs, contexts, sequence, step)
    )


def _unroll(
    acting: Acting,
    hook: str,
    batch: Batch,
    fields: Callable[[Batch, str], PyTree],
    inputs: Callable[[PyTree], dict[str, PyTree]],
    contexts: Mapping[str, GroupContext],
    sequence: Callable[..., Any],
    step: Callable[..., tuple[PyTree, PyTree]],
) -> tuple[dict[str, PyTree], Callable[[], dict[str, PyTree]]]:
    """Outputs ``[B, T, ...]`` by group, and a call that gives the outputs for the true outcomes,
    each with the memory that followed its step and without a gradient. What a network with memory
    has computed for the next step is not computed again for the outcome of this one.

    Args:
        fields: batch, prefix of its fields -> those that the network looks at.
        inputs: these fields, any leading axes -> what the network sees, by group.
        sequence: inputs, flags of first steps, first memory, context -> outputs, memories.
        step: inputs, memory, context -> output, memory.
    """
    burnt = batch.get("burn_in")
    before = None if burnt is None else inputs(fields(burnt, ""))
    shown = inputs(fields(batch, ""))
    outputs, memories = {}, {}
    for name, context in contexts.items():
        first = _first_memory(acting, batch if burnt is None else burnt, hook, name)
        if burnt is not None and before is not None:
            _, kept = sequence(before[name], burnt["start"], first, context)
            first = jax.lax.stop_gradient(jax.tree.map(lambda x: x[:, -1], kept))
        outputs[name], memories[name] = sequence(shown[name], batch["start"], first, context)

    def later() -> dict[str, PyTree]:
        following, found = fields(batch, "next_"), {}
        for name, context in contexts.items():
            memory = memories[name]
            if not jax.tree.leaves(memory):
                seen = inputs(following)[name]
                found[name] = sequence(seen, batch["start"], memory, context)[0]
                continue

            def one(x: PyTree, before: PyTree, context: GroupContext = context) -> PyTree:
                return step(inputs(x)[context.group.name], before, context)[0]

            constant = jax.lax.stop_gradient((outputs[name], memory))
            is_next = _is_next(batch, fields(batch, ""), following)
            found[name] = jax.lax.stop_gradient(outcomes(one, *constant, following, is_next))
        return found

    return outputs, later


def _first_memory(acting: Acting, batch: Batch, hook: str, group: str) -> PyTree:
    """The memory before the first step ``[B, ...]``: as recorded, else as at an episode's start."""
    recorded = batch.get("memory", {})
    if hook in recorded:
        return jax.tree.map(lambda x: x[:, 0], recorded[hook][group])
    size = batch["start"].shape[0]
    initial = acting.init_memory()[hook][group]
    return jax.tree.map(lambda x: jnp.broadcast_to(x, (size, *jnp.shape(x))), initial)


def _is_next(batch: Batch, shown: PyTree, following: PyTree) -> Array:
    """Bool ``[B, T - 1]``; whether a network looks at the same in the outcome of a step and in the
    step after it, memory going on; or the outcome is worth nothing, as every agent terminated."""
    starts = jnp.asarray(batch["start"])[:, 1:]
    differs = starts
    now = dict(jax.tree_util.tree_leaves_with_path(shown))
    # What there is not of outcomes, such as actions, a network that is asked about them cannot see.
    for path, later in jax.tree_util.tree_leaves_with_path(following):
        other = now[path][:, 1:] != later[:, :-1]
        differs = differs | jnp.any(other, axis=tuple(range(2, other.ndim)))
    if "termination" not in batch:
        return ~differs
    over = jnp.concatenate([x[:, :-1] for x in batch["termination"].values()], axis=-1)
    return ~differs | (starts & jnp.all(over, axis=-1))
