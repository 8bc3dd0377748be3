"""The single-process topology: one deterministic Python loop."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from mava.core.contexts import Transition
from mava.core.evaluation import EpisodeRunner
from mava.core.keys import address
from mava.core.learner import LearnerState, Variables
from mava.core.plans import Sampling, updates_due
from mava.core.program import Program
from mava.core.system import System, build
from mava.environments.vector import VectorEnvironment
from mava.errors import DivergenceError
from mava.functional.loops import plain_python, vmap
from mava.topologies.base import Report, Runner, RunnerState
from mava.topologies.buffers import buffer_bytes, check_plan, make_buffer
from mava.topologies.host_episodes import HostEpisodes
from mava.topologies.rollout import Rollout
from mava.topologies.tally import Tally
from mava.types import Array, PyTree, TimeStep


class SingleProcess(Runner):
    """Executor, buffer and trainer in one Python loop, interleaved by the exact schedule.

    Each vectorised step acts, steps the environments and records; then every trainer step that is due runs.
    Nothing waits for anything, so nothing can block.

    Args:
        system: what to run.
        seed: of all randomness, environments included.
        jit: ``False`` runs plain Python, so that a breakpoint in any component stops on concrete arrays.

    Raises:
        WiringError: the system does not fit together.
        ConfigurationError: a buffer that could never be sampled from.
    """

    def __init__(self, system: System, seed: int, jit: bool = True) -> None:
        self._system, self._seed, self._jit = system, seed, jit
        num_environments = _num_environments(system)
        self._environment = VectorEnvironment(system.environment, num_environments, seed)
        self.program: Program = build(system, self._environment.spec)
        plan = self.program.plan
        check_plan(plan, num_environments)
        self._buffer = make_buffer(plan, num_environments)
        self._on_policy = plan.sampling is Sampling.ON_POLICY
        self._every = plan.capacity if self._on_policy else self.program.update_every
        self._min_size = plan.capacity if self._on_policy else plan.min_size
        length = plan.sequence_length if self._on_policy else -(-self._every // num_environments)
        most = plan.capacity // num_environments
        self._rollout = Rollout(min(length, most, 1024) if not self._on_policy else length)
        self._tally = Tally(self.program.spec, num_environments)
        self._episodes = HostEpisodes(system.environment.build)
        self._steps = self._updates = 0
        self._key = jax.random.key(seed)
        self._act_key = address(self._key, "act")
        self._make_functions()

    def _make_functions(self) -> None:
        program, buffer = self.program, self._buffer
        environments = program.num_environments

        def act(
            variables: Variables, memory: PyTree, timestep: TimeStep, clock: Array, key: jax.Array
        ) -> Any:
            clocks = clock + jnp.arange(environments, dtype=jnp.int32)
            each = vmap(program.act, in_axes=(None, 0, 0, 0, None))
            return each(variables, memory, timestep, clocks, key)

        def add(state: PyTree, transitions: Transition) -> PyTree:
            items = jax.vmap(jax.vmap(program.record))(transitions)
            return buffer.add(state, jax.tree.map(lambda x: jnp.swapaxes(x, 0, 1), items))

        def learn(learner: LearnerState, state: PyTree, key: jax.Array) -> Any:
            sample = self._sample(state, address(key, "sample", learner.updates))
            batch = {**sample.batch, "probability": sample.probability}
            return (*program.learn(learner, batch, address(key, "learn")), sample.indices)

        def finish(learner: LearnerState, state: PyTree, key: jax.Array) -> Any:
            learner, metrics, priorities, indices = learn(learner, state, key)
            finite = jnp.all(jnp.stack([jnp.all(jnp.isfinite(x)) for x in metrics.values()]))
            if program.plan.sampling is Sampling.PRIORITISED:
                return learner, metrics, finite, buffer.set_priorities(state, indices, priorities)
            return learner, metrics, finite, None

        prioritised = program.plan.sampling is Sampling.PRIORITISED
        self._add = jax.jit(add, donate_argnums=0)
        self._sample = jax.jit(buffer.sample)
        self._act = jax.jit(act) if self._jit else act
        self._learn = jax.jit(finish, donate_argnums=1 if prioritised else ()) if self._jit else finish
        self._publish = program.publish

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
        parameters = sum(x.size * x.dtype.itemsize for x in jax.tree.leaves(learner))
        return {
            "buffer": buffer_bytes(self.program.plan, self.program.item),
            "parameters": parameters,
        }

    def start(self, say: Callable[[str], None]) -> None:
        environments = self.program.num_environments
        self._learner = jax.jit(self.program.init_learner)(address(self._key, "init"))
        self._variables = self._publish(self._learner)
        self._memory = jax.tree.map(
            lambda x: jnp.broadcast_to(x, (environments, *jnp.shape(x))), self.program.init_memory()
        )
        self._state = jax.jit(self._buffer.init)(self.program.item)
        self._timestep = self._environment.reset()
        if self._jit:
            self._compile(say)

    def _compile(self, say: Callable[[str], None]) -> None:
        """Compiles act and learn before the first step, so that the run shows no silent pause later."""
        for name, compile_ in (("acting", self._compile_act), ("training", self._compile_learn)):
            say(f"compiling {name}")
            began = time.perf_counter()
            compile_()
            say(f"compiled {name} in {time.perf_counter() - began:.1f} s")

    def _compile_act(self) -> None:
        self._select(self._timestep)

    def _compile_learn(self) -> None:
        shapes = (self._learner, self._state, self._key)
        self._learn = self._learn.lower(*shapes).compile()  # type: ignore[union-attr]

    def advance(self, until: int) -> Report:
        environments = self.program.num_environments
        plain = contextlib.nullcontext() if self._jit else plain_python()
        with plain:
            while self._steps + environments <= until:
                self._step()
                self._train()
        return self._tally.report()

    def _select(self, timestep: TimeStep) -> Any:
        clock = np.int32(self._steps)
        return self._act(self._variables, self._memory, timestep, clock, self._act_key)

    def _step(self) -> None:
        """Acts once in every environment, and records."""
        timestep, before = self._timestep, self._memory
        actions, extras, self._memory = self._select(timestep)
        taken = {name: np.asarray(action) for name, action in actions.items()}
        following, self._timestep = self._environment.step(taken)
        self._rollout.append(Transition(timestep, taken, extras, before, following))
        self._steps += self.program.num_environments
        self._tally.step(following)

    def _train(self) -> None:
        """Adds what was collected, and runs the trainer steps that are due."""
        due = updates_due(self._steps, self._min_size, self._every, self.program.updates)
        if self._rollout.is_full or due > self._updates:
            transitions = self._rollout.take()
            if transitions is not None:
                self._state = self._add(self._state, transitions)
        while self._updates < due:
            self._learn_once()

    def _learn_once(self) -> None:
        learner, metrics, finite, state = self._learn(self._learner, self._state, self._key)
        if state is not None:
            self._state = state
        if not finite:
            raise DivergenceError(self._diagnosis(metrics))
        self._learner = learner
        self._variables = self._publish(learner)
        self._updates += 1
        self._tally.trained(metrics)

    def _diagnosis(self, metrics: dict[str, Array]) -> str:
        where = f"trainer step {self._updates + 1} (environment step {self._steps})"
        for name, value in metrics.items():
            if "/by_agent/" in name:
                group = name.rsplit("/", 1)[1]
                agents = self.program.spec[group].agents
                bad = [str(a) for a, x in zip(agents, np.asarray(value), strict=True) if not np.isfinite(x)]
                if bad:
                    return f"{name.split('/')[0]} is not finite at {where} for agents {', '.join(bad)}"
        bad = [name for name, value in metrics.items() if not np.all(np.isfinite(value))]
        return (
            f"{', '.join(bad)} not finite at {where}; lower the learning rate, clip gradients, or find the "
            f"step with jit=False"
        )

    def variables(self) -> Variables:
        return self._variables

    def episode_runner(self) -> EpisodeRunner:
        return self._episodes

    def state(self) -> RunnerState:
        arrays = {"learner": self._learner, "buffer": self._state, "memory": self._memory}
        extra = {
            "steps": self._steps,
            "updates": self._updates,
            "rollout": self._rollout.peek(),
            "episodes": self._environment.open_episodes(),
            "tally": self._tally.state(),
        }
        return RunnerState(arrays, jax.tree.map(_to_host, extra))

    def restore(self, state: RunnerState) -> list[str]:
        arrays = jax.tree.map(jnp.asarray, state.arrays)
        self._learner, self._state = arrays["learner"], arrays["buffer"]
        self._memory = arrays["memory"]
        self._variables = self._publish(self._learner)
        self._steps, self._updates = state.extra["steps"], state.extra["updates"]
        self._rollout.put(state.extra["rollout"])
        self._tally.restore(state.extra["tally"])
        outcomes = self._environment.restore(state.extra["episodes"])
        self._timestep = self._environment.current
        restarted = [index for index, outcome in enumerate(outcomes) if outcome is not True]
        self._tally.forget(restarted)
        return [str(outcomes[index]) for index in restarted]

    def close(self) -> None:
        self._environment.close()
        self._episodes.close()


def _num_environments(system: System) -> int:
    from mava.core.lifecycle import Act
    from mava.core.wiring import check, one

    check(system.components)
    return one(system.components, Act).num_environments


def _to_host(leaf: Any) -> Any:
    return np.asarray(leaf) if isinstance(leaf, jax.Array) else leaf
