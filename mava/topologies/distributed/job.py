"""What every node of a distributed run is given."""

from __future__ import annotations

import dataclasses
import functools
import pickle

import numpy as np

from mava.core.program import Program
from mava.core.system import System, build


@dataclasses.dataclass(frozen=True)
class Job:
    """A run as every node receives it: each builds the system and keeps the half that it needs.

    Attributes:
        pickled: the system, by cloudpickle.
        seed: of the run.
        executors: how many there are.
        lease: vectorised steps that an executor makes between two looks at the trainer: it is
            granted so many at once, and then fetches newer parameters.
        tolerance: how far, as a share of the buffer's ``min_size``, samples per insert may run
            ahead or behind before the replay blocks.
        coordinator: address of the run's coordinator, ``host:port``.
        separate: whether each node is a process of its own.
        platform: of JAX for the trainer, ``None`` for the best there is. The others use the CPU.
    """

    pickled: bytes
    seed: int
    executors: int
    lease: int
    tolerance: float
    coordinator: str
    separate: bool = True
    platform: str | None = None

    @functools.cached_property
    def system(self) -> System:
        system: System = pickle.loads(self.pickled)
        return system

    @functools.cached_property
    def program(self) -> Program:
        return build(self.system)


@dataclasses.dataclass(frozen=True)
class Addresses:
    """Where the nodes that the caller talks to listen, ``host:port``."""

    trainer: str
    replay: str
    evaluator: str


def executor_seed(seed: int, index: int, incarnation: int, session: int) -> int:
    """The seed of an executor's episodes. The first executor's is the run's own, so one executor
    meets the episodes that a single process meets; one that was restarted, or whose run was resumed
    after ``session`` environment steps, meets new ones.

    >>> executor_seed(7, index=0, incarnation=0, session=0)
    7
    """
    if index == incarnation == session == 0:
        return seed
    return int(np.random.SeedSequence((seed, index, incarnation, session)).generate_state(1)[0])
