"""The single-process topology: one deterministic Python loop."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from mava.core.keys import address
from mava.core.learner import Variables
from mava.core.plans import Sampling
from mava.core.program import Program
from mava.core.system import System, build, num_environments_of
from mava.environments.vector import VectorEnvironment
from mava.errors import DivergenceError
from mava.functional.loops import plain_python
from mava.topologies.base import InterruptibleEpisodes, Report, Runner, RunnerState
from mava.topologies.buffers import buffer_bytes, make_buffer
from mava.topologies.collecting import Collector
from mava.topologies.divergence import diagnosis
from mava.topologies.host_episodes import HostEpisodes
from mava.topologies.host_functions import host_functions

LONGEST_ROLLOUT = 1024
"""Vectorised steps held back before they are added to a replay buffer, at most."""


class SingleProcess(Runner):
    """Executor, buffer and trainer in one Python loop, interleaved by the exact schedule.

    Each vectorised step acts, steps the environments and records; then every trainer step that is
    due runs. Nothing waits for anything, so nothing can block.

    Args:
        system: what to run.
        seed: of all randomness, environments included.
        jit: ``False`` runs plain Python, so that a breakpoint in any component stops on concrete
            arrays: first when the system is built, on zeros, then as it runs. In a loss every
            second stop, when the loss is differentiated, is on JAX's tracers around the same
            values.

    Raises:
        WiringError: the system does not fit together.
        ConfigurationError: a buffer that could never be sampled from.
    """

    def __init__(self, system: System, seed: int, jit: bool = True) -> None:
        count = num_environments_of(system)
        self._environment = VectorEnvironment(system.environment, count, seed)
        self._episodes = HostEpisodes(system.environment.build)
        self._jit = jit
        with self._mode():
            self.program: Program = build(system, self._environment.spec)
        self._buffer = make_buffer(self.program.plan, count)
        self._functions = host_functions(self.program, self._buffer, jit)
        self._key = jax.random.key(seed)
        self._collector = Collector(
            self.program,
            self._environment,
            self._functions.act,
            self._key,
            _rollout_length(self.program),
        )
        self._rollout, self._tally = self._collector.rollout, self._collector.tally
        self._steps = self._updates = 0

    @property
    def environment_steps(self) -> int:
        return self._steps

    @property
    def trainer_steps(self) -> int:
        return self._updates

    @property
    def episodes(self) -> int:
        return self._tally.episodes

    def memory_estimate(self) -> dict[str, int]:
        learner = jax.eval_shape(self.program.init_learner, jax.random.key(0))
        return {
            "buffer": buffer_bytes(self.program.plan, self.program.item),
            "parameters": sum(x.size * x.dtype.itemsize for x in jax.tree.leaves(learner)),
        }

    def _mode(self) -> contextlib.AbstractContextManager[None]:
        return contextlib.nullcontext() if self._jit else plain_python()

    def start(self, say: Callable[[str], None]) -> None:
        init = jax.jit(self.program.init_learner) if self._jit else self.program.init_learner
        with self._mode():
            self._learner = init(address(self._key, "init"))
        self._variables = self.program.publish(self._learner)
        self._state = jax.jit(lambda: self._buffer.init(self.program.item))()
        self._collector.reset()
        if self._jit:
            self._compile(say)
        else:
            say("running plain Python; each operation takes a while the first time it is met")

    def _compile(self, say: Callable[[str], None]) -> None:
        """Compiles before the first step, so that no pause comes unannounced later."""
        say("compiling acting and training")
        began = time.perf_counter()
        self._collector.act(self._variables, self._steps)
        learn = self._functions.learn.lower(self._learner, self._state, self._key)  # type: ignore[attr-defined]
        self._functions = self._functions._replace(learn=learn.compile())
        say(f"compiled in {time.perf_counter() - began:.1f} s")

    def advance(self, until: int) -> Report:
        with self._mode():
            while self._steps + self.program.num_environments <= until:
                self._collector.step(self._variables, self._steps)
                self._steps += self.program.num_environments
                self._train()
        return self._tally.report()

    def _train(self) -> None:
        """Adds what was collected, and runs the trainer steps that are due."""
        due = self.program.rounds.due(self._steps)
        if self._rollout.is_full or due > self._updates:
            transitions = self._rollout.take()
            if transitions is not None:
                self._state = self._functions.add(self._state, transitions)
        while self._updates < due:
            self._learn()

    def _learn(self) -> None:
        learned = self._functions.learn(self._learner, self._state, self._key)
        if learned.buffer is not None:
            self._state = learned.buffer
        if not learned.finite:
            where = f"trainer step {self._updates + 1} (environment step {self._steps})"
            raise DivergenceError(diagnosis(self.program.spec, learned.metrics, where))
        self._learner = learned.learner
        self._variables = self.program.publish(learned.learner)
        self._updates += 1
        self._tally.trained(learned.metrics)

    def variables(self) -> Variables:
        return self._variables

    def episode_runner(self) -> InterruptibleEpisodes:
        return self._episodes

    def state(self) -> RunnerState:
        arrays = {"learner": self._learner, "buffer": self._state, "memory": self._collector.memory}
        extra = {
            "steps": self._steps,
            "updates": self._updates,
            "rollout": self._rollout.peek(),
            "episodes": self._environment.open_episodes(),
            "tally": self._tally.state(),
        }
        return RunnerState(arrays, jax.tree.map(_to_host, extra))

    def restore(self, state: RunnerState) -> list[str]:
        arrays = jax.tree.map(jnp.array, state.arrays)  # a copy: the buffer is donated to additions
        self._learner, self._state = arrays["learner"], arrays["buffer"]
        self._collector.memory = arrays["memory"]
        self._variables = self.program.publish(self._learner)
        self._steps, self._updates = state.extra["steps"], state.extra["updates"]
        self._rollout.put(state.extra["rollout"])
        self._tally.restore(state.extra["tally"])
        outcomes = self._environment.restore(state.extra["episodes"])
        self._collector.timestep = self._environment.current
        restarted = [index for index, outcome in enumerate(outcomes) if outcome is not True]
        self._tally.forget(restarted)
        return [str(outcomes[index]) for index in restarted]

    def close(self) -> None:
        self._environment.close()
        self._episodes.close()


def _rollout_length(program: Program) -> int:
    """Vectorised steps between additions to the buffer: at most those between rounds."""
    count = program.num_environments
    if program.plan.sampling is Sampling.ON_POLICY:
        return program.plan.sequence_length
    rounds = -(-program.rounds.every // count)
    return min(rounds, program.plan.capacity // count, LONGEST_ROLLOUT)


def _to_host(leaf: Any) -> Any:
    return np.asarray(leaf) if isinstance(leaf, jax.Array) else leaf
