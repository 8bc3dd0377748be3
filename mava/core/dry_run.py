"""Runs a program once on shapes alone, and checks what its hooks promised."""

from __future__ import annotations

from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp

from mava.core.plans import Sampling
from mava.errors import WiringError
from mava.functional.loops import shapes_of
from mava.types import PyTree

if TYPE_CHECKING:
    from mava.core.program import Program


def batch_shapes(program: Program) -> dict[str, PyTree]:
    """Shapes of a sampled batch: what ``record`` made, under ``[B, T]``, and ``probability
    [B]``."""
    plan = program.plan
    leading = (plan.batch_size, plan.sequence_length)
    batch = jax.tree.map(
        lambda x: jax.ShapeDtypeStruct((*leading, *x.shape), x.dtype), program.item
    )
    return {**batch, "probability": jax.ShapeDtypeStruct((plan.batch_size,), jnp.float32)}


def dry_run(program: Program) -> None:
    """Raises:
    WiringError: a memory, learner state, metric or priority of the wrong shape or dtype.
    """
    key = shapes_of(lambda: jax.random.key(0))
    learner = shapes_of(program.init_learner, key)
    _check_act(program, learner, key)
    after, metrics, priorities = shapes_of(program.learn, learner, batch_shapes(program), key)
    _check_same("learn()", "the trainer's state", learner, after)
    for name, metric in metrics.items():
        if metric.shape != () and "/by_agent/" not in name:
            raise WiringError(
                f"metric {name!r} has shape {list(metric.shape)}; a metric is a scalar, so reduce "
                "it"
            )
    prioritised = program.plan.sampling is Sampling.PRIORITISED
    expected = (program.plan.batch_size,)
    if prioritised and (priorities is None or priorities.shape != expected):
        found = "none" if priorities is None else f"shape {list(priorities.shape)}"
        raise WiringError(
            f"the buffer is prioritised, but the losses return priorities of {found}; return "
            f"LossOutput(priorities=...) of shape {list(expected)}, or use a uniform buffer"
        )


def _check_act(program: Program, learner: PyTree, key: PyTree) -> None:
    memory = shapes_of(program.init_memory)
    timestep, clock = program.spec.zero_timestep(), jnp.zeros((), jnp.int32)
    for explore in (True, False):
        _, _, after = shapes_of(
            lambda state, m, t, c, k, e=explore: program.act(program.publish(state), m, t, c, k, e),
            learner,
            memory,
            timestep,
            clock,
            key,
        )
        _check_same("acting", "the memory", memory, after)


def _check_same(what: str, state: str, before: PyTree, after: PyTree) -> None:
    old_structure, new_structure = str(jax.tree.structure(before)), str(jax.tree.structure(after))
    if old_structure != new_structure:
        raise WiringError(
            f"{what} changed the structure of {state} from {jax.tree.structure(before)} to "
            f"{jax.tree.structure(after)}"
        )
    paths = jax.tree_util.tree_flatten_with_path(before)[0]
    for (path, old), new in zip(paths, jax.tree.leaves(after), strict=True):
        if old.shape != new.shape or old.dtype != new.dtype:
            raise WiringError(
                f"{what} changed {state} at {jax.tree_util.keystr(path)} from "
                f"{old.dtype}{list(old.shape)} to {new.dtype}{list(new.shape)}"
            )
