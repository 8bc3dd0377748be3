"""What critics look at: an agent's own observation, or the whole environment."""

from __future__ import annotations

import dataclasses
import math

import jax.numpy as jnp
import numpy as np

from mava.components.networks.global_state import check_source, global_state, state_size
from mava.components.networks.torsos import as_float
from mava.core.contexts import ValueContext, ValueInputs
from mava.errors import WiringError
from mava.types import Array, ArraySpec, EnvironmentSpec, GroupSpec


class OwnObservation:
    """Critics that see what their agent sees; a component inherits it beside its hooks."""

    def _shown_spec(self, spec: EnvironmentSpec, group: GroupSpec) -> ArraySpec:
        """What one agent's critic gets, without leading axes."""
        return group.observation

    def _shown(self, inputs: ValueInputs, context: ValueContext) -> Array:
        """``[..., N, *O]``."""
        return inputs.observation[context.group.name]


@dataclasses.dataclass(frozen=True)
class WholeState:
    """Critics that see the whole environment, while training alone; a component inherits it beside
    its hooks.

    Attributes:
        state: ``"environment"``, ``"observations"`` or ``"auto"``: the environment's own global
            state, what all agents observe, or the first where there is one and else the second.
        own_observation: adds what the agent itself observes.
        agent_ids: adds a one-hot of the agent's index in its group, where it has several.
    """

    state: str = "auto"
    own_observation: bool = False
    agent_ids: bool = True

    def _check_source(self) -> None:
        check_source(self._owner, self.state)

    @property
    def _owner(self) -> str:
        owner: str = self.name  # type: ignore[attr-defined]  # a component's
        return owner

    def _shown_spec(self, spec: EnvironmentSpec, group: GroupSpec) -> ArraySpec:
        size = state_size(self._owner, self.state, spec)
        if self.own_observation:
            size += math.prod(group.observation.shape)
        if self.agent_ids and group.num_agents > 1:
            size += group.num_agents
        return ArraySpec((size,), np.dtype(np.float32))

    def _shown(self, inputs: ValueInputs, context: ValueContext) -> Array:
        group, spec = context.group, context.spec
        if self.state != "observations" and spec.state is not None and inputs.state is None:
            raise WiringError(
                f"{self._owner} looks at the environment's global state, which is not recorded; "
                f"add RecordState(), or set {self._owner}.state to 'observations'"
            )
        whole = global_state(self.state, spec, inputs.observation, inputs.state)
        agents = (*whole.shape[:-1], group.num_agents)
        parts = [jnp.broadcast_to(whole[..., None, :], (*agents, whole.shape[-1]))]
        if self.own_observation:
            own = jnp.asarray(inputs.observation[group.name])
            flat = as_float(own, len(group.observation.shape)).reshape(*agents, -1)
            parts.append(jnp.asarray(flat))
        if self.agent_ids and group.num_agents > 1:
            ids = jnp.eye(group.num_agents, dtype=jnp.float32)
            parts.append(jnp.broadcast_to(ids, (*agents, group.num_agents)))
        return jnp.concatenate(parts, axis=-1)
