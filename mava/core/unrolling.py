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
from mava.types import PyTree

Statistics = dict[str, PyTree]


def unroll_scores(acting: Acting, params: Params, batch: Batch, statistics: Statistics) -> Unrolled:
    """The acting network over ``observation``, and on demand over ``next_observation``."""
    observation = acting.transform(statistics, batch["observation"])

    def step(x: PyTree, memory: PyTree, context: GroupContext) -> tuple[PyTree, PyTree]:
        result: tuple[PyTree, PyTree] = call(acting.scorer, "score", params, x, memory, context)
        return result

    def sequence(x: PyTree, memory: PyTree, context: GroupContext) -> Any:
        return call(acting.scorer, "unroll", params, x, batch["start"], memory, context)

    def next_inputs() -> dict[str, PyTree]:
        return dict(acting.transform(statistics, batch["next_observation"]))

    state = statistics.get(acting.scorer.name, ())
    contexts = {group.name: GroupContext(group, state) for group in acting.network_spec.groups}
    scores, later = _unroll(acting, "score", batch, dict(observation), contexts, sequence, step)
    return Unrolled(scores, lambda: later(next_inputs()))


def unroll_values(
    acting: Acting, critic: lc.Value, params: Params, batch: Batch, statistics: Statistics
) -> UnrolledValues:
    """The critic over the batch's fields, and on demand over those that begin with ``next_``."""

    def inputs(prefix: str) -> dict[str, PyTree]:
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

    def sequence(x: PyTree, memory: PyTree, context: ValueContext) -> Any:
        return call(critic, "unroll_value", params, x, batch["start"], memory, context)

    spec, state = acting.network_spec, statistics.get(critic.name, ())
    contexts = {group.name: ValueContext(group, state, spec) for group in spec.groups}
    values, later = _unroll(acting, "value", batch, inputs(""), contexts, sequence, step)
    return UnrolledValues(values, lambda: later(inputs("next_")))


def _unroll(
    acting: Acting,
    hook: str,
    batch: Batch,
    inputs: dict[str, PyTree],
    contexts: Mapping[str, GroupContext],
    sequence: Callable[..., Any],
    step: Callable[..., tuple[PyTree, PyTree]],
) -> tuple[dict[str, PyTree], Callable[[dict[str, PyTree]], dict[str, PyTree]]]:
    """Outputs ``[B, T, ...]`` by group, and a function from the inputs of the true outcomes to
    their outputs, each with the memory that followed its step."""
    outputs, memories = {}, {}
    for name, context in contexts.items():
        first = _first_memory(acting, batch, hook, name)
        outputs[name], memories[name] = sequence(inputs[name], first, context)

    def later(following: dict[str, PyTree]) -> dict[str, PyTree]:
        found = {}
        for name, context in contexts.items():
            memory, x = memories[name], following[name]
            if not jax.tree.leaves(memory):
                found[name] = sequence(x, memory, context)[0]
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
