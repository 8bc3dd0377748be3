"""The training loop as one compiled program."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from mava.core.contexts import Transition
from mava.core.dry_run import batch_shapes
from mava.core.keys import address
from mava.core.learner import LearnerState, Variables
from mava.core.program import Program
from mava.functional.devices import AllMean
from mava.topologies.buffers import Buffer
from mava.topologies.compiled import log as log_
from mava.topologies.compiled.environments import VectorisedEnvironment, Worlds
from mava.topologies.compiled.log import Log, Sizes
from mava.topologies.learning import learning
from mava.types import Array, PyTree

_NEVER = 2**31 - 1


class Place(NamedTuple):
    """Everything of a run that lives where its environments are.

    Attributes:
        worlds: the environments.
        memory: of acting, ``[E, ...]``.
        buffer: the buffer's state.
        returns: float32 ``[E]``; of the open episodes so far, summed over agents.
        lengths: int32 ``[E]``; their lengths so far.
    """

    worlds: Worlds
    memory: PyTree
    buffer: PyTree
    returns: Array
    lengths: Array


class Source(NamedTuple):
    """Where randomness comes from: the run's key, and its seed (uint32) for episodes."""

    key: jax.Array
    seed: Array


class Counters(NamedTuple):
    """Vectorised steps and trainer steps done, int32 ``[]``; the same for all seeds and devices."""

    steps: Array
    updates: Array


class Chunk(NamedTuple):
    """What one call of the compiled loop gives back."""

    learner: LearnerState
    place: Place
    counters: Counters
    log: Log


