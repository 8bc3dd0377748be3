"""``mava.launch``: checks everything, then runs a system on a topology."""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
import inspect
import math
import os
import pathlib
from collections.abc import Sequence
from typing import Any

import jax

import mava
from mava.core.evaluation import Evaluation
from mava.core.observing import REPORTS, Run
from mava.core.system import System
from mava.errors import ConfigurationError, nearest
from mava.launcher.checking import LAYOUT, Resumption, check_resumable, check_vacant, check_whole
from mava.launcher.driver import Driver, Outcome
from mava.launcher.evaluating import Evaluator
from mava.launcher.memory import available_memory, check_memory
from mava.launcher.policy import Policy, load_policy, make_policy
from mava.launcher.result import Result
from mava.launcher.run_dir import RunDirectory
from mava.launcher.schedule import Schedule
from mava.launcher.signals import Interruption
from mava.launcher.watching import Watchers
from mava.topologies.base import Runner, RunnerFactory, of_seed
from mava.topologies.latency import prefer_low_latency
from mava.topologies.pickling import pickled_system

TOPOLOGIES = {
    "single_process": "mava.topologies.single_process:SingleProcess",
    "compiled": "mava.topologies.compiled:Compiled",
    "distributed": "mava.topologies.distributed.runner:Distributed",
}
"""Where each topology's runner is; it is imported when it is used."""

_CHECKPOINTS = 10


