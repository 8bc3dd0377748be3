"""Transitions on their way to the buffer."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from mava.core.contexts import Transition
from mava.types import PyTree


class Rollout:
    """Collects up to ``length`` vectorised transitions in arrays ``[T, E, ...]``.

    A taken rollout is the taker's to keep: arrays are made anew after it, since JAX may read a
    numpy array without copying it.
    """

    def __init__(self, length: int) -> None:
        self.length = length
        self.size = 0
        self._structure: Any = None
        self._leaves: list[np.ndarray] = []

    def append(self, transition: Transition) -> None:
        """Adds one vectorised transition, leaves ``[E, ...]``."""
        leaves, structure = jax.tree.flatten(transition)
        if not self._leaves:
            self._structure = structure
            self._leaves = [
                np.empty((self.length, *np.shape(x)), np.asarray(x).dtype) for x in leaves
            ]
        for held, leaf in zip(self._leaves, leaves, strict=True):
            held[self.size] = leaf
        self.size += 1

    @property
    def is_full(self) -> bool:
        return self.size == self.length

    def peek(self) -> PyTree | None:
        """What is held, leaves ``[size, E, ...]``; ``None`` when empty."""
        if not self.size:
            return None
        return self._structure.unflatten([x[: self.size] for x in self._leaves])

    def take(self) -> PyTree:
        """The same, and empties the rollout."""
        taken = self.peek()
        self.size, self._leaves = 0, []
        return taken

    def put(self, held: PyTree | None) -> None:
        """Goes back to what ``peek`` gave."""
        self.size, self._leaves = 0, []
        if held is None:
            return
        steps = len(jax.tree.leaves(held)[0])
        for t in range(steps):
            self.append(jax.tree.map(lambda x, t=t: x[t], held))
