"""The distributed topology: nodes of a Launchpad program, and a Reverb replay between them."""

from __future__ import annotations

import dataclasses
import json
import pathlib
import pickle
import threading
import time
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from mava.core.evaluation import ActFunction, Episodes
from mava.core.learner import Variables
from mava.core.plans import Sampling, check_count, check_positive
from mava.core.program import Program
from mava.core.system import System, build
from mava.errors import ConfigurationError
from mava.topologies.base import InterruptibleEpisodes, Report, Runner, RunnerState
from mava.topologies.buffers import buffer_bytes
from mava.topologies.distributed.coordinator import NODE_METHODS, Coordinator
from mava.topologies.distributed.failures import Failure, NodeError
from mava.topologies.distributed.hosting import Host, ProcessHost, ThreadHost, quiet
from mava.topologies.distributed.job import Job
from mava.topologies.distributed.ports import Ports
from mava.topologies.distributed.remote import Remote, answered
from mava.topologies.distributed.supervision import Killed, Started
from mava.topologies.distributed.support import check_supported
from mava.topologies.host_episodes import Interrupted
from mava.topologies.pickling import pickled_system

_HOSTS: dict[str, Callable[[], Host]] = {"processes": ProcessHost, "threads": ThreadHost}
_LOOK = 0.2
_START_SECONDS = 600.0
_HALT_SECONDS = 60.0


