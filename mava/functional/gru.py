"""The gated recurrent unit over sequences."""

from __future__ import annotations

from typing import Any, NamedTuple

import chex
import jax
import jax.numpy as jnp

from mava.functional.loops import scan
from mava.types import Array, PyTree


class GRUWeights(NamedTuple):
    """Of the reset gate, the update gate and the candidate, in this order.

    Attributes:
        inputs: three of ``[F, H]``.
        input_biases: three of ``[H]``.
        memory: three of ``[H, H]``.
        memory_bias: ``[H]``, of the candidate.
    """

    inputs: tuple[Array, Array, Array]
    input_biases: tuple[Array, Array, Array]
    memory: tuple[Array, Array, Array]
    memory_bias: Array

    @classmethod
    def of_flax(cls, params: PyTree) -> GRUWeights:
        """The weights of a ``flax.linen.GRUCell``."""
        p = params["params"]
        return cls(
            (p["ir"]["kernel"], p["iz"]["kernel"], p["in"]["kernel"]),
            (p["ir"]["bias"], p["iz"]["bias"], p["in"]["bias"]),
            (p["hr"]["kernel"], p["hz"]["kernel"], p["hn"]["kernel"]),
            p["hn"]["bias"],
        )


def gru_unroll(weights: GRUWeights, inputs: Array, start: Array, memory: Array) -> jax.Array:
    """The memories after each step of a gated recurrent unit (Cho et al., 2014; with the reset
    applied after the product, as in cuDNN and ``flax.linen.GRUCell``).

    ``r = s(W_ir x + b_ir + W_hr h)``, ``z = s(W_iz x + b_iz + W_hz h)``,
    ``n = tanh(W_in x + b_in + r (W_hn h + b_hn))``, ``h' = (1 - z) n + z h``.

    The inputs of all steps are projected in one product, and so are the gradients of the weights:
    only what depends on the step before is scanned.

    Args:
        weights: of the unit.
        inputs: ``[T, *B, F]``.
        start: bool ``[T, *S]``, where ``S`` are the first of the axes ``B``; memory is zero before
            these steps.
        memory: ``[*B, H]``, before the first step.

    Returns:
        ``[T, *B, H]``.
    """
    chex.assert_equal_shape_prefix([inputs[0], memory], memory.ndim - 1)
    chex.assert_equal_shape_prefix([inputs, start], start.ndim)
    rows = inputs.reshape(-1, inputs.shape[-1])  # products of matrices, also when differentiated
    projected = tuple(
        (rows @ kernel + bias[None]).reshape(*inputs.shape[:-1], -1)
        for kernel, bias in zip(weights.inputs, weights.input_biases, strict=True)
    )
    bias = weights.memory_bias.reshape(*(1,) * (memory.ndim - 1), -1)
    wide = start.reshape(*start.shape, *(1,) * (inputs.ndim - start.ndim))
    return _recur(projected, weights.memory, bias, memory, wide)  # type: ignore[no-any-return]


def gru_step(weights: GRUWeights, inputs: Array, memory: Array) -> jax.Array:
    """One step: ``[*B, F]``, ``[*B, H]`` -> ``[*B, H]``."""
    start = jnp.zeros((1, *memory.shape[:-1]), bool)
    return gru_unroll(weights, inputs[None], start, memory)[0]


@jax.custom_vjp
def _recur(
    projected: tuple[Array, ...],
    kernels: tuple[Array, ...],
    bias: Array,
    memory: Array,
    start: Array,
) -> Any:
    return _forward(projected, kernels, bias, memory, start)[0]


def _forward(
    projected: tuple[Array, ...],
    kernels: tuple[Array, ...],
    bias: Array,
    memory: Array,
    start: Array,
) -> tuple[Any, Any]:
    """The memories, and what the gradients need. Of the gates only the products are kept: the rest
    is quicker to compute again, for all steps at once, than to write and to read."""

    def step(before: Array, inputs: tuple[Any, Array]) -> tuple[Array, Any]:
        shown, first = inputs
        before = jnp.where(first, 0.0, before)
        products = tuple(before @ kernel for kernel in kernels)
        keep, candidate = _gates(shown, products, bias)[1:3]
        after = (1.0 - keep) * candidate + keep * before
        return after, (after, products)

    _, (after, products) = scan(step, memory, (projected, start))
    return after, (projected, products, kernels, bias, memory, after, start)


def _gates(shown: Any, products: Any, bias: Array) -> tuple[Array, Array, Array, Array]:
    """The reset gate, the update gate, the candidate, and what it recalls."""
    reset = jax.nn.sigmoid(shown[0] + products[0])
    keep = jax.nn.sigmoid(shown[1] + products[1])
    recalled = products[2] + bias
    return reset, keep, jnp.tanh(shown[2] + reset * recalled), recalled


def _backward(saved: Any, wanted: Array) -> tuple[Any, ...]:
    """Gradients, from those of the memory after each step. Each is a factor, which is computed for
    all steps at once, times the gradient of the memory, which is scanned."""
    projected, products, kernels, bias, memory, after, start = saved
    before = jnp.where(start, 0.0, jnp.concatenate([memory[None], after[:-1]]))
    reset, keep, candidate, recalled = _gates(projected, products, bias[None])
    of_candidate = (1.0 - keep) * (1.0 - candidate**2)
    of_reset = of_candidate * recalled * reset * (1.0 - reset)
    of_keep = (before - candidate) * keep * (1.0 - keep)
    factors = (of_reset, of_keep, of_candidate * reset)
    # Else the compiler computes the gates anew, in each step and for each factor.
    keep, *factors = jax.lax.optimization_barrier((keep, *factors))
    back = tuple(kernel.T for kernel in kernels)

    def step(later: jax.Array, inputs: Any) -> tuple[jax.Array, jax.Array]:
        here, first, keep, factors = inputs
        of_after = later + here
        parts = [(of_after * x) @ kernel for x, kernel in zip(factors, back, strict=True)]
        before: jax.Array = of_after * keep + sum(parts)
        return jnp.where(first, 0.0, before), of_after

    nothing = jnp.zeros_like(memory)
    of_memory, found = scan(step, nothing, (wanted, start, keep, factors), reverse=True)
    rows = before.reshape(-1, before.shape[-1]).T
    of_products = [found * x for x in factors]
    of_kernels = tuple(rows @ x.reshape(-1, x.shape[-1]) for x in of_products)
    of_bias = of_products[2].reshape(-1, bias.shape[-1]).sum(0).reshape(bias.shape)
    of_projected = (of_products[0], of_products[1], found * of_candidate)
    return of_projected, of_kernels, of_bias, of_memory, None


_recur.defvjp(_forward, _backward)
