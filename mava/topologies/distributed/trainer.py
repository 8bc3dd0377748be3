"""The trainer node: samples, makes the trainer steps that are due, and publishes parameters."""

from __future__ import annotations

import pickle
import threading
import time
from typing import Any

import jax
import numpy as np

from mava.core.keys import address
from mava.core.learner import Variables
from mava.core.plans import Sampling
from mava.errors import DivergenceError
from mava.topologies.distributed.job import Job
from mava.topologies.distributed.packing import Packing
from mava.topologies.distributed.remote import Remote, exposed
from mava.topologies.distributed.replay import Sampler
from mava.topologies.divergence import diagnosis
from mava.topologies.learning import training
from mava.types import PyTree

_PUBLISH_SECONDS = 0.05
_REPUBLISH_SECONDS = 1.0
_KEEP_SECONDS = 10.0
_SAMPLE_SECONDS = 0.5


class TrainerWorker:
    """Makes trainer steps as they become due, and none before.

    It publishes parameters at most every 50 ms while it trains, and whenever it has caught up; and
    keeps its state with the coordinator every ten seconds, for a trainer that takes its place.

    Args:
        job: the run.
        coordinator, parameters: nodes.
        replay: address of the replay.
        stop: set when the run ends.
    """

    def __init__(
        self, job: Job, coordinator: Remote, parameters: Remote, replay: str, stop: threading.Event
    ) -> None:
        self._coordinator, self._parameters, self._stop = coordinator, parameters, stop
        self._program = job.program
        self._prioritised = self._program.plan.sampling is Sampling.PRIORITISED
        self._replay = replay
        self._key = jax.random.key(job.seed)
        self._lock = threading.Lock()
        self._learner = jax.jit(self._program.init_learner)(address(self._key, "init"))
        self._train = jax.jit(training(self._program))
        self._updates, self._version, self._priority = 0, -1, 1.0
        self._published = self._kept = 0.0
        kept = coordinator.call("kept")
        if kept is not None:
            self._take(kept)

    @exposed
    def snapshot(self) -> bytes:
        """The trainer's state between two steps, in numpy arrays, pickled."""
        return self._state()

    @exposed
    def variables(self) -> Variables:
        """What acting needs, as of now."""
        with self._lock:
            found: Variables = _on_host(self._program.publish(self._learner))
            return found

    @exposed
    def load(self, state: bytes) -> None:
        """Goes on from what ``snapshot`` gave."""
        with self._lock:
            self._take(state)
        self._publish()

    def run(self) -> None:
        """Until the run ends.

        Raises:
            DivergenceError: a metric or parameter is not finite.
        """
        sampler = Sampler(self._replay, self._program.plan, Packing(self._program.item))
        try:
            self._run(sampler)
        finally:
            sampler.close()

    def _run(self, sampler: Sampler) -> None:
        self._compile()
        self._publish()
        self._coordinator.call("join", "trainer")
        metrics: dict[str, list[float]] = {}
        while not self._stop.is_set():
            due = self._coordinator.call("due", self._updates, metrics)
            metrics = {}
            if due is None:
                return
            for _ in range(due):
                if self._stop.is_set() or not self._step(sampler, metrics):
                    break
                self._tell(_PUBLISH_SECONDS)
            self._tell(0.0 if due else _REPUBLISH_SECONDS)

    def _compile(self) -> None:
        """Trains once on zeros, and forgets it."""
        plan = self._program.plan
        shape = (plan.batch_size, plan.sequence_length)
        zeros = jax.tree.map(lambda x: np.zeros((*shape, *x.shape), x.dtype), self._program.item)
        self._train(self._learner, zeros, np.ones(plan.batch_size, np.float32), self._key)

    def _step(self, sampler: Sampler, metrics: dict[str, list[float]]) -> bool:
        """One trainer step; ``False`` where the replay had nothing to sample."""
        drawn = sampler.sample(timeout=_SAMPLE_SECONDS)
        if drawn is None:
            if sampler.was_refused:
                self._coordinator.call("starved", self._updates)
            return False
        batch, probability, keys = drawn
        with self._lock:  # a state that is loaded meanwhile must not be trained over
            trained = self._train(self._learner, batch, probability, self._key)
            if not trained.finite:
                where = f"trainer step {self._updates + 1}"
                raise DivergenceError(diagnosis(self._program.spec, trained.metrics, where))
            self._learner, self._updates = trained.learner, self._updates + 1
        if self._prioritised:
            priorities = np.asarray(trained.priorities)
            self._priority = max(self._priority, float(priorities.max()))
            sampler.set_priorities(keys, priorities)
        for name, value in trained.metrics.items():
            if "/by_agent/" not in name:
                metrics.setdefault(name, []).append(float(value))
        return True

    def _tell(self, seconds: float) -> None:
        """Publishes, where ``seconds`` have passed since the last time, and keeps the state."""
        now = time.monotonic()
        if now - self._published >= seconds and (seconds or self._version != self._updates):
            self._publish()
        if now - self._kept >= _KEEP_SECONDS:
            self._kept = now
            self._coordinator.call("keep", self._state())

    def _publish(self) -> None:
        with self._lock:
            variables = _on_host(self._program.publish(self._learner))
            version = self._updates
        self._parameters.call("publish", version, self._priority, variables)
        self._coordinator.call("published", version)
        self._published, self._version = time.monotonic(), version

    def _state(self) -> bytes:
        """See ``snapshot``."""
        with self._lock:
            return pickle.dumps((self._updates, self._priority, _on_host(self._learner)))

    def _take(self, state: bytes) -> None:
        self._updates, self._priority, learner = pickle.loads(state)
        self._learner = jax.tree.map(jax.numpy.asarray, learner)


def _on_host(tree: PyTree) -> Any:
    return jax.tree.map(np.asarray, tree)
