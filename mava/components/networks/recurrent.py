"""What recurrent networks share: a torso, a GRU (Cho et al., 2014) and a head, for a group."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import flax.linen as nn
import jax
import jax.numpy as jnp

from mava.components.networks import sharing as sharing_
from mava.components.networks.torsos import (
    HIDDEN_GAIN,
    Torso,
    as_widths,
    check_activation,
    torso_for,
)
from mava.core.plans import check_count, check_positive
from mava.errors import ConfigurationError
from mava.functional.gru import GRUWeights, gru_step, gru_unroll
from mava.functional.loops import vmap
from mava.types import Array, ArraySpec, GroupSpec, PyTree


@dataclasses.dataclass(frozen=True)
class RecurrentNetwork:
    """A torso, a GRU and a head. Parameters are ``{"torso", "cell", "head"}``, leaves ``[K, ...]``
    for K sets; the memory is the GRU's state, ``[..., N, memory_size]``.

    Attributes:
        torso: ``[..., *O]`` -> ``[..., features]``.
        memory_size: width of the GRU.
        head: ``[..., memory_size]`` -> ``[..., outputs]``.
        features: what the torso gives.
        sets: each agent's set of parameters, from ``sets_of``.
    """

    torso: nn.Module
    memory_size: int
    head: nn.Module
    features: int
    sets: tuple[int, ...]

    def init(self, key: jax.Array, observation: ArraySpec) -> PyTree:
        def one(key: jax.Array) -> PyTree:
            keys = jax.random.split(key, 3)
            shown = jnp.zeros(observation.shape, observation.dtype)
            before, features = jnp.zeros(self.memory_size), jnp.zeros(self.features)
            return {
                "torso": self.torso.init(keys[0], shown),
                "cell": self._cell.init(keys[1], before, features),
                "head": self.head.init(keys[2], before),
            }

        return sharing_.init_sets(one, key, self.sets)

    def step(self, params: PyTree, observation: Array, memory: Array) -> tuple[Array, Array]:
        """``[N, *O]``, ``[N, memory_size]`` -> ``[N, outputs]`` and the memory after."""

        def one(p: PyTree, x: Array, h: Array) -> tuple[Array, Array]:
            features: Array = self.torso.apply(p["torso"], x)  # type: ignore[assignment]
            after = gru_step(GRUWeights.of_flax(p["cell"]), features, h)
            return self.head.apply(p["head"], after), after  # type: ignore[return-value]

        return self._of_agents(one, params, (observation, memory), (0, 0))

    def unroll(
        self, params: PyTree, observation: Array, start: Array, memory: Array
    ) -> tuple[Array, Array]:
        """``[B, T, N, *O]``, bool ``[B, T]``, ``[B, N, memory_size]`` -> ``[B, T, N, outputs]`` and
        the memory after each step. The torso and the head see all steps at once; only the GRU is
        scanned, from zeros where ``start`` is true."""

        def one(p: PyTree, x: Array, h: Array) -> tuple[Array, Array]:
            # Time comes first from here on: of all that is computed, observations are the least.
            features: Array = self.torso.apply(p["torso"], jnp.moveaxis(x, 1, 0))  # type: ignore[assignment]
            after = gru_unroll(GRUWeights.of_flax(p["cell"]), features, start.T, h)
            scores: Array = self.head.apply(p["head"], after)  # type: ignore[assignment]
            return jnp.moveaxis(scores, 0, 1), jnp.moveaxis(after, 0, 1)

        return self._of_agents(one, params, (observation, memory), (2, 1))

    def _of_agents(
        self,
        one: Callable[..., tuple[Array, Array]],
        params: PyTree,
        inputs: tuple[Array, Array],
        axes: tuple[int, int],
    ) -> tuple[Array, Array]:
        """Applies to each agent its own set; ``axes`` are those of the agents in the inputs. A set
        that all share sees the agents as one more axis of its batch."""
        own = sharing_.of_agents(params, self.sets)
        if max(self.sets) == 0:
            return one(own, *inputs)
        agents_first = [jnp.moveaxis(x, axis, 0) for x, axis in zip(inputs, axes, strict=True)]
        scores, after = vmap(one)(own, *agents_first)
        back = axes[0]
        return jnp.moveaxis(scores, 0, back), jnp.moveaxis(after, 0, back)

    @property
    def _cell(self) -> nn.GRUCell:
        return nn.GRUCell(self.memory_size)


@dataclasses.dataclass(frozen=True)
class RecurrentFields:
    """Configuration of a recurrent network; a component inherits it beside its hooks.

    Attributes:
        torso_sizes: widths of the dense layers before the GRU.
        memory_size: width of the GRU.
        head_sizes: widths of the dense layers after it.
        activation: ``relu``, ``tanh``, ``elu``, ``gelu`` or ``silu``.
        layer_norm: normalises before each activation.
        convolutions: channels, kernel size and stride of each convolution for image observations;
            ``None`` chooses two small ones for images of 5 x 5 pixels and more.
        sharing: ``"shared"`` (one set per group), ``"none"`` (one per agent), or a mapping from
            agent to set.
        hidden_gain: of the orthogonal initialisation of hidden dense layers.

    Raises:
        ConfigurationError: for an unknown activation or sharing, a width below 1 or a gain that is
            not positive.
    """

    torso_sizes: tuple[int, ...] = (128,)
    memory_size: int = 64
    head_sizes: tuple[int, ...] = (64,)
    activation: str = "relu"
    layer_norm: bool = False
    convolutions: tuple[tuple[int, int, int], ...] | None = None
    sharing: sharing_.Sharing = "shared"
    hidden_gain: float = HIDDEN_GAIN

    def __post_init__(self) -> None:
        owner: str = self.name  # type: ignore[attr-defined]  # a component's
        check_activation(owner, self.activation)
        check_count(f"{owner}.memory_size", self.memory_size)
        object.__setattr__(self, "sharing", sharing_.as_sharing(owner, self.sharing))
        for field in ("torso_sizes", "head_sizes"):
            widths = as_widths(f"{owner}.{field}", getattr(self, field))
            object.__setattr__(self, field, widths)
        check_positive(f"{owner}.hidden_gain", self.hidden_gain)
        if not self.torso_sizes:
            raise ConfigurationError(f"{owner}.torso_sizes is empty; give at least one width")

    def _initial_memory(self, group: GroupSpec) -> Array:
        """Zeros ``[N, memory_size]``."""
        return jnp.zeros((group.num_agents, self.memory_size))

    def _network(
        self, group: GroupSpec, observation: ArraySpec, head: Callable[[Torso], nn.Module]
    ) -> RecurrentNetwork:
        """The network of a group: ``head`` makes the output layer behind a torso on memories."""
        shape = (self.activation, self.layer_norm, self.hidden_gain)
        after = Torso(1, self.head_sizes, (), *shape)
        return RecurrentNetwork(
            torso_for(observation, self.torso_sizes, self.convolutions, *shape),
            self.memory_size,
            head(after),
            self.torso_sizes[-1],
            sharing_.sets_of(group, self.sharing),
        )
