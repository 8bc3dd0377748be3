"""Memory warmed up before the steps that are trained on."""

from __future__ import annotations

import dataclasses
from typing import ClassVar

import jax

from mava.components.batches.n_step import NStepReturn
from mava.core.component import Component
from mava.core.contexts import Batch, LearnContext, Params
from mava.core.lifecycle import PrepareBatch
from mava.core.plans import check_count
from mava.errors import WiringError
from mava.functional.td import finite_where_dead
from mava.types import PyTree

_READ = ("observation", "start", "memory", "action", "state")


@dataclasses.dataclass(frozen=True)
class BurnIn(PrepareBatch):
    """Sets aside the first steps of each sequence, to bring memory up to date (Kapturowski et al.,
    2019).

    Memory that was stored with a sequence comes from older parameters. Every network that is
    unrolled over the batch first goes over the steps set aside, from the stored memory, or from
    that of an episode's start where none is stored: the online network with its parameters, the
    target network with its own. No gradient flows from there, and these steps weigh nothing in any
    loss.

    Fields ``[B, T, ...]`` become ``[B, T - steps, ...]``; the buffer's items are made longer by
    ``steps``, so as many steps as before are trained on. Provides ``burn_in``, a batch of what
    networks read, ``[B, steps, ...]``, numbers that are not finite in rows of dead agents made 0.
    Stands after what looks at consecutive steps.

    Attributes:
        steps: set aside.

    Raises:
        ConfigurationError: for fewer than 1 step.
        WiringError: at build, for a network without memory.
    """

    requires: ClassVar[frozenset[str]] = frozenset({"observation", "start", "alive"})
    provides: ClassVar[frozenset[str]] = frozenset({"burn_in"})
    after: ClassVar[tuple[type[Component], ...]] = (NStepReturn,)

    steps: int = 10

    def __post_init__(self) -> None:
        check_count(f"{self.name}.steps", self.steps)

    @property
    def more_steps(self) -> int:
        return self.steps

    def prepare_batch(
        self, batch: Batch, state: PyTree, params: Params, context: LearnContext
    ) -> tuple[Batch, PyTree]:
        if not context.recurrent:
            raise WiringError(
                f"{self.name} warms up memory, but the network has none; take it out, or put in a "
                "recurrent network"
            )
        shown = {
            name: finite_where_dead(x, batch["alive"][name])
            for name, x in batch["observation"].items()
        }
        read = {name: batch[name] for name in _READ if name in batch} | {"observation": shown}
        burnt = jax.tree.map(lambda x: x[:, : self.steps], read)
        kept = {
            name: jax.tree.map(lambda x: x[:, self.steps :] if x.ndim > 1 else x, field)
            for name, field in batch.items()
        }
        return {**kept, "burn_in": burnt}, state