def launch(
    system: System,
    topology: str = "single_process",
    *,
    total_steps: int,
    seed: int = 0,
    run_dir: str | os.PathLike[str] | None = None,
    resume: bool = False,
    checkpoint_every: int | None = None,
    absolute_metric: bool = True,
    **topology_options: Any,
) -> Result:
    """Trains a system.

    Everything that can be refused is refused before the first environment step. Ctrl-C (or SIGTERM)
    saves a checkpoint and returns a result whose ``reason`` is ``"interrupted"``; a second one
    raises at once. An evaluation that is under way is given up.

    Where JAX has not made its CPU client yet, two options of the whole process are set that make
    small computations quick, see ``mava.topologies.latency``.

    Args:
        system: what to train, and where.
        topology: how it is laid out: ``"single_process"``, ``"compiled"`` for JAX environments, or
            ``"distributed"`` for processes.
        total_steps: environment steps, of all environments together; never exceeded. Below
            2**31.
        seed: of everything random; the same seed gives the same run. In ``[0, 2**32)``.
        run_dir: for checkpoints and what observers write; a new or an empty directory, unless
            ``resume``. It is locked while the run goes on. ``None`` writes no checkpoint.
        resume: go on with the run in ``run_dir``, under the same system and seed. ``total_steps``
            may be higher than it was; observers and stop conditions may differ.
        checkpoint_every: environment steps between checkpoints of the whole state, buffer
            included; ``None``: a tenth of ``total_steps``. There is always one at the end and at
            an interruption. The best variables are kept at each evaluation that is the best yet.
        absolute_metric: evaluate the best policy on ten times the episodes when the run is over.
        **topology_options: of the topology: ``jit=False`` of a single process; ``num_devices`` and
            ``num_seeds`` of the compiled one; those of
            ``mava.topologies.distributed.runner.Distributed``, such as ``executors``.

    Raises:
        ConfigurationError: an argument, directory or resumption that cannot work, or too little
            memory.
        WiringError: a system that cannot be built as composed.
        CheckpointError: a checkpoint could not be written or read; the one before it is kept.
        DivergenceError: a loss, reward or observation stopped being finite.
        EnvironmentFault: the environment failed.
        HookError: a component or observer failed.
    """
    prefer_low_latency()
    if not isinstance(system, System):
        raise ConfigurationError(
            f"launch takes a system, such as mava.systems.madqn(environment), not "
            f"{type(system).__name__}"
        )
    make_runner = _factory(topology, topology_options)
    total_steps = check_whole("total_steps", total_steps, least=1, below=2**31)
    seed = check_whole("seed", seed, least=0, below=2**32)
    if checkpoint_every is not None:
        checkpoint_every = check_whole("checkpoint_every", checkpoint_every, least=1)
    directory = None if run_dir is None else RunDirectory(pathlib.Path(run_dir).expanduser())
    jit = bool(topology_options.get("jit", True))
    facts = {
        **{k: v for k, v in topology_options.items() if isinstance(v, bool | int | float | str)},
        "topology": topology,
        "seed": seed,
        "total_steps": total_steps,
        "jit": jit,
        **{name: topology_options.get(name, 1) for name in LAYOUT},
        "mava": mava.__version__,
        "jax": jax.__version__,
        "backend": jax.default_backend(),
    }
    with contextlib.ExitStack() as stack:
        resumption = _enter(stack, directory, resume, system, facts)
        runner = make_runner(system, seed, **topology_options)
        stack.callback(runner.close)
        return _Launch(
            system=system,
            runner=runner,
            facts=facts,
            directory=directory,
            resume=resume,
            resumption=resumption,
            checkpoint_every=checkpoint_every or max(1, total_steps // _CHECKPOINTS),
            absolute_metric=absolute_metric,
            jit=jit,
        ).run()


@dataclasses.dataclass(frozen=True)
class _Launch:
    """A launch whose arguments have been checked."""

    system: System
    runner: Runner
    facts: dict[str, Any]
    directory: RunDirectory | None
    resume: bool
    resumption: Resumption
    checkpoint_every: int
    absolute_metric: bool
    jit: bool

    def run(self) -> Result:
        if self.facts["total_steps"] < self.runner.step_size:
            raise ConfigurationError(
                f"total_steps is {self.facts['total_steps']}, and the {self.runner.step_size} "
                f"environments stepped together make {self.runner.step_size} steps at once; raise "
                f"total_steps, or lower num_environments"
            )
        memory = check_memory(self._memory_estimate(), available_memory())
        pickled = (
            b""
            if self.directory is None
            else pickled_system(self.system, "the run could not be loaded again")
        )
        with Interruption() as interruption:
            watchers = Watchers(self.runner.program.observers, self._run())
            try:
                result = self._watched(watchers, interruption, memory, pickled)
            except BaseException:
                watchers.close(quietly=True)
                raise
            watchers.close()
            return result

    def _memory_estimate(self) -> dict[str, int]:
        """Bytes, by purpose. Writing a checkpoint takes a second copy of everything."""
        estimate = self.runner.memory_estimate()
        if self.directory is not None:
            estimate = {**estimate, "checkpoint": sum(estimate.values())}
        return estimate

    def _watched(
        self, watchers: Watchers, interruption: Interruption, memory: str, pickled: bytes
    ) -> Result:
        finished = self.resumption.finished
        if finished is not None and self.directory is not None:
            path = self.directory.path
            watchers.say(
                f"the run in {path} is already finished ({finished['reason']}); this is its "
                f"result, and a higher total_steps would go on"
            )
            return Result.from_record(finished, path, self._stored_policy(path, finished))
        watchers.say(
            f"{self.system.name} on {self.system.environment.name}, seed {self.facts['seed']}"
        )
        watchers.say(memory)
        for note in self.resumption.notes:
            watchers.say(note)

        def ready() -> None:
            if self.directory is not None:
                self.directory.write_config(self.system, pickled, self.facts)
                self.directory.write_result(None)

        self.runner.log_to(None if self.directory is None else self.directory.path)
        driver = self._driver(watchers, interruption)
        outcome = driver.run(self.resume, self.absolute_metric, ready)
        result = self._result(outcome)
        if self.directory is not None and not result.interrupted:
            self.directory.write_result(result.record())
        return result

    def _stored_policy(self, path: pathlib.Path, record: dict[str, Any]) -> Policy:
        policy = load_policy(path, self._which())
        evaluations = Result.from_record(record, path, policy).evaluations
        index = _best_seed(evaluations, policy.step)
        return load_policy(path, self._which(), index) if index else policy

    def _driver(self, watchers: Watchers, interruption: Interruption) -> Driver:
        component, total = self.runner.program.evaluator, self.facts["total_steps"]
        schedule = Schedule(
            total=total,
            metrics=math.ceil(total / REPORTS),
            evaluation=None if component is None else component.every,
            checkpoint=self.checkpoint_every,
        )
        evaluator = None
        if component is not None:
            evaluator = Evaluator(component, self.runner, self.facts["seed"], self.jit)
        checkpoints = None if self.directory is None else self.directory.checkpoints
        return Driver(self.runner, schedule, evaluator, watchers, interruption, checkpoints)

    def _run(self) -> Run:
        first_step = self.directory.checkpoints.last_step if self.directory and self.resume else 0
        return Run(
            system=self.system.name,
            environment=self.system.environment.name,
            topology=self.facts["topology"],
            seed=self.facts["seed"],
            total_steps=self.facts["total_steps"],
            spec=self.runner.program.spec,
            run_dir=None if self.directory is None else self.directory.path,
            first_step=first_step or 0,
            resumed=self.resume,
        )

    def _result(self, outcome: Outcome) -> Result:
        return Result(
            evaluations=outcome.evaluations,
            environment_steps=self.runner.environment_steps,
            trainer_steps=self.runner.trainer_steps,
            episodes=self.runner.episodes,
            absolute_metric=outcome.absolute_metric,
            run_dir=None if self.directory is None else self.directory.path,
            wall_seconds=outcome.wall_seconds,
            steps_per_second=outcome.steps_per_second,
            reason=outcome.reason,
            policy=self._policy(outcome),
        )

    def _policy(self, outcome: Outcome) -> Policy:
        index = _best_seed(outcome.evaluations, outcome.step)
        variables = of_seed(outcome.variables, index, self.runner.num_seeds)
        return make_policy(self.runner.program, variables, outcome.step, self.jit)

    def _which(self) -> str:
        return "last" if self.runner.program.evaluator is None else "best"


def _best_seed(evaluations: Sequence[Evaluation], step: int) -> int:
    """The index of the run that did best at this step; 0 where that is not known."""
    found = [evaluation.best_seed for evaluation in evaluations if evaluation.step == step]
    return found[-1] if found else 0


def _enter(
    stack: contextlib.ExitStack,
    directory: RunDirectory | None,
    resume: bool,
    system: System,
    facts: dict[str, Any],
) -> Resumption:
    """Checks and locks the directory until the stack ends."""
    if directory is None:
        if resume:
            raise ConfigurationError("resume=True needs the run_dir of the run to go on with")
        return Resumption()
    if not directory.has_lock:
        # No run was ever here, or none that is under way: a refusal leaves no trace.
        _check(directory, resume, system, facts)
    stack.enter_context(directory.locked())
    directory.check_writable()
    return _check(directory, resume, system, facts)


def _check(
    directory: RunDirectory, resume: bool, system: System, facts: dict[str, Any]
) -> Resumption:
    if resume:
        return check_resumable(directory, system, facts)
    check_vacant(directory)
    return Resumption()


def _factory(topology: str, options: dict[str, Any]) -> RunnerFactory:
    if topology not in TOPOLOGIES:
        raise ConfigurationError(
            f"there is no topology {topology!r}{nearest(str(topology), TOPOLOGIES)}"
        )
    module, _, name = TOPOLOGIES[topology].partition(":")
    factory: RunnerFactory = getattr(importlib.import_module(module), name)
    known = list(inspect.signature(factory).parameters)[2:]
    for option in options:
        if option not in known:
            raise ConfigurationError(
                f"launch has no argument {option!r}, and neither has the {topology} topology"
                f"{nearest(option, [*inspect.signature(launch).parameters, *known])}"
            )
    return factory
