"""The evaluator node: runs whole episodes of the greedy policy."""

from __future__ import annotations

import threading

from mava.core.evaluation import Episodes
from mava.core.learner import Variables
from mava.topologies.base import policy_of
from mava.topologies.distributed.job import Job
from mava.topologies.distributed.remote import exposed
from mava.topologies.host_episodes import HostEpisodes, Interrupted


class EvaluatorWorker:
    """Runs episodes in environments of its own, when it is asked to.

    Args:
        job: the run.
        stop: set when the run ends.
    """

    def __init__(self, job: Job, stop: threading.Event) -> None:
        self._program, self._stop = job.program, stop
        self._episodes = HostEpisodes(job.system.environment.build)
        self._given_up = False
        self._episodes.should_stop = lambda: self._given_up or stop.is_set()

    @exposed
    def episodes(self, variables: Variables, episodes: int, seed: int) -> Episodes | None:
        """See ``mava.core.evaluation.EpisodeRunner``; ``None`` where it was given up.

        Raises:
            EnvironmentFault: the environment failed.
        """
        self._given_up = False
        if not hasattr(self, "_policy"):
            # Made once: what compiles the policy recognises it by its function.
            self._policy = policy_of(self._program, variables)
        try:
            return self._episodes.run(self._policy._replace(variables=variables), episodes, seed)
        except Interrupted:
            return None

    def run(self) -> None:
        """Until the run ends."""
        self._stop.wait()
        self._episodes.close()

    @exposed
    def give_up(self) -> None:
        """Ends the episodes that are running."""
        self._given_up = True
