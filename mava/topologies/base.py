"""What a topology offers to the driver that all topologies share."""

from __future__ import annotations

import abc
import dataclasses
import pathlib
from collections.abc import Callable
from typing import Any, Protocol, TypeVar

import jax
import numpy as np

from mava.core.evaluation import ActFunction, EpisodeRunner
from mava.core.learner import Variables
from mava.core.program import Program
from mava.core.system import System
from mava.types import Array, PyTree, TimeStep


@dataclasses.dataclass(frozen=True)
class Report:
    """What happened since the last report.

    Attributes:
        metrics: the training metrics of every trainer step, in order; empty when there was none.
        returns: of each training episode that ended, the mean over agents of their undiscounted
            returns.
        lengths: of the same episodes, in environment steps.
    """

    metrics: dict[str, tuple[float, ...]]
    returns: tuple[float, ...]
    lengths: tuple[int, ...]


@dataclasses.dataclass(frozen=True)
class RunnerState:
    """Everything that decides how a run goes on.

    Attributes:
        arrays: a tree of arrays whose structure, shapes and dtypes depend on the system alone.
        extra: picklable values of any structure (open episodes, counters).
    """

    arrays: PyTree
    extra: dict[str, Any]


class InterruptibleEpisodes(EpisodeRunner, Protocol):
    """Given up, by the exception ``Interrupted``, once ``should_stop`` says so."""

    should_stop: Callable[[], bool]


class Runner(abc.ABC):
    """A system placed somewhere and ready to run, driven from outside in exact environment steps.

    How the steps are divided over calls of ``advance`` changes nothing of what is computed.
    """

    program: Program

    @property
    @abc.abstractmethod
    def environment_steps(self) -> int:
        """Transitions of all environments together."""

    @property
    @abc.abstractmethod
    def trainer_steps(self) -> int: ...

    @property
    @abc.abstractmethod
    def episodes(self) -> int:
        """Training episodes ended."""

    @property
    def num_seeds(self) -> int:
        """Independent runs that it trains together. Where there are several, they are the leading
        axis of ``variables``; steps, trainer steps and episodes count each run's own."""
        return 1

    @property
    def step_size(self) -> int:
        """The fewest environment steps ``advance`` can take: the environments stepped together."""
        return self.program.num_environments

    @property
    def is_asynchronous(self) -> bool:
        """Whether ``advance`` should be asked for all steps up to the next at which something is
        due, since they go on while nobody looks; it then returns before, every so often."""
        return False

    def reached(self, target: int) -> bool:
        """Whether everything is done that is to be done up to ``target`` environment steps."""
        return self.environment_steps + self.step_size > target

    def pause(self) -> None:
        """Brings steps that go on by themselves to rest, until the next ``advance``."""
        return

    def log_to(self, folder: pathlib.Path | None) -> None:
        """The run's directory, told before ``start``, for a runner that writes logs there."""
        return

    @abc.abstractmethod
    def memory_estimate(self) -> dict[str, int]:
        """Bytes that will be allocated, by purpose (``buffer``, ``parameters``), known before
        allocation."""

    @abc.abstractmethod
    def start(self, say: Callable[[str], None]) -> None:
        """Allocates, resets the environments and compiles, saying what it is doing."""

    @abc.abstractmethod
    def advance(self, until: int) -> Report:
        """Runs until one more step would pass ``until`` environment steps.

        Raises:
            EnvironmentFault: the environment failed.
            DivergenceError: a loss, reward or observation is not finite.
        """

    @abc.abstractmethod
    def variables(self) -> Variables:
        """What acting needs, as of now."""

    @abc.abstractmethod
    def episode_runner(self) -> InterruptibleEpisodes:
        """Environments apart from those trained in; nothing of what they do enters training."""

    @abc.abstractmethod
    def state(self) -> RunnerState:
        """What ``restore`` needs. Its arrays may be the runner's own: use them before the next
        ``advance``, which may reuse their memory."""

    @abc.abstractmethod
    def restore(self, state: RunnerState) -> list[str]:
        """Takes over a state saved by ``state``, after ``start``. Returns a sentence for each thing
        that could not be restored exactly; none of them means that the run goes on bit for bit."""

    @abc.abstractmethod
    def close(self) -> None: ...


Tree = TypeVar("Tree")


def of_seed(tree: Tree, index: int, num_seeds: int) -> Tree:
    """What belongs to one of the runs that are trained together."""
    if num_seeds == 1:
        return tree
    return jax.tree.map(lambda x: x[index], tree)  # type: ignore[no-any-return]


def policy_of(program: Program, variables: Variables, jit: bool = True) -> ActFunction:
    """The greedy policy of a program as an act function."""
    return ActFunction(GreedyAct(program), program.init_memory, variables, jit)


@dataclasses.dataclass(frozen=True, eq=False)
class GreedyAct:
    """Acts greedily: the ``act`` of an ``ActFunction``."""

    program: Program

    def __call__(
        self, variables: PyTree, memory: PyTree, timestep: TimeStep, key: jax.Array
    ) -> tuple[dict[str, Array], PyTree]:
        act, clock = self.program.act, np.zeros((), np.int32)
        actions, _, memory = act(variables, memory, timestep, clock, key, explore=False)
        return actions, memory


RunnerFactory = Callable[[System, int], Runner]
"""System, seed -> runner; also takes the topology's own options by keyword."""
