"""Every hook of a system, in the order in which they run. Read this file first.

Pure hooks are verbs that return a value, so they run the same in a Python loop, in one compiled
program and in distributed nodes. Act hooks are written for one environment and never see a batch
axis; learn hooks see a batch ``[B, T, ...]``. Where a hook is called once per group its arrays
start with ``[N]``; where it sees all groups its arrays are dictionaries by group. ``mava.types``
has the axis legend.
"""

from __future__ import annotations

import abc
from typing import ClassVar

import jax
import optax

from mava.core.component import Arity, Hook
from mava.core.contexts import (
    ActContext,
    ActHooks,
    Batch,
    GroupContext,
    LearnContext,
    LearnHooks,
    LossOutput,
    Params,
    Selection,
    Transition,
    ValueContext,
    ValueInputs,
)
from mava.core.evaluation import ActFunction, EpisodeRunner, Evaluation
from mava.core.learner import LearnerState
from mava.core.observing import Observer, Progress, Run
from mava.core.plans import BufferPlan
from mava.functional.loops import unroll
from mava.types import Array, ArraySpec, EnvironmentSpec, GroupSpec, PyTree, TimeStep

# -------------------------------------------------------------------------------------------- init


class InitParams(Hook, arity=Arity.KEYED, stage="init"):
    """Owns sets of parameters, each under a name of its own."""

    trainable: ClassVar[bool] = True
    """Whether a loss must train what this component owns."""

    @abc.abstractmethod
    def init_params(self, key: jax.Array, spec: EnvironmentSpec) -> dict[str, PyTree]:
        """Makes the parameters, by name. ``spec`` describes observations as the networks see them,
        after every ``transform_observation``."""


# --------------------------------------------------------------------------------------------- act


class TransformObservation(Hook, arity=Arity.CHAIN, stage="act"):
    """Changes observations on their way into every network, while acting and while learning. What
    is stored is the observation before it."""

    def transformed(self, group: GroupSpec) -> ArraySpec:
        """The specification of what comes out; what goes in is ``group.observation``."""
        return group.observation

    @abc.abstractmethod
    def transform_observation(self, observation: Array, context: GroupContext) -> Array:
        """Once per group: ``[..., N, *observation.shape]`` -> ``[..., N, *transformed.shape]``, any
        leading axes."""


class Score(Hook, arity=Arity.ONE, stage="act"):
    """The network that acts: Q-values, logits or the parameters of a distribution."""

    def init_memory(self, group: GroupSpec) -> PyTree:
        """Memory at the start of an episode, for one environment; ``()`` for a feed-forward
        network."""
        return ()

    @abc.abstractmethod
    def score(
        self, params: Params, observation: Array, memory: PyTree, context: GroupContext
    ) -> tuple[PyTree, PyTree]:
        """Once per group and step: ``[N, *O]`` and the memory -> scores, a tree of arrays
        ``[N, ...]``, and the memory after it. ``params`` holds every set by name."""

    def unroll(
        self,
        params: Params,
        observation: Array,
        start: Array,
        memory: PyTree,
        context: GroupContext,
    ) -> tuple[PyTree, PyTree]:
        """``score`` over sequences: ``[B, T, N, *O]``, flags of first steps ``[B, T]``, memory
        ``[B, ...]`` -> scores ``[B, T, N, ...]`` and the memory after every step ``[B, T, ...]``.
        Override it for speed."""
        initial = self.init_memory(context.group)
        return unroll(
            lambda x, before: self.score(params, x, before, context),
            memory,
            initial,
            observation,
            start,
        )


class SelectAction(Hook, arity=Arity.ONE, stage="act"):
    """Exploration: turns scores into actions."""

    def init_memory(self, group: GroupSpec) -> PyTree:
        """Memory at the start of an episode (correlated noise); ``()`` where there is none."""
        return ()

    @abc.abstractmethod
    def select_action(
        self, scores: PyTree, legal_actions: Array, memory: PyTree, context: ActContext
    ) -> tuple[Selection, PyTree]:
        """Once per group: scores ``[N, ...]`` and bool ``[N, A]`` -> actions ``[N,
        *actions.array.shape]``, extras to record, and the memory. Without ``context.explore`` the
        choice is greedy and draws nothing. An agent with no legal action gets action 0, the defined
        no-op."""


