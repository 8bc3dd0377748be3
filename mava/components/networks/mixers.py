"""Mixers: the value of a team from the values of its agents."""

from __future__ import annotations

import dataclasses

import flax.linen as nn
import jax
import jax.numpy as jnp

from mava.components.networks.global_state import check_source, global_state, state_size
from mava.components.networks.torsos import as_widths
from mava.core.contexts import Batch, LearnContext, Params
from mava.core.lifecycle import InitParams, Mix
from mava.core.plans import check_count
from mava.functional.mixing import monotonic_mix
from mava.types import Array, EnvironmentSpec, PyTree


@dataclasses.dataclass(frozen=True)
class SumMixer(InitParams, Mix):
    """``Q_tot = sum_i Q_i`` over all agents of all groups (VDN: Sunehag et al., 2018, equation 3).

    Owns ``mixer``, which is empty, so that any mixer takes its place.
    """

    def init_params(self, key: jax.Array, spec: EnvironmentSpec) -> dict[str, PyTree]:
        return {"mixer": {}}

    def mix(
        self, params: Params, values: dict[str, Array], batch: Batch, context: LearnContext
    ) -> Array:
        return jnp.stack([values[name].sum(-1) for name in context.spec.group_names]).sum(0)


@dataclasses.dataclass(frozen=True)
class MonotonicMixer(InitParams, Mix):
    """A network of one hidden layer that rises with every agent's value, its weights and biases
    made from the global state by hypernetworks (QMIX: Rashid et al., 2018, section 4.2).

    ``Q_tot = elu(q |W_1(s)| + b_1(s)) |w_2(s)| + V(s)``. ``W_1`` and ``w_2`` come from the state
    through hidden layers, ``b_1`` through a linear one, and ``V`` through one hidden layer of the
    mixer's width. The value of an agent that is dead enters as 0, so it moves nothing.

    Owns ``mixer``.

    Attributes:
        width: hidden units of the mixer.
        hypernetwork_sizes: widths of the hidden layers of the hypernetworks; ``()`` for linear
            ones.
        state: ``"environment"``, the environment's global state; ``"observations"``, those of all
            agents joined; ``"auto"``, the environment's where it has one.

    Raises:
        ConfigurationError: at construction, for another word or a width below 1.
        WiringError: at build, where the environment's state is asked for and there is none, or
            none is recorded.
    """

    width: int = 32
    hypernetwork_sizes: tuple[int, ...] = (64,)
    state: str = "auto"

    def __post_init__(self) -> None:
        check_count(f"{self.name}.width", self.width)
        check_source(self.name, self.state)
        sizes = as_widths(f"{self.name}.hypernetwork_sizes", self.hypernetwork_sizes)
        object.__setattr__(self, "hypernetwork_sizes", sizes)

    def init_params(self, key: jax.Array, spec: EnvironmentSpec) -> dict[str, PyTree]:
        state = jnp.zeros(state_size(self.name, self.state, spec))
        module = self._module(spec)
        return {"mixer": module.init(key, jnp.zeros(spec.num_agents), state)}

    def mix(
        self, params: Params, values: dict[str, Array], batch: Batch, context: LearnContext
    ) -> Array:
        spec = context.spec
        agents = jnp.concatenate([values[name] for name in spec.group_names], axis=-1)
        state = global_state(self.state, spec, batch["observation"], batch.get("state"))
        return self._module(spec).apply(params["mixer"], agents, state)  # type: ignore[return-value]

    def _module(self, spec: EnvironmentSpec) -> _Monotonic:
        return _Monotonic(spec.num_agents, self.width, self.hypernetwork_sizes)


class _Monotonic(nn.Module):
    """Values ``[..., N]`` and state ``[..., S]`` -> ``[...]``.

    The weights begin around ``1 / sqrt(width)``, so that ``Q_tot`` rises about as fast as an
    agent's value, as a sum does. Where it rises much faster, what the maximum overestimates grows
    with each update; where it hardly rises, the agents hardly learn.
    """

    num_agents: int
    width: int
    hypernetwork_sizes: tuple[int, ...]

    @nn.compact
    def __call__(self, values: Array, state: Array) -> Array:
        agents, width = self.num_agents, self.width
        w_1 = self._hypernetwork(state, agents * width, self.hypernetwork_sizes, "w_1", True)
        return monotonic_mix(
            values,
            w_1.reshape(*w_1.shape[:-1], agents, width),
            self._hypernetwork(state, width, (), "b_1"),
            self._hypernetwork(state, width, self.hypernetwork_sizes, "w_2", True),
            self._hypernetwork(state, 1, (width,), "b_2")[..., 0],
        )

    def _hypernetwork(
        self,
        state: Array,
        outputs: int,
        sizes: tuple[int, ...],
        name: str,
        makes_weights: bool = False,
    ) -> jax.Array:
        x = jnp.asarray(state)
        for index, size in enumerate(sizes):
            x = nn.relu(nn.Dense(size, name=f"{name}_{index}")(x))
        if not makes_weights:
            return nn.Dense(outputs, name=name)(x)
        kernel = nn.initializers.variance_scaling(1.0 / self.width, "fan_in", "truncated_normal")
        bias = nn.initializers.constant(self.width**-0.5)
        return nn.Dense(outputs, kernel_init=kernel, bias_init=bias, name=name)(x)
