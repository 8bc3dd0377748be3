"""The trainer's state, and what it publishes to those who act."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from mava.types import PyTree

Params = dict[str, PyTree]


def strongly_typed(tree: PyTree) -> PyTree:
    """The same arrays, none of them weakly typed.

    A weak type lasts until the first step that computes with it; then everything compiles anew.
    """

    def strong(x: Any) -> Any:
        dtype = jnp.result_type(x)
        return x if jnp.issubdtype(dtype, jax.dtypes.prng_key) else jnp.array(x, dtype)

    return jax.tree.map(strong, tree)


class Variables(NamedTuple):
    """All that acting needs: the acting network's parameters, and statistics of components by
    name."""

    params: Params
    components: dict[str, PyTree]


class LearnerState(NamedTuple):
    """The trainer's whole state; every field is a tree of arrays.

    Attributes:
        params: by the name of the set.
        target_params: the sets that have a target, by name.
        optimiser: optimiser states, by the optimising component's name.
        components: statistics, by component name.
        updates: int32 ``[]``; gradient steps done.
    """

    params: Params
    target_params: Params
    optimiser: dict[str, PyTree]
    components: dict[str, PyTree]
    updates: jax.Array
