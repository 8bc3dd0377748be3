"""Critics of states: feed-forward and recurrent, of an agent's own observation or of everything."""

from __future__ import annotations

import abc
import dataclasses

import jax

from mava.components.networks import sharing as sharing_
from mava.components.networks.critic_inputs import OwnObservation, WholeState
from mava.components.networks.feed_forward import FeedForwardFields
from mava.components.networks.recurrent import RecurrentFields, RecurrentNetwork
from mava.components.networks.torsos import Head
from mava.core.contexts import Params, ValueContext, ValueInputs
from mava.core.lifecycle import InitParams, Value
from mava.types import Array, ArraySpec, EnvironmentSpec, GroupSpec, PyTree


@dataclasses.dataclass(frozen=True)
class _FeedForward(FeedForwardFields, InitParams, Value):
    head_gain: float = 1.0

    @abc.abstractmethod
    def _shown_spec(self, spec: EnvironmentSpec, group: GroupSpec) -> ArraySpec: ...

    @abc.abstractmethod
    def _shown(self, inputs: ValueInputs, context: ValueContext) -> Array: ...

    def init_params(self, key: jax.Array, spec: EnvironmentSpec) -> dict[str, PyTree]:
        sharing_.check_agents(self.name, self.sharing, spec)
        params = {}
        for index, group in enumerate(spec.groups):
            shown, own_key = self._shown_spec(spec, group), jax.random.fold_in(key, index)
            params[group.name] = self._init(self._head(shown), own_key, group, shown)
        return {"critic": params}

    def value(
        self, params: Params, inputs: ValueInputs, memory: PyTree, context: ValueContext
    ) -> tuple[Array, PyTree]:
        group, spec = context.group, self._shown_spec(context.spec, context.group)
        own, shown = params["critic"][group.name], self._shown(inputs, context)
        return self._apply(self._head(spec), own, group, shown, len(spec.shape))[..., 0], memory

    def unroll_value(
        self,
        params: Params,
        inputs: ValueInputs,
        start: Array,
        memory: PyTree,
        context: ValueContext,
    ) -> tuple[Array, PyTree]:
        return self.value(params, inputs, memory, context)

    def _head(self, shown: ArraySpec) -> Head:
        return Head(self._torso(shown), 1, self.head_gain)


@dataclasses.dataclass(frozen=True)
class _Recurrent(RecurrentFields, InitParams, Value):
    head_gain: float = 1.0

    @abc.abstractmethod
    def _shown_spec(self, spec: EnvironmentSpec, group: GroupSpec) -> ArraySpec: ...

    @abc.abstractmethod
    def _shown(self, inputs: ValueInputs, context: ValueContext) -> Array: ...

    def init_params(self, key: jax.Array, spec: EnvironmentSpec) -> dict[str, PyTree]:
        sharing_.check_agents(self.name, self.sharing, spec)
        params = {}
        for index, group in enumerate(spec.groups):
            shown, own_key = self._shown_spec(spec, group), jax.random.fold_in(key, index)
            params[group.name] = self._of(group, shown).init(own_key, shown)
        return {"critic": params}

    def init_memory(self, group: GroupSpec) -> PyTree:
        return self._initial_memory(group)

    def value(
        self, params: Params, inputs: ValueInputs, memory: PyTree, context: ValueContext
    ) -> tuple[Array, PyTree]:
        network = self._of(context.group, self._shown_spec(context.spec, context.group))
        own, shown = params["critic"][context.group.name], self._shown(inputs, context)
        values, after = network.step(own, shown, memory)
        return values[..., 0], after

    def unroll_value(
        self,
        params: Params,
        inputs: ValueInputs,
        start: Array,
        memory: PyTree,
        context: ValueContext,
    ) -> tuple[Array, PyTree]:
        network = self._of(context.group, self._shown_spec(context.spec, context.group))
        own, shown = params["critic"][context.group.name], self._shown(inputs, context)
        values, after = network.unroll(own, shown, start, memory)
        return values[..., 0], after

    def _of(self, group: GroupSpec, shown: ArraySpec) -> RecurrentNetwork:
        return self._network(group, shown, lambda torso: Head(torso, 1, self.head_gain))


@dataclasses.dataclass(frozen=True)
class ValueNetwork(OwnObservation, _FeedForward):
    """The value of each agent's own observation.

    Owns the parameters ``critic``: per group, leaves ``[K, ...]`` for K sets.

    Attributes:
        hidden_sizes, activation, layer_norm, convolutions, sharing, hidden_gain: as in
            ``FeedForwardFields``.
        head_gain: of the orthogonal initialisation of the output.

    Raises:
        ConfigurationError: for an unknown activation or sharing, or a width below 1.
    """


@dataclasses.dataclass(frozen=True)
class RecurrentValueNetwork(OwnObservation, _Recurrent):
    """The value of all that each agent has observed in the episode: a torso, a GRU (Cho et al.,
    2014) and a head.

    Owns the parameters ``critic``. Its memory is the GRU's state, ``[N, memory_size]``, zeros at
    the start of an episode; it runs while acting too, so that it is there when a batch begins.

    Attributes:
        torso_sizes, memory_size, head_sizes, activation, layer_norm, convolutions, sharing,
            hidden_gain: as in ``RecurrentFields``.
        head_gain: as in ``ValueNetwork``.

    Raises:
        ConfigurationError: for an unknown activation or sharing, or a width below 1.
    """


@dataclasses.dataclass(frozen=True)
class CentralValueNetwork(WholeState, _FeedForward):
    """The value of the whole environment's state for each agent (Yu et al., 2022).

    What the environment shows of dead agents is a part of the state. Owns the parameters
    ``critic``: per group, leaves ``[K, ...]`` for K sets.

    Attributes:
        hidden_sizes, activation, layer_norm, convolutions, sharing, hidden_gain: as in
            ``FeedForwardFields``; the state is a vector, so there is nothing to convolve.
        head_gain: as in ``ValueNetwork``.
        state, own_observation, agent_ids: as in ``WholeState``.

    Raises:
        ConfigurationError: for an unknown activation, sharing or state, or a width below 1.
        WiringError: at build, where the environment's state is asked for and there is none.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_source()


@dataclasses.dataclass(frozen=True)
class RecurrentCentralValueNetwork(WholeState, _Recurrent):
    """The value of all that the environment's states have shown in the episode: a torso, a GRU (Cho
    et al., 2014) and a head.

    Owns the parameters ``critic``. Its memory is as that of ``RecurrentValueNetwork``.

    Attributes:
        torso_sizes, memory_size, head_sizes, activation, layer_norm, convolutions, sharing,
            hidden_gain: as in ``RecurrentFields``.
        head_gain: as in ``ValueNetwork``.
        state, own_observation, agent_ids: as in ``WholeState``.

    Raises:
        ConfigurationError: for an unknown activation, sharing or state, or a width below 1.
        WiringError: at build, where the environment's state is asked for and there is none.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_source()