class Distributed(Runner):
    """Executors, trainer, replay, parameter server and evaluator, each a node of its own.

    Executors never wait for the trainer, nor it for them, but where the replay makes one wait so
    that samples per insert stay near the plan. At every moment at which something is due the run
    comes to rest: all steps up to it are made, and all trainer steps that are due then.

    Args:
        system: what to run; it must pickle. ``num_environments`` is what each executor steps
            together.
        seed: of every random stream; those of executors follow from it and their index. Which
            executor makes which step depends on the clock, so runs are not repeatable to the bit.
        executors: how many.
        nodes: ``"processes"``, or ``"threads"`` of this process, for tests and debuggers.
        lease: vectorised steps between two fetches of parameters.
        tolerance: how far samples per insert may run ahead or behind, as a share of the samples
            that the buffer's ``min_size`` is worth.
        trainer_platform: where the trainer computes, such as ``"cuda"``; ``None`` for the best
            there is. Everything else computes on the CPU.

    Raises:
        ConfigurationError: a Python or system without Launchpad and Reverb, a system that does not
            pickle, or a value that cannot work.
        WiringError: the system does not fit together.
    """

    def __init__(
        self,
        system: System,
        seed: int,
        executors: int = 2,
        nodes: str = "processes",
        lease: int = 16,
        tolerance: float = 0.1,
        trainer_platform: str | None = None,
    ) -> None:
        check_supported()
        check_count("executors", executors)
        check_count("lease", lease)
        check_positive("tolerance", tolerance)
        if nodes == "threads" and trainer_platform is not None:
            raise ConfigurationError(
                "trainer_platform is for nodes that are processes of their own; with "
                "nodes='threads' all share this process's JAX, so leave it out"
            )
        if nodes == "threads" and threading.current_thread() is not threading.main_thread():
            raise ConfigurationError(
                "nodes='threads' needs the main thread, since Launchpad installs signal handlers; "
                "launch from there, or use nodes='processes'"
            )
        if nodes not in _HOSTS:
            raise ConfigurationError(f"nodes is {nodes!r}; it is one of {', '.join(_HOSTS)}")
        pickled = pickled_system(system, "it cannot be sent to the nodes of a distributed run")
        self.program: Program = build(system)
        plan, count = self.program.plan, self.program.num_environments
        if plan.sampling is not Sampling.ON_POLICY:
            plan.placed(count * executors)
        if plan.sampling is Sampling.ON_POLICY:
            lease = min(lease, plan.sequence_length)  # one rollout at most
        self._coordinator = Coordinator(plan, self.program.rounds, count, lease, executors)
        self._settings = (pickled, seed, executors, lease, tolerance)
        self._separate, self._platform = nodes == "processes", trainer_platform
        self._executors = executors
        self._host: Host = _HOSTS[nodes]()
        self._ports = Ports()
        self._nodes: dict[str, Remote] = {}
        self._folder: pathlib.Path | None = None
        self._server: Any = None
        self._say: Callable[[str], None] = lambda text: None
        self._variables: tuple[int, Variables] | None = None
        self._pids: dict[str, int] = {}
        self._rests, self._closed = True, False

    is_asynchronous = True

    @property
    def environment_steps(self) -> int:
        return self._coordinator.environment_steps

    @property
    def trainer_steps(self) -> int:
        return self._coordinator.trainer_steps

    @property
    def episodes(self) -> int:
        return self._coordinator.episodes

    def memory_estimate(self) -> dict[str, int]:
        learner = jax.eval_shape(self.program.init_learner, jax.random.key(0))
        size = sum(x.size * x.dtype.itemsize for x in jax.tree.leaves(learner))
        return {
            "buffer": buffer_bytes(self.program.plan, self.program.item),
            "parameters": size * (self._executors + 4),
        }

    def log_to(self, folder: pathlib.Path | None) -> None:
        self._folder = None if folder is None else folder / "nodes"

    def start(self, say: Callable[[str], None]) -> None:
        with quiet():
            import courier

        self._say = say
        began = time.perf_counter()
        say(f"starting {self._executors} executors and four other nodes")
        self._server = courier.Server(port=self._ports.take(), thread_pool_size=self._executors + 8)
        for method in NODE_METHODS:
            function = getattr(self._coordinator, method)
            self._server.Bind(method, lambda payload, f=function: answered(f, payload))
        self._server.Start()
        job = Job(*self._settings, self._server.address, self._separate, self._platform)
        addresses = self._host.start(job, self._folder)
        for name, address in dataclasses.asdict(addresses).items():
            self._nodes[name] = Remote(f"the {name}", courier.Client(address), self._look)
        say("compiling in every node")
        ready = {"trainer", "replay", *(f"{i} is ready" for i in range(self._executors))}
        deadline = time.monotonic() + _START_SECONDS
        while not self._coordinator.joined(ready, _LOOK):
            self._look()
            if time.monotonic() > deadline:
                raise NodeError(f"the nodes were not ready after {_START_SECONDS:.0f} s")
        say(f"all nodes are ready after {time.perf_counter() - began:.1f} s")

    def advance(self, until: int) -> Report:
        self._look()
        self._coordinator.extend(until)
        self._rests = self._coordinator.settled(_LOOK)
        self._look()
        return self._coordinator.report()

    def reached(self, target: int) -> bool:
        return super().reached(target) and self._rests  # as of the last report: none is left out

    def pause(self) -> None:
        self._coordinator.halt()
        deadline = time.monotonic() + _HALT_SECONDS
        while not self._coordinator.settled(_LOOK):
            self._look()
            if time.monotonic() > deadline:
                raise NodeError(f"the nodes did not come to rest within {_HALT_SECONDS:.0f} s")

    def _look(self) -> bool:
        """Sees what became of the nodes; never asks to stop waiting.

        Raises:
            MavaError: one failed, or was killed once too often.
        """
        for event in self._host.events():
            if isinstance(event, Failure):
                raise event.as_error()
            if isinstance(event, Started):
                self._note(event)
                continue
            if isinstance(event, Killed):
                cause = f"{event.node} was killed by signal {event.number}"
                if event.again:
                    self._say(f"{cause}; it is started again")
                    continue
                raise NodeError(f"{cause}; resume the run from its last checkpoint")
            raise NodeError(
                f"{event.node} ended without a word (exit code {event.code}); see its log in the "
                f"run directory's folder nodes, and resume the run from its last checkpoint"
            )
        return False

    def _note(self, started: Started) -> None:
        self._pids[started.node] = started.pid
        if self._folder is not None:
            (self._folder / "pids.json").write_text(json.dumps(self._pids, indent=2) + "\n")

    def variables(self) -> Variables:
        version = self._coordinator.trainer_steps
        if self._variables is None or self._variables[0] != version:
            self._variables = version, self._nodes["trainer"].call("variables")
        return self._variables[1]

    def episode_runner(self) -> InterruptibleEpisodes:
        return RemoteEpisodes(self.program, self._nodes["evaluator"])

    def replayed(self) -> tuple[int, int]:
        """Items inserted into the replay and sampled from it, over the whole run."""
        found: tuple[int, int] = self._nodes["replay"].call("counts")
        return found

    def state(self) -> RunnerState:
        self.pause()
        kept = self._nodes["trainer"].call("snapshot")
        self._coordinator.keep(kept)
        updates, priority, learner = pickle.loads(kept)
        extra = {
            "steps": self.environment_steps,
            "updates": updates,
            "priority": priority,
            "episodes": self.episodes,
            "replay": self._nodes["replay"].call("save"),
        }
        return RunnerState({"learner": learner}, extra)

    def restore(self, state: RunnerState) -> list[str]:
        extra, learner = state.extra, state.arrays["learner"]
        learner = jax.tree.map(np.asarray, learner)
        kept = pickle.dumps((extra["updates"], extra["priority"], learner))
        self._nodes["replay"].call("load", extra["replay"])
        self._nodes["trainer"].call("load", kept)
        # Last: nothing is due before.
        self._coordinator.restore(extra["steps"], extra["updates"], extra["episodes"], kept)
        self._variables = None
        return ["every executor starts new episodes"]

    def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        self._coordinator.stop()
        self._host.stop()
        if self._server is not None:
            self._server.Stop()
            self._server.Join()
            self._server = None
        self._nodes.clear()
        self._ports.close()


class RemoteEpisodes:
    """Episodes that the evaluator node runs.

    Attributes:
        should_stop: asked while it runs.
    """

    def __init__(self, program: Program, evaluator: Remote) -> None:
        self.should_stop: Callable[[], bool] = lambda: False
        self._program, self._evaluator = program, evaluator

    def run(self, act: ActFunction, episodes: int, seed: int) -> Episodes:
        """See ``mava.core.evaluation.EpisodeRunner``.

        Raises:
            ConfigurationError: an act function that is not the program's greedy policy, which is
                what the evaluator node has.
            EnvironmentFault: the environment failed.
            Interrupted: ``should_stop`` said so.
        """
        if getattr(act.act, "program", None) is not self._program:
            raise ConfigurationError(
                "the evaluator node runs the program's greedy policy, and this evaluator asks for "
                'episodes of another act function; use topology="single_process"'
            )
        variables = jax.tree.map(np.asarray, act.variables)
        found = self._evaluator.call(
            "episodes", variables, episodes, seed, meanwhile=self._give_up_if_told
        )
        if found is None:
            raise Interrupted
        return found  # type: ignore[no-any-return]

    def _give_up_if_told(self) -> None:
        if self.should_stop():
            self._evaluator.call("give_up")
