"""Acting in environments that the host steps, and what it gives to the buffer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from mava.core.contexts import Transition
from mava.core.keys import address
from mava.core.learner import Variables
from mava.core.program import Program
from mava.environments.vector import VectorEnvironment
from mava.topologies.rollout import Rollout
from mava.topologies.tally import Tally
from mava.types import Array, PyTree, TimeStep


class Collector:
    """Steps a vector of environments under a program's policy.

    Args:
        program: what acts.
        environment: where; ``reset`` here.
        act: of ``host_functions``.
        key: the run's.
        rollout_length: vectorised transitions held back until they are taken, at most.

    Attributes:
        rollout: transitions that were not taken yet.
        tally: of what happened in training.
        memory: leaves ``[E, ...]``, before the next step.
        timestep: ``[E]`` leading, to act on.
    """

    memory: PyTree
    timestep: TimeStep

    def __init__(
        self,
        program: Program,
        environment: VectorEnvironment,
        act: Callable[..., tuple[dict[str, Array], dict[str, Any], PyTree]],
        key: jax.Array,
        rollout_length: int,
    ) -> None:
        self.environment = environment
        self.rollout = Rollout(rollout_length)
        self.tally = Tally(program.spec, program.num_environments)
        self._program, self._act = program, act
        self._key = address(key, "act")

    def reset(self) -> None:
        """Starts an episode in each environment.

        Raises:
            EnvironmentFault: an environment failed.
        """
        count = self._program.num_environments
        self.memory = jax.tree.map(
            lambda x: jnp.broadcast_to(x, (count, *jnp.shape(x))), self._program.init_memory()
        )
        self.timestep = self.environment.reset()

    def act(
        self, variables: Variables, clock: int
    ) -> tuple[dict[str, Array], dict[str, Any], PyTree]:
        """Actions and extras by group, and the memory after; changes nothing.

        Args:
            variables: what the trainer published.
            clock: the index of the first environment's transition over the whole run.
        """
        index = np.asarray(clock, np.int32)
        return self._act(variables, self.memory, self.timestep, index, self._key)

    def step(self, variables: Variables, clock: int) -> None:
        """Acts once in every environment, and keeps the transitions.

        Raises:
            EnvironmentFault: an environment failed.
        """
        timestep, before = self.timestep, self.memory
        actions, extras, self.memory = self.act(variables, clock)
        taken: dict[str, Array] = {name: np.asarray(action) for name, action in actions.items()}
        following, self.timestep = self.environment.step(taken)  # type: ignore[arg-type]
        self.rollout.append(Transition(timestep, taken, extras, before, following))
        self.tally.step(following)
