"""The trainer's state, and what it publishes to those who act."""

from __future__ import annotations

from typing import NamedTuple

import jax

from mava.types import PyTree

Params = dict[str, PyTree]


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
        updates: int32 ``[]``; trainer steps done.
    """

    params: Params
    target_params: Params
    optimiser: dict[str, PyTree]
    components: dict[str, PyTree]
    updates: jax.Array