class Act(Hook, arity=Arity.ONE, stage="act"):
    """The executor: composes the act hooks for all groups."""

    num_environments: int
    """Environments stepped together, each with a memory of its own."""

    @abc.abstractmethod
    def act(
        self, hooks: ActHooks, timestep: TimeStep, memory: dict[str, PyTree]
    ) -> tuple[dict[str, Selection], dict[str, PyTree]]:
        """One environment's timestep -> a selection per group. ``memory`` is by hook, then by
        group, and has been reset where the timestep starts an episode."""


class Record(Hook, arity=Arity.MERGE, stage="act"):
    """Chooses what is stored of a transition."""

    @abc.abstractmethod
    def record(self, transition: Transition) -> dict[str, PyTree]:
        """One transition of one environment -> batch fields by name, each an array or a dict by
        group."""


# ------------------------------------------------------------------------------------------- store


class Plan(Hook, arity=Arity.ONE, stage="store"):
    """The buffer, as data: every topology realises the same plan in its own way."""

    @abc.abstractmethod
    def plan(self) -> BufferPlan: ...


# ------------------------------------------------------------------------------------------- learn


class PrepareBatch(Hook, arity=Arity.CHAIN, stage="learn"):
    """Adds or changes batch fields before the losses see them; may keep statistics."""

    requires: ClassVar[frozenset[str]] = frozenset()
    provides: ClassVar[frozenset[str]] = frozenset()

    @property
    def more_steps(self) -> int:
        """Transitions that it needs in each item beyond those it hands on."""
        return 0

    def init_state(self, spec: EnvironmentSpec) -> PyTree:
        """Statistics kept beside the parameters and published with them; ``()`` where there are
        none. ``spec`` describes observations as they are stored, before any transformation."""
        return ()

    @abc.abstractmethod
    def prepare_batch(
        self, batch: Batch, state: PyTree, params: Params, context: LearnContext
    ) -> tuple[Batch, PyTree]:
        """Fields ``[B, T, ...]`` in and out, and the statistics after this batch. Networks that are
        called in this trainer step, here and in losses, still see those before it, with which it
        was acted."""


class Value(Hook, arity=Arity.OPTIONAL, stage="learn"):
    """A critic, called by losses and batch preparation as ``context.value``. One with memory also
    runs while acting, so that its memory is there when a batch begins in mid-episode."""

    requires: ClassVar[frozenset[str]] = frozenset()

    def init_memory(self, group: GroupSpec) -> PyTree:
        """Memory at the start of an episode, for one environment; ``()`` for a feed-forward
        critic."""
        return ()

    @abc.abstractmethod
    def value(
        self, params: Params, inputs: ValueInputs, memory: PyTree, context: ValueContext
    ) -> tuple[Array, PyTree]:
        """Once per group and step: what all groups observe (and do), and the global state -> the
        values of this group's agents ``[N]``, or ``[N, K]`` by each of K critics, and the memory
        after it."""

    def unroll_value(
        self,
        params: Params,
        inputs: ValueInputs,
        start: Array,
        memory: PyTree,
        context: ValueContext,
    ) -> tuple[Array, PyTree]:
        """``value`` over sequences: inputs ``[B, T, ...]``, flags of first steps ``[B, T]``, memory
        ``[B, ...]`` -> values ``[B, T, N]`` and the memory after every step ``[B, T, ...]``.
        Override it for speed."""
        return unroll(
            lambda x, before: self.value(params, x, before, context),
            memory,
            self.init_memory(context.group),
            inputs,
            start,
        )


class Mix(Hook, arity=Arity.OPTIONAL, stage="learn"):
    """A mixer: joins the agents' values into one, called by losses as ``context.mix``."""

    requires: ClassVar[frozenset[str]] = frozenset()

    @abc.abstractmethod
    def mix(
        self, params: Params, values: dict[str, Array], batch: Batch, context: LearnContext
    ) -> Array:
        """Values ``[B, T, N]`` per group, and the batch they belong to, its ``observation`` as the
        networks see it, with its global state where there is one -> ``[B, T]``."""