class Loop:
    """A program's loop over vectorised steps and trainer steps, for one device and one seed, or
    for several of either.

    Args:
        program: the program.
        buffer: of this device.
        environment: this device's environments.
        num_environments: of all devices.
        sizes: the most that one chunk does.
        over_seeds: maps a function over seeds (the identity for one).
        device: gives this device's index; ``None`` for one device.
        all_mean: averages over devices.
    """

    def __init__(
        self,
        program: Program,
        buffer: Buffer,
        environment: VectorisedEnvironment,
        num_environments: int,
        sizes: Sizes,
        over_seeds: Callable[..., Callable[..., Any]],
        device: Callable[[], Array] | None,
        all_mean: AllMean,
    ) -> None:
        self._program = program
        self._buffer = buffer
        self._environment = environment
        self._total = num_environments
        self._sizes = sizes
        self._over_seeds = over_seeds
        self._device = device
        self._all_mean = all_mean
        self._metrics = metric_shapes(program)
        self._learn = learning(program, buffer, buffer.sample, all_mean)

    def init_place(self, source: Source) -> tuple[Place, Array]:
        """The place before the first step, environments reset; and flags as
        ``VectorisedEnvironment.step`` gives them."""
        program, count = self._program, self._environment.num_environments
        memory = jax.tree.map(
            lambda x: jnp.broadcast_to(x, (count, *jnp.shape(x))), program.init_memory()
        )
        zeros = jnp.zeros(count)
        worlds, bad = self._environment.reset(source.seed, self._first())
        buffer = self._buffer.init(program.item)
        return Place(worlds, memory, buffer, zeros, zeros.astype(jnp.int32)), bad

    def init_learner(self, source: Source) -> LearnerState:
        return self._program.init_learner(address(source.key, "init"))

    def run(
        self,
        source: Source,
        learner: LearnerState,
        place: Place,
        counters: Counters,
        until: Array,
    ) -> Chunk:
        """Runs until ``until`` vectorised steps are done, and every trainer step that is then due.

        Ends earlier, after a round, when anything was not finite.
        """
        began = counters
        log = self._empty_log(source)

        def goes_on(chunk: Chunk) -> Array:
            return (chunk.counters.steps < until) & self._is_good(chunk.log)

        def round_(chunk: Chunk) -> Chunk:
            stop = self._next_round(chunk.counters.updates, until)
            chunk = self._collect(source, chunk, began, stop)
            return self._train(source, chunk, began)

        return jax.lax.while_loop(goes_on, round_, Chunk(learner, place, counters, log))

    def _collect(self, source: Source, chunk: Chunk, began: Counters, stop: Array) -> Chunk:
        """Vectorised steps up to ``stop``."""
        variables = self._over_seeds(self._program.publish, (0,))(chunk.learner)
        step = self._over_seeds(self._step, (0, 0, 0, 0, None, None))

        def body(carry: tuple[Place, Log, Array]) -> tuple[Place, Log, Array]:
            place, log, t = carry
            place, log = step(source, variables, place, log, t, t - began.steps)
            return place, log, t + 1

        carry = (chunk.place, chunk.log, chunk.counters.steps)
        place, log, t = jax.lax.while_loop(lambda carry: carry[2] < stop, body, carry)
        return chunk._replace(place=place, log=log, counters=chunk.counters._replace(steps=t))

    def _step(
        self, source: Source, variables: Variables, place: Place, log: Log, t: Array, row: Array
    ) -> tuple[Place, Log]:
        """One vectorised step."""
        program, worlds = self._program, place.worlds
        count = self._environment.num_environments
        first = self._first()
        clocks = t * self._total + first + jnp.arange(count, dtype=jnp.int32)
        act = jax.vmap(program.act, in_axes=(None, 0, 0, 0, None))
        key = address(source.key, "act")
        actions, extras, memory = act(variables, place.memory, worlds.timestep, clocks, key)
        after, following, bad = self._environment.step(worlds, actions, source.seed, first)
        transition = Transition(worlds.timestep, actions, extras, place.memory, following)
        item = jax.vmap(program.record)(transition)
        buffer = self._buffer.add_step(place.buffer, item)
        agents = [following.reward[name].sum(-1) for name in program.spec.group_names]
        returns, lengths = place.returns + sum(agents), place.lengths + 1
        end = following.end
        log = log_.stepped(log, row, end, returns / program.spec.num_agents, lengths, bad)
        place = Place(
            after, memory, buffer, jnp.where(end, 0.0, returns), jnp.where(end, 0, lengths)
        )
        return place, log

    def _train(self, source: Source, chunk: Chunk, began: Counters) -> Chunk:
        """The trainer steps that are due."""
        due = jnp.where(self._is_good(chunk.log), self._due(chunk.counters.steps), 0)
        learn = self._over_seeds(self._learn_step, (0, 0, 0, 0, None))

        def goes_on(chunk: Chunk) -> Array:
            return (chunk.counters.updates < due) & jnp.all(chunk.log.finite)

        def body(chunk: Chunk) -> Chunk:
            row = chunk.counters.updates - began.updates
            learner, place, log = learn(source, chunk.learner, chunk.place, chunk.log, row)
            counters = chunk.counters._replace(updates=chunk.counters.updates + 1)
            return Chunk(learner, place, counters, log)

        return jax.lax.while_loop(goes_on, body, chunk)

    def _learn_step(
        self, source: Source, learner: LearnerState, place: Place, log: Log, row: Array
    ) -> tuple[LearnerState, Place, Log]:
        device = None if self._device is None else self._device()
        learned = self._learn(learner, place.buffer, source.key, device)
        if learned.buffer is not None:
            place = place._replace(buffer=learned.buffer)
        return learned.learner, place, log_.trained(log, row, learned.metrics, learned.finite)

    def _first(self) -> Array | int:
        """The index of this device's first environment."""
        if self._device is None:
            return 0
        return self._device() * self._environment.num_environments

    def _is_good(self, log: Log) -> Array:
        """Whether everything was finite, on all devices and for all seeds."""
        bad = jnp.any(log.fault > 0) | ~jnp.all(log.finite)
        none: Array = self._all_mean(bad.astype(jnp.float32)) == 0
        return none

    def _due(self, steps: Array) -> Array:
        """``Rounds.due`` after so many vectorised steps; unsigned, against overflow."""
        first, every = self._rounds
        made = steps.astype(jnp.uint32) * jnp.uint32(self._total)
        count = (jnp.maximum(made, first) - first) // every + 1
        due = jnp.where(made >= first, self._program.rounds.updates * count.astype(jnp.int32), 0)
        return due.astype(jnp.int32)

    def _next_round(self, updates: Array, until: Array) -> Array:
        """The vectorised steps after which more than ``updates`` trainer steps are due, or
        ``until`` if that is less."""
        first, every = self._rounds
        done = (updates // self._program.rounds.updates).astype(jnp.uint32)
        steps = (first + done * every - 1) // jnp.uint32(self._total) + 1
        return jnp.minimum(steps, until.astype(jnp.uint32)).astype(jnp.int32)

    @property
    def _rounds(self) -> tuple[Array, Array]:
        """Environment steps before the first round and between rounds; none comes after the last
        step of a run, which is below 2**31."""
        rounds = self._program.rounds
        return jnp.uint32(min(rounds.first, _NEVER)), jnp.uint32(min(rounds.every, _NEVER))

    def _empty_log(self, source: Source) -> Log:
        def one(source: Source) -> Log:
            return log_.empty(self._sizes, self._environment.num_environments, self._metrics)

        return self._over_seeds(one, (0,))(source)  # type: ignore[no-any-return]


def metric_shapes(program: Program) -> dict[str, jax.ShapeDtypeStruct]:
    """Of the metrics of one trainer step."""
    key = jax.eval_shape(lambda: jax.random.key(0))
    learner = jax.eval_shape(program.init_learner, key)
    return jax.eval_shape(program.learn, learner, batch_shapes(program), key)[1]  # type: ignore[no-any-return]
