"""A recurrent network of action values."""

from __future__ import annotations

import dataclasses
from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp

from mava.components.networks import sharing as sharing_
from mava.components.networks.torsos import (
    Head,
    Torso,
    as_widths,
    check_activation,
    discrete_actions,
    torso_for,
)
from mava.core.contexts import GroupContext, Params
from mava.core.lifecycle import InitParams, Score
from mava.core.plans import check_count
from mava.errors import ConfigurationError
from mava.functional.loops import scan, vmap
from mava.types import Array, EnvironmentSpec, GroupSpec, PyTree


@dataclasses.dataclass(frozen=True)
class RecurrentQNetwork(InitParams, Score):
    """Q-values of every action from all that the agent has observed in the episode (Hausknecht and
    Stone, 2015): a torso, a GRU (Cho et al., 2014) and a head.

    Owns the parameters ``q_network``: per group, leaves ``[K, ...]`` for K sets. Its memory is the
    GRU's state, ``[N, memory_size]``, zeros at the start of an episode. Masks are not applied here.

    Attributes:
        torso_sizes: widths of the dense layers before the GRU.
        memory_size: width of the GRU.
        head_sizes: widths of the dense layers after it.
        activation: ``relu``, ``tanh``, ``elu``, ``gelu`` or ``silu``.
        layer_norm: normalises before each activation.
        convolutions: as in ``QNetwork``.
        sharing: ``"shared"`` (one set per group), ``"none"`` (one per agent), or a mapping from
            agent to set.

    Raises:
        ConfigurationError: at construction, for an unknown activation or sharing, or a width below
            1.
        WiringError: at build, for a group whose actions are not ``Discrete``.
    """

    torso_sizes: tuple[int, ...] = (128,)
    memory_size: int = 64
    head_sizes: tuple[int, ...] = (64,)
    activation: str = "relu"
    layer_norm: bool = False
    convolutions: tuple[tuple[int, int, int], ...] | None = None
    sharing: sharing_.Sharing = "shared"

    def __post_init__(self) -> None:
        check_activation(self.name, self.activation)
        check_count(f"{self.name}.memory_size", self.memory_size)
        object.__setattr__(self, "sharing", sharing_.as_sharing(self.name, self.sharing))
        for field in ("torso_sizes", "head_sizes"):
            widths = as_widths(f"{self.name}.{field}", getattr(self, field))
            object.__setattr__(self, field, widths)
        if not self.torso_sizes:
            raise ConfigurationError(f"{self.name}.torso_sizes is empty; give at least one width")

    def init_params(self, key: jax.Array, spec: EnvironmentSpec) -> dict[str, PyTree]:
        params = {}
        for index, group in enumerate(spec.groups):

            def init(key: jax.Array, group: GroupSpec = group) -> PyTree:
                return self._init_set(key, group)

            sets = sharing_.sets_of(group, self.sharing)
            params[group.name] = sharing_.init_sets(init, jax.random.fold_in(key, index), sets)
        return {"q_network": params}

    def init_memory(self, group: GroupSpec) -> PyTree:
        return jnp.zeros((group.num_agents, self.memory_size))

    def score(
        self, params: Params, observation: Array, memory: PyTree, context: GroupContext
    ) -> tuple[PyTree, PyTree]:
        group = context.group

        def one(p: PyTree, x: Array, h: Array) -> tuple[Array, Array]:
            after, output = self._cell.apply(p["cell"], h, self._torso(group).apply(p["torso"], x))
            return self._head(group).apply(p["head"], output), after  # type: ignore[return-value]

        return self._of_agents(one, params, group, (observation, memory), (0, 0))

    def unroll(
        self,
        params: Params,
        observation: Array,
        start: Array,
        memory: PyTree,
        context: GroupContext,
    ) -> tuple[PyTree, PyTree]:
        """The torso and the head see all steps at once; only the GRU is scanned."""
        group = context.group

        def one(p: PyTree, x: Array, h: Array) -> tuple[Array, Array]:
            def step(before: Array, inputs: tuple[Array, Array]) -> tuple[Array, Any]:
                features, first = inputs
                first = first.reshape(*first.shape, *[1] * (before.ndim - first.ndim))
                after, output = self._cell.apply(p["cell"], jnp.where(first, 0.0, before), features)
                return after, (output, after)

            features = jnp.moveaxis(self._torso(group).apply(p["torso"], x), 1, 0)  # type: ignore[arg-type]
            _, (outputs, after) = scan(step, h, (features, start.T))
            scores = self._head(group).apply(p["head"], jnp.moveaxis(outputs, 0, 1))
            return scores, jnp.moveaxis(after, 0, 1)  # type: ignore[return-value]

        return self._of_agents(one, params, group, (observation, memory), (2, 1))

    def _of_agents(
        self,
        one: Any,
        params: Params,
        group: GroupSpec,
        inputs: tuple[Array, Array],
        axes: tuple[int, int],
    ) -> tuple[Array, Array]:
        """Applies to each agent its own set; ``axes`` are those of the agents in the inputs. A set
        that all share sees the agents as one more axis of its batch."""
        sets = sharing_.sets_of(group, self.sharing)
        own = sharing_.of_agents(params["q_network"][group.name], sets)
        if max(sets) == 0:
            scores, after = one(own, *inputs)
            return scores, after
        agents_first = [jnp.moveaxis(x, axis, 0) for x, axis in zip(inputs, axes, strict=True)]
        scores, after = vmap(one)(own, *agents_first)
        back = axes[0]
        return jnp.moveaxis(scores, 0, back), jnp.moveaxis(after, 0, back)

    def _init_set(self, key: jax.Array, group: GroupSpec) -> PyTree:
        keys = jax.random.split(key, 3)
        spec = group.observation
        torso, (features, cell) = self._torso(group), (self._features, self._cell)
        return {
            "torso": torso.init(keys[0], jnp.zeros(spec.shape, spec.dtype)),
            "cell": cell.init(keys[1], jnp.zeros(self.memory_size), jnp.zeros(features)),
            "head": self._head(group).init(keys[2], jnp.zeros(self.memory_size)),
        }

    @property
    def _features(self) -> int:
        return self.torso_sizes[-1]

    @property
    def _cell(self) -> nn.GRUCell:
        return nn.GRUCell(self.memory_size)

    def _torso(self, group: GroupSpec) -> Torso:
        return torso_for(
            group.observation,
            self.torso_sizes,
            self.convolutions,
            self.activation,
            self.layer_norm,
        )

    def _head(self, group: GroupSpec) -> Head:
        torso = Torso(1, self.head_sizes, (), self.activation, self.layer_norm)
        return Head(torso, discrete_actions(self.name, group))