class Loss(Hook, arity=Arity.KEYED, stage="learn"):
    """A loss, keyed by the sets of parameters that it trains."""

    trains: tuple[str, ...]
    requires: ClassVar[frozenset[str]] = frozenset()

    @abc.abstractmethod
    def loss(self, params: Params, batch: Batch, context: LearnContext) -> LossOutput:
        """The scalar to descend, metrics, and new priorities ``[B]`` where the buffer uses them. It
        is differentiated by the sets named in ``trains`` alone."""


class Optimise(Hook, arity=Arity.KEYED, stage="learn"):
    """An optimiser, keyed by the sets of parameters that it updates (all trained ones, if
    ``None``)."""

    optimises: tuple[str, ...] | None

    @property
    def name(self) -> str:
        """The class's name, and the sets that it is limited to: a system may have several."""
        return "_".join((super().name, *(self.optimises or ())))

    @abc.abstractmethod
    def optimiser(self) -> optax.GradientTransformation: ...


class UpdateTargets(Hook, arity=Arity.OPTIONAL, stage="learn"):
    """Moves the target parameters. Without it there are none."""

    targets: tuple[str, ...] | None
    """The sets that have a target; ``None`` for all of them."""

    @abc.abstractmethod
    def update_targets(self, params: Params, target_params: Params, updates: Array) -> Params:
        """After gradient step number ``updates`` (the first is 1): the new target parameters."""


class Measure(Hook, arity=Arity.MERGE, stage="learn"):
    """Reads gradients and batch, and returns metrics; it cannot change training."""

    @abc.abstractmethod
    def measure(
        self, gradients: Params, batch: Batch, context: LearnContext
    ) -> dict[str, Array]: ...


class Update(Hook, arity=Arity.ONE, stage="learn"):
    """The trainer: one gradient step, or several epochs over minibatches."""

    update_every: int | None
    """Environment steps between rounds of updates; ``None`` for an on-policy buffer: whenever it is
    full."""
    updates: int
    """Trainer steps in a round, each on a batch of its own."""

    @abc.abstractmethod
    def update(
        self, learner: LearnerState, batch: Batch, hooks: LearnHooks
    ) -> tuple[LearnerState, dict[str, Array], Array | None]:
        """One trainer step on a sampled batch: the new state, metrics, and priorities ``[B]`` or
        ``None``."""


# ---------------------------------------------------------------------------------------- evaluate


class Evaluate(Hook, arity=Arity.OPTIONAL, stage="evaluate"):
    """Measures an act function, never a network, on whole episodes."""

    every: int | None
    """Environment steps between evaluations; ``None`` for the first and the last moment only."""

    @abc.abstractmethod
    def evaluate(self, act: ActFunction, environment: EpisodeRunner, seed: int) -> Evaluation: ...


# ----------------------------------------------------------------------------------------- observe


class Observe(Hook, arity=Arity.OBSERVE, stage="observe"):
    """Loggers and progress: makes the object that watches one run."""

    @abc.abstractmethod
    def open_observer(self, run: Run) -> Observer: ...


class Stop(Hook, arity=Arity.OBSERVE, stage="observe"):
    """Ends a run early."""

    @abc.abstractmethod
    def stop_reason(self, progress: Progress) -> str | None:
        """Why to stop now, as a sentence for people, or ``None`` to go on."""


class Refuse(Hook, arity=Arity.OBSERVE, stage="observe"):
    """Stops a run with an error where what training has seen shows that it makes no sense, which
    nothing could tell when the system was built."""

    @abc.abstractmethod
    def refusal(self, state: PyTree, spec: EnvironmentSpec) -> str | None:
        """What is wrong and what to do, as a sentence, or ``None`` to go on. Asked on the host
        whenever the driver looks at a run, several times a second, until ``is_decided``. ``state``
        is the component's statistics from ``prepare_batch``; ``()`` where it keeps none."""

    def is_decided(self, state: PyTree) -> bool:
        """Whether ``refusal`` gives the same from now on, so that it is not asked again."""
        return False
