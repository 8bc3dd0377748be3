"""A program's functions as the host loop calls them: over environments, with the buffer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from mava.core.contexts import Transition
from mava.core.learner import LearnerState, Variables
from mava.core.plans import Sampling
from mava.core.program import Program
from mava.functional.loops import vmap
from mava.topologies.buffers import Buffer
from mava.topologies.learning import Learned, learning
from mava.types import Array, PyTree, TimeStep


class HostFunctions(NamedTuple):
    """Called once a step, so each is one dispatch.

    Attributes:
        act: variables, memory, timestep, clock of the first environment, key -> actions, extras,
            memory; all but variables, clock and key with leading ``[E]``.
        add: buffer state, transitions ``[T, E, ...]`` -> buffer state.
        learn: learner, buffer state, key -> ``Learned``.
    """

    act: Callable[..., tuple[dict[str, Array], dict[str, Any], PyTree]]
    add: Callable[[PyTree, Transition], PyTree]
    learn: Callable[[LearnerState, PyTree, jax.Array], Learned]


def host_functions(program: Program, buffer: Buffer, jit: bool) -> HostFunctions:
    """Composes them; without ``jit`` only the buffer's own functions are compiled."""
    prioritised = program.plan.sampling is Sampling.PRIORITISED
    extend, sample = jax.jit(buffer.add, donate_argnums=0), jax.jit(buffer.sample)
    act, record = acting(program), recording(program)

    def add(state: PyTree, rollout: Transition) -> PyTree:
        items = jax.tree.map(lambda x: jnp.swapaxes(x, 0, 1), record(rollout))
        return extend(state, items)

    learn = learning(program, buffer, sample)
    if not jit:
        return HostFunctions(act, add, learn)
    # The learner is not donated: the variables that act share its arrays, and so does the last
    # good state when a step diverges.
    return HostFunctions(
        jax.jit(act),
        jax.jit(add, donate_argnums=0),
        jax.jit(learn, donate_argnums=(1,) if prioritised else ()),
    )


def acting(program: Program) -> Callable[..., tuple[dict[str, Array], dict[str, Any], PyTree]]:
    """``act`` of ``HostFunctions``, not compiled."""

    def act(
        variables: Variables, memory: PyTree, timestep: TimeStep, clock: Array, key: jax.Array
    ) -> tuple[dict[str, Array], dict[str, Any], PyTree]:
        clocks = clock + jnp.arange(program.num_environments, dtype=jnp.int32)
        each = vmap(program.act, in_axes=(None, 0, 0, 0, None))
        return each(variables, memory, timestep, clocks, key)

    return act


def recording(program: Program) -> Callable[[Transition], PyTree]:
    """Transitions ``[T, E, ...]`` -> batch fields ``[T, E, ...]``, not compiled."""
    return vmap(vmap(program.record))
