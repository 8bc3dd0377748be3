"""A critic of actions: of all agents together, or of each alone."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

import flax.linen as nn
import jax
import jax.numpy as jnp

from mava.components.networks import sharing as sharing_
from mava.components.networks.feed_forward import FeedForwardFields
from mava.components.networks.global_state import check_source, global_state, state_size
from mava.components.networks.torsos import Head, Torso, torso_for
from mava.core.contexts import Params, ValueContext, ValueInputs
from mava.core.lifecycle import InitParams, Value
from mava.core.plans import check_count
from mava.errors import WiringError
from mava.functional.actions import code_size, encode
from mava.functional.loops import vmap
from mava.types import Array, EnvironmentSpec, GroupSpec, PyTree


class _ActionValue(nn.Module):
    """Observations, each through its encoder, and other numbers -> one value for each row.

    Attributes:
        encoders: one for each array of observations.
        head: from all features and numbers of a row to its value.
        joint: whether every row sees all agents; else row i sees agent i.
    """

    encoders: tuple[Torso, ...]
    head: Head
    joint: bool

    @nn.compact
    def __call__(self, observations: Sequence[Array], numbers: Array) -> Array:
        """``[..., N, *O]`` each, ``[..., M, R]`` -> ``[..., M]``."""
        features = [e(x) for e, x in zip(self.encoders, observations, strict=True)]
        if self.joint:
            rows = (*numbers.shape[:-1], -1)
            flat = [x.reshape(*x.shape[:-2], 1, -1) for x in features]
            features = [jnp.broadcast_to(x, (*rows[:-1], x.shape[-1])) for x in flat]
        return self.head(jnp.concatenate([*features, numbers], axis=-1))[..., 0]


@dataclasses.dataclass(frozen=True)
class ActionValueNetwork(FeedForwardFields, InitParams, Value):
    """Q(o, a) of each agent.

    Centralised, it sees what all agents of all groups observe and do, and the environment's global
    state where there is one (Lowe et al., 2017); else the agent's own observation and action, as in
    DDPG. Each group has values, and so rewards, of its own. Continuous actions enter scaled to
    ``[-1, 1]`` by their bounds, choices one-hot. A centralised critic that agents share is also
    told, one-hot, whose value is asked for.

    Owns the parameters ``critic``: per group and critic, leaves ``[K, ...]`` for K sets.

    Attributes:
        hidden_sizes, activation, layer_norm, convolutions, sharing, hidden_gain: as in
            ``FeedForwardFields``; images of all agents of a group pass the same convolutions.
        centralised: whether it sees all agents.
        state: what a centralised critic sees beside all observations. ``"environment"``: the global
            state; ``"auto"``: the same where there is one; ``"observations"``: nothing.
        critics: independent critics of each agent; values are ``[N, critics]`` if there is more
            than one (Fujimoto et al., 2018).

    Raises:
        ConfigurationError: at construction, for an unknown activation, sharing or state, a width or
            a number of critics below 1.
        WiringError: at build, for a global state that the environment does not have or that is not
            recorded.
    """

    activation: str = "relu"
    centralised: bool = True
    state: str = "auto"
    critics: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        check_source(self.name, self.state)
        check_count(f"{self.name}.critics", self.critics)

    def init_params(self, key: jax.Array, spec: EnvironmentSpec) -> dict[str, PyTree]:
        sharing_.check_agents(self.name, self.sharing, spec)
        params: dict[str, PyTree] = {}
        for index, group in enumerate(spec.groups):
            module = self._module(group, spec)
            seen = [
                jnp.zeros((g.num_agents, *g.observation.shape)) for g in self._seen(group, spec)
            ]
            if not self.centralised:
                seen = [x[:1] for x in seen]
            numbers = jnp.zeros((1, self._num_numbers(group, spec)))
            sets = sharing_.sets_of(group, self.sharing)

            def init(key: jax.Array, m: nn.Module = module, x: PyTree = (seen, numbers)) -> PyTree:
                return m.init(key, *x)

            keys = jax.random.split(jax.random.fold_in(key, index), self.critics)
            params[group.name] = {
                f"critic_{k}": sharing_.init_sets(init, keys[k], sets) for k in range(self.critics)
            }
        return {"critic": params}

    def value(
        self, params: Params, inputs: ValueInputs, memory: PyTree, context: ValueContext
    ) -> tuple[Array, PyTree]:
        group, spec = context.group, context.spec
        apply: Callable[..., Array] = self._module(group, spec).apply  # type: ignore[assignment]
        observations = [inputs.observation[g.name] for g in self._seen(group, spec)]
        numbers = self._numbers(inputs, group, spec)
        sets = sharing_.sets_of(group, self.sharing)
        found: list[Array] = []
        for k in range(self.critics):
            own = sharing_.of_agents(params["critic"][group.name][f"critic_{k}"], sets)
            if max(sets) == 0:
                found.append(apply(own, observations, numbers))
                continue
            rows = jnp.expand_dims(jnp.moveaxis(numbers, -2, 0), -2)
            seen, axis = observations, None
            if not self.centralised:
                lead = numbers.ndim - 2
                seen = [jnp.expand_dims(jnp.moveaxis(x, lead, 0), lead + 1) for x in observations]
                axis = 0
            values = vmap(apply, in_axes=(0, axis, 0))(own, seen, rows)
            found.append(jnp.moveaxis(values[..., 0], 0, -1))
        return (found[0] if self.critics == 1 else jnp.stack(found, axis=-1)), memory

    def unroll_value(
        self,
        params: Params,
        inputs: ValueInputs,
        start: Array,
        memory: PyTree,
        context: ValueContext,
    ) -> tuple[Array, PyTree]:
        return self.value(params, inputs, memory, context)

    def _seen(self, group: GroupSpec, spec: EnvironmentSpec) -> tuple[GroupSpec, ...]:
        """The groups whose observations a critic of ``group`` sees."""
        return spec.groups if self.centralised else (group,)

    def _numbers(self, inputs: ValueInputs, group: GroupSpec, spec: EnvironmentSpec) -> jax.Array:
        """What each agent's value depends on beside observations, ``[..., N, R]``."""
        if inputs.action is None:
            raise WiringError(f"{self.name} values actions, and the batch has none for it")
        acted = inputs.action if inputs.own_action is None else inputs.own_action
        own = encode(acted[group.name], group.actions)
        if not self.centralised:
            return own
        agents, leading = group.num_agents, own.shape[:-2]
        parts = []
        for other in spec.groups:
            # Row i is what agent i takes the others to do.
            code = encode(inputs.action[other.name], other.actions)
            size = (*leading, agents, *code.shape[-2:])
            code = jnp.broadcast_to(code[..., None, :, :], size)
            if other.name == group.name:
                diagonal = jnp.eye(agents, dtype=bool)
                diagonal = diagonal.reshape(*[1] * len(leading), agents, agents, 1)
                code = jnp.where(diagonal, own[..., None, :, :], code)
            parts.append(code.reshape(*leading, agents, -1))
        if self._has_state(spec):
            if inputs.state is None:
                raise WiringError(
                    f"{self.name} sees the global state, and the batch has none; add RecordState(),"
                    f" or set {self.name}.state to 'observations'"
                )
            state = global_state("environment", spec, {}, inputs.state)
            state = jnp.broadcast_to(state[..., None, :], (*leading, agents, state.shape[-1]))
            parts.append(state)
        if self._tells_agents_apart(group):
            parts.append(jnp.broadcast_to(jnp.eye(agents), (*leading, agents, agents)))
        return jnp.concatenate(parts, axis=-1)

    def _num_numbers(self, group: GroupSpec, spec: EnvironmentSpec) -> int:
        if not self.centralised:
            return code_size(group.actions)
        size = sum(other.num_agents * code_size(other.actions) for other in spec.groups)
        if self._has_state(spec):
            size += state_size(self.name, "environment", spec)
        return size + (group.num_agents if self._tells_agents_apart(group) else 0)

    def _has_state(self, spec: EnvironmentSpec) -> bool:
        return self.state == "environment" or (self.state == "auto" and spec.state is not None)

    def _tells_agents_apart(self, group: GroupSpec) -> bool:
        sets = sharing_.sets_of(group, self.sharing)
        return len(set(sets)) < group.num_agents

    def _module(self, group: GroupSpec, spec: EnvironmentSpec) -> _ActionValue:
        shape = (self.activation, self.layer_norm, self.hidden_gain)
        encoders = tuple(
            torso_for(g.observation, (), self.convolutions, *shape) for g in self._seen(group, spec)
        )
        body = Torso(1, self.hidden_sizes, (), *shape)
        return _ActionValue(encoders, Head(body, 1), self.centralised)
