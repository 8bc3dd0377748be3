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
from mava.functional.loops import vmap
from mava.types import Array, PyTree

Statistics = dict[str, PyTree]


def unroll_scores(acting: Acting, params: Params, batch: Batch, statistics: Statistics) -> Unrolled:
    """The acting network over ``observation``, and on demand over ``next_observation``."""

    def inputs(batch: Batch, prefix: str) -> dict[str, PyTree]:
        return dict(acting.transform(statistics, batch[f"{prefix}observation"]))

    def step(x: PyTree, memory: PyTree, context: GroupContext) -> tuple[PyTree, PyTree]:
        result: tuple[PyTree, PyTree] = call(acting.scorer, "score", params, x, memory, context)
        return result

    def sequence(x: PyTree, start: Array, memory: PyTree, context: GroupContext) -> Any:
        return call(acting.scorer, "unroll", params, x, start, memory, context)

    state = statistics.get(acting.scorer.name, ())
    contexts = {group.name: GroupContext(group, state) for group in acting.network_spec.groups}
    return Unrolled(*_unroll(acting, "score", batch, inputs, contexts, sequence, step))


def unroll_values(
    acting: Acting, critic: lc.Value, params: Params, batch: Batch, statistics: Statistics
) -> UnrolledValues:
    """The critic over the batch's fields, and on demand over those that begin with ``next_``."""

    def inputs(batch: Batch, prefix: str) -> dict[str, PyTree]:
        whole = ValueInputs(
            observation=acting.transform(statistics, batch[f"{prefix}observation"]),
            action=batch.get(f"{prefix}action"),
            state=batch.get(f"{prefix}state"),
            own_action=batch.get(f"{prefix}own_action"),
        )
        return {group.name: whole for group in acting.network_spec.groups}

    def step(x: PyTree, memory: PyTree, context: ValueContext) -> tuple[PyTree, PyTree]:
        result: tuple[PyTree, PyTree] = call(critic, "value", params, x, memory, context)
        return result

    def sequence(x: PyTree, start: Array, memory: PyTree, context: ValueContext) -> Any:
        return call(critic, "unroll_value", params, x, start, memory, context)

    spec, state = acting.network_spec, statistics.get(critic.name, ())
    contexts = {group.name: ValueContext(group, state, spec) for group in spec.groups}
    return UnrolledValues(*_unroll(acting, "value", batch, inputs, contexts, sequence, step))


def _unroll(
    acting: Acting,
    hook: str,
    batch: Batch,
    inputs: Callable[[Batch, str], dict[str, PyTree]],
    contexts: Mapping[str, GroupContext],
    sequence: Callable[..., Any],
    step: Callable[..., tuple[PyTree, PyTree]],
) -> tuple[dict[str, PyTree], Callable[[], dict[str, PyTree]]]:
    """Outputs ``[B, T, ...]`` by group, and a call that gives the outputs for the true outcomes,
    each with the memory that followed its step.

    Args:
        inputs: batch, prefix of its fields -> what the network sees, by group.
        sequence: inputs, flags of first steps, first memory, context -> outputs, memories.
        step: inputs, memory, context -> output, memory.
    """
    burnt = batch.get("burn_in")
    before = None if burnt is None else inputs(burnt, "")
    shown = inputs(batch, "")
    outputs, memories = {}, {}
    for name, context in contexts.items():
        first = _first_memory(acting, batch if burnt is None else burnt, hook, name)
        if burnt is not None and before is not None:
            _, kept = sequence(before[name], burnt["start"], first, context)
            first = jax.lax.stop_gradient(jax.tree.map(lambda x: x[:, -1], kept))
        outputs[name], memories[name] = sequence(shown[name], batch["start"], first, context)

    def later() -> dict[str, PyTree]:
        following, found = inputs(batch, "next_"), {}
        for name, context in contexts.items():
            memory, x = memories[name], following[name]
            if not jax.tree.leaves(memory):
                found[name] = sequence(x, batch["start"], memory, context)[0]
                continue
            each = vmap(vmap(lambda x, before, c=context: step(x, before, c)[0]))
            found[name] = each(x, memory)
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
