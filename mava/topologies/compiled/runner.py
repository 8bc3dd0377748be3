"""The compiled topology: executor, buffer, trainer and environments as one XLA program."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from mava.core.learner import Variables
from mava.core.program import Program
from mava.core.system import System, build
from mava.environments.base import JaxEnvironment
from mava.errors import ConfigurationError, DivergenceError, EnvironmentFault
from mava.topologies.base import InterruptibleEpisodes, Report, Runner, RunnerState
from mava.topologies.buffers import buffer_bytes, make_buffer
from mava.topologies.compiled import log as log_
from mava.topologies.compiled.cache import keep_compiled
from mava.topologies.compiled.environments import VectorisedEnvironment, check_shapes, leaves
from mava.topologies.compiled.episodes import CompiledEpisodes
from mava.topologies.compiled.loop import Chunk, Counters, Loop
from mava.topologies.compiled.placing import CHUNK, Layout
from mava.topologies.divergence import diagnosis
from mava.types import PyTree


class Compiled(Runner):
    """A system as one compiled program over a JAX environment.

    It takes the same steps and trains at the same moments as ``SingleProcess``, in chunks that the
    host starts and looks at. A chunk ends early where anything stopped being finite.

    Args:
        system: what to run; its environment is one of JAX functions.
        seed: of all randomness, environments included.
        num_devices: accelerators (or forced CPU devices) that share environments, buffer and batch.
        num_seeds: independent runs side by side, of the seeds ``seed``, ``seed + 1``, ...

    Raises:
        WiringError: the system does not fit together.
        ConfigurationError: an environment that the host steps or whose shapes change, numbers that
            devices cannot share evenly, or seeds of 2**32 and more.
    """

    def __init__(self, system: System, seed: int, num_devices: int = 1, num_seeds: int = 1) -> None:
        self._layout = Layout(num_devices, num_seeds)
        environment = system.environment.build()
        if not isinstance(environment, JaxEnvironment):
            environment.close()
            raise ConfigurationError(
                f"the compiled topology needs an environment of JAX functions, and "
                f"{environment.spec.name} is stepped by the host; use topology='single_process', "
                "or a JAX environment such as 'jaxmarl/smax/3m'"
            )
        check_shapes(environment)
        keep_compiled()
        self.program: Program = build(system, environment.spec)
        count = self.program.num_environments
        plan = self._layout.plan_of(self.program)
        here = count // num_devices
        self._environment = environment
        self._sizes = log_.sizes_of(self.program.rounds, count, num_seeds)
        self._loop = Loop(
            self.program,
            make_buffer(plan, here),
            VectorisedEnvironment(environment, here),
            count,
            self._sizes,
            self._layout.over_seeds,
            self._layout.device,
            self._layout.all_mean,
        )
        self._seed = seed
        self._source = self._layout.whole(self._layout.sources(seed))
        self._steps = self._updates = self._episodes = 0
        self._publish = self._layout.over_seeds(self.program.publish, (0,))
        self._say: Callable[[str], None] = lambda text: None

    @property
    def num_seeds(self) -> int:
        return self._layout.num_seeds

    @property
    def environment_steps(self) -> int:
        return self._steps * self.program.num_environments

    @property
    def trainer_steps(self) -> int:
        return self._updates

    @property
    def episodes(self) -> int:
        return self._episodes // self.num_seeds

    def memory_estimate(self) -> dict[str, int]:
        learner = jax.eval_shape(self.program.init_learner, jax.random.key(0))
        worlds = jax.eval_shape(self._environment.reset, jax.random.key(0))
        seeds, count = self._layout.num_seeds, self.program.num_environments
        return {
            "buffer": seeds * buffer_bytes(self.program.plan, self.program.item),
            "parameters": seeds * self._layout.num_devices * _bytes(learner),
            "environments": seeds * count * _bytes(worlds),
        }

    def start(self, say: Callable[[str], None]) -> None:
        self._say = say
        say("compiling acting, training and the environment as one program")
        began = time.perf_counter()
        layout, loop = self._layout, self._loop
        init_learner = layout.over_seeds(loop.init_learner, (0,))
        init_place = layout.over_seeds(loop.init_place, (0,))
        self._learner = layout.whole(jax.jit(init_learner)(self._source))
        init_place = layout.over_devices(init_place, "w", ("s", "s"))
        self._place, bad = jax.jit(init_place)(self._source)
        self._check_reset(np.asarray(bad))
        run = layout.over_devices(loop.run, "wwsww", CHUNK)
        jitted = jax.jit(run, donate_argnums=(1, 2))
        arguments = (self._source, self._learner, self._place, *self._progress(0))
        self._run = jitted.lower(*arguments).compile()
        say(f"compiled in {time.perf_counter() - began:.1f} s")

    def _progress(self, until: int) -> tuple[Counters, Any]:
        counters = Counters(np.int32(self._steps), np.int32(self._updates))  # type: ignore[arg-type]
        return self._layout.whole((counters, np.int32(until)))  # type: ignore[no-any-return]

    def advance(self, until: int) -> Report:
        target = until // self.program.num_environments
        reports = []
        while self._steps < target:
            reports.append(self._chunk(min(target, self._steps + self._sizes.steps)))
        return _joined(reports)

    def _chunk(self, until: int) -> Report:
        """One call of the compiled loop."""
        chunk: Chunk = self._run(self._source, self._learner, self._place, *self._progress(until))
        self._learner, self._place = chunk.learner, chunk.place
        counters, log = jax.device_get((chunk.counters, chunk.log))
        steps, updates = int(counters.steps) - self._steps, int(counters.updates) - self._updates
        self._check(log, int(counters.steps), updates)
        self._steps, self._updates = int(counters.steps), int(counters.updates)
        shape = (self._layout.num_devices, self._layout.num_seeds)
        report = log_.report(log, steps, updates, shape)
        self._episodes += len(report.returns)
        return report

    def _check(self, log: log_.Log, steps: int, updates: int) -> None:
        """Raises:
        EnvironmentFault: the log has one.
        DivergenceError: the last trainer step was not finite.
        """
        count, spec = self.program.num_environments, self.program.spec
        faults = np.atleast_1d(log.fault).ravel()
        if np.any(faults > 0):
            at = int(np.flatnonzero(faults)[0])
            step = self._steps + int(np.atleast_1d(log.fault_step).ravel()[at]) + 1
            raise self._fault(at, int(faults[at]) - 1, f"by environment step {step * count:,}")
        if not np.all(log.finite):
            at = int(np.flatnonzero(~np.atleast_1d(log.finite).ravel())[0])
            one = log_.of_one(log, at, (self._layout.num_devices, self._layout.num_seeds))
            metrics = {name: x[updates - 1] for name, x in one.metrics.items()}
            moment = f"trainer step {self._updates + updates} (environment step {steps * count})"
            where = f"{moment}{self._of_seed(at)}"
            raise DivergenceError(diagnosis(spec, {**one.by_agent, **metrics}, where))

    def _check_reset(self, bad: np.ndarray) -> None:
        """Raises:
        EnvironmentFault: any of the flags is true.
        """
        flat = bad.reshape(self._layout.num_devices * self._layout.num_seeds, -1)
        if np.any(flat):
            at, flag = np.argwhere(flat)[0]
            raise self._fault(int(at), int(flag), "at its reset")

    def _fault(self, at: int, flag: int, when: str) -> EnvironmentFault:
        """What a flag says.

        Args:
            at: index over devices and seeds.
            flag: index over the environments of that device and their ``leaves``.
            when: it was seen.
        """
        spec, devices = self.program.spec, self._layout.num_devices
        row, leaf = divmod(flag, len(leaves(spec)))
        device = at // self._layout.num_seeds
        index = device * (self.program.num_environments // devices) + row
        return EnvironmentFault(
            f"environment {index} of {spec.name}{self._of_seed(at)}, {when}: {leaves(spec)[leaf]}"
        )

    def _of_seed(self, at: int) -> str:
        """Names the seed, where there are several."""
        seeds = self._layout.num_seeds
        return "" if seeds == 1 else f" (seed {self._seed + at % seeds})"

    def variables(self) -> Variables:
        found: Variables = self._publish(self._learner)
        return found

    def episode_runner(self) -> InterruptibleEpisodes:
        return CompiledEpisodes(self._environment, self._say)

    def state(self) -> RunnerState:
        arrays = {"learner": self._learner, "place": self._place}
        extra = {"steps": self._steps, "updates": self._updates, "episodes": self._episodes}
        return RunnerState(arrays, extra)

    def restore(self, state: RunnerState) -> list[str]:
        now = {"learner": self._learner, "place": self._place}
        arrays = jax.tree.map(_placed_like, state.arrays, now)
        self._learner, self._place = arrays["learner"], arrays["place"]
        self._steps, self._updates = state.extra["steps"], state.extra["updates"]
        self._episodes = state.extra["episodes"]
        return []

    def close(self) -> None:
        """Nothing is held open."""


def _placed_like(new: Any, old: Any) -> Any:
    """A copy where ``old`` is: what a run is given to start from is donated to it."""
    return jax.device_put(jnp.array(new, copy=True), old.sharding)


def _joined(reports: list[Report]) -> Report:
    """One report of all; a chunk in which no trainer step fell has no metrics."""
    names = dict.fromkeys(name for report in reports for name in report.metrics)
    return Report(
        {name: tuple(x for r in reports for x in r.metrics.get(name, ())) for name in names},
        tuple(x for r in reports for x in r.returns),
        tuple(x for r in reports for x in r.lengths),
    )


def _bytes(tree: PyTree) -> int:
    return sum(
        x.size * (x.dtype.itemsize if hasattr(x.dtype, "itemsize") else 8)
        for x in jax.tree.leaves(tree)
    )
