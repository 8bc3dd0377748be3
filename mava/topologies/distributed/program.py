"""The run as a Launchpad program: its nodes, and who knows of whom."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable
from typing import Any

import courier
import jax
import launchpad as lp
from launchpad.nodes.courier.node import CourierHandle

from mava.topologies.distributed.evaluator import EvaluatorWorker
from mava.topologies.distributed.executor import ExecutorWorker
from mava.topologies.distributed.job import Addresses, Job
from mava.topologies.distributed.parameters import ParameterServer
from mava.topologies.distributed.ports import Ports
from mava.topologies.distributed.remote import Remote
from mava.topologies.distributed.storage import ReplayWorker
from mava.topologies.distributed.trainer import TrainerWorker
from mava.topologies.latency import prefer_low_latency

RESTARTS = {"replay": 0, "parameters": 3, "trainer": 3, "evaluator": 3, "executor": 3}
"""How often a node of each kind may be killed before the run ends with it. What a replay held is
gone with it, so that ends the run."""

Run = Callable[[str, int, Callable[[], None]], None]
"""Node's name, restarts, its work -> runs the work here, or in a process of its own."""


class LocalAddress(lp.address.AbstractAddressBuilder):  # type: ignore[misc]
    """An address on this machine."""

    def __init__(self, port: int) -> None:
        self._port = port

    def build(self) -> str:
        return f"localhost:{self._port}"


class Node(lp.CourierNode):  # type: ignore[misc]
    """A Courier node whose work ``run`` does, on a port of ``ports``."""

    def __init__(self, name: str, run: Run, ports: Ports, constructor: Any, *args: Any) -> None:
        super().__init__(constructor, *args)
        self.name, self._do, self._ports = name, run, ports

    def bind_addresses(self, **kwargs: Any) -> None:
        for address in self.addresses:
            address.bind(LocalAddress(self._ports.take()))

    def run(self) -> None:
        self._do(self.name, RESTARTS[self.name.split()[0]], super().run)


def make_program(job: Job, run: Run, ports: Ports) -> tuple[lp.Program, Callable[[], Addresses]]:
    """The program, and where its nodes listen once it is launched.

    Args:
        job: the run.
        run: how a node's work is done.
        ports: of this machine.
    """
    program = lp.Program("mava")
    nodes: dict[str, Node] = {}

    def add(group: str, name: str, constructor: Any, *args: Any) -> CourierHandle:
        nodes[name] = Node(name, run, ports, constructor, *args)
        return program.add_node(nodes[name], label=group)

    port = ports.take()
    replay = f"localhost:{port}"
    add("replay", "replay", _make_replay, job, port)
    parameters = add("parameters", "parameters", ParameterServer)
    add("trainer", "trainer", _make_trainer, job, parameters, replay)
    add("evaluator", "evaluator", _make_evaluator, job)
    for index in range(job.executors):
        name = f"executor {index}"
        add("executor", name, _make_executor, job, index, parameters, replay)

    def addresses() -> Addresses:
        return Addresses(
            *(nodes[f.name].courier_address.resolve() for f in dataclasses.fields(Addresses))
        )

    return program, addresses


def _make_replay(job: Job, port: int) -> ReplayWorker:
    stop = _started(job, "cpu")
    return ReplayWorker(job, port, _coordinator(job, stop), stop)


def _make_trainer(job: Job, parameters: Any, replay: str) -> TrainerWorker:
    stop = _started(job, job.platform)
    return TrainerWorker(job, _coordinator(job, stop), _remote(parameters, stop), replay, stop)


def _make_evaluator(job: Job) -> EvaluatorWorker:
    return EvaluatorWorker(job, _started(job, "cpu"))


def _make_executor(job: Job, index: int, parameters: Any, replay: str) -> ExecutorWorker:
    stop = _started(job, "cpu")
    coordinator, server = _coordinator(job, stop), _remote(parameters, stop)
    return ExecutorWorker(job, index, coordinator, server, replay, stop)


def _started(job: Job, platform: str | None) -> threading.Event:
    """Sets JAX up for this process, if it is the node's own; the event of the run's end."""
    if job.separate:
        prefer_low_latency()
        if platform is not None:
            jax.config.update("jax_platforms", platform)
    stop: threading.Event = lp.stop_event()
    return stop


def _coordinator(job: Job, stop: threading.Event) -> Remote:
    return Remote("the coordinator", courier.Client(job.coordinator), stop.is_set, patience=5.0)


def _remote(client: Any, stop: threading.Event) -> Remote:
    return Remote("the parameter server", client, stop.is_set)
