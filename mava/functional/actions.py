"""Actions as vectors: bounds, one-hot codes, and choices that gradients pass through.

Discrete actions are one choice, multi-discrete ones several; the flags, logits and codes ``[...,
A]`` of all choices stand one after the other. Everything is elementwise over leading axes.
"""

from __future__ import annotations

import math

import chex
import jax
import jax.numpy as jnp
import numpy as np

from mava.functional.td import masked_argmax
from mava.types import ActionSpec, Array, ContinuousActions, MultiDiscreteActions

Choices = ActionSpec
"""Discrete or multi-discrete actions."""


def choice_sizes(actions: Choices) -> tuple[int, ...]:
    """The number of options of each choice."""
    assert not isinstance(actions, ContinuousActions), "continuous actions are no choice"
    if isinstance(actions, MultiDiscreteActions):
        return actions.num_actions
    return (actions.num_actions,)


def code_size(actions: ActionSpec) -> int:
    """The length of what ``encode`` gives."""
    if isinstance(actions, ContinuousActions):
        return math.prod(actions.shape)
    return actions.num_choices


def encode(action: Array, actions: ActionSpec) -> jax.Array:
    """An action as a vector ``[..., code_size]``: bounded ones scaled to ``[-1, 1]``, choices
    one-hot. Choices that come as floats are such codes already, and pass."""
    action = jnp.asarray(action)
    if isinstance(actions, ContinuousActions):
        middle, reach = _middle_and_reach(actions)
        reach = np.where(reach > 0, reach, np.float32(1.0))
        scaled = (action - _behind(middle, action)) / _behind(reach, action)
        return scaled.reshape(*action.shape[: action.ndim - len(actions.shape)], -1)
    if jnp.issubdtype(action.dtype, jnp.floating):
        return action
    columns = action if isinstance(actions, MultiDiscreteActions) else action[..., None]
    parts = [jax.nn.one_hot(columns[..., i], n) for i, n in enumerate(choice_sizes(actions))]
    return jnp.concatenate(parts, axis=-1)


def squash(x: Array, actions: ContinuousActions) -> jax.Array:
    """Any numbers to the bounds: ``tanh``, scaled dimension by dimension; 0 is the middle.
    ``[..., size]`` -> ``[..., *shape]``."""
    unit = jnp.tanh(jnp.asarray(x)).reshape(*x.shape[:-1], *actions.shape)
    return from_unit(unit, actions)


def from_unit(x: Array, actions: ContinuousActions) -> jax.Array:
    """``[-1, 1]`` to the bounds, dimension by dimension; 0 is the middle. ``[..., *shape]``."""
    middle, reach = (_behind(bound, x) for bound in _middle_and_reach(actions))
    return clip_to_bounds(middle + reach * jnp.asarray(x), actions)


def half_range(actions: ContinuousActions) -> np.ndarray:
    """Half the distance between the bounds, ``[*shape]``."""
    return _middle_and_reach(actions)[1]


def clip_to_bounds(action: Array, actions: ContinuousActions) -> jax.Array:
    """``[..., *shape]``, within the bounds."""
    low, high = _bounds(actions)
    return jnp.clip(action, _behind(low, action), _behind(high, action))


def uniform_in_bounds(
    key: jax.Array, leading: tuple[int, ...], actions: ContinuousActions
) -> Array:
    """Uniform over the bounds, ``[*leading, *shape]``."""
    unit = jax.random.uniform(key, (*leading, *actions.shape), minval=-1.0, maxval=1.0)
    return from_unit(unit, actions)


def idle_where_dead(action: Array, alive: Array, actions: ActionSpec) -> jax.Array:
    """Actions with what stands for no action in the rows of agents that are dead: option 0 of each
    choice, the middle of continuous bounds.

    Args:
        action: ``[..., *actions.array.shape]``, or codes of choices ``[..., A]``.
        alive: bool ``[...]``.
        actions: what the rows hold.
    """
    action = jnp.asarray(action)
    if isinstance(actions, ContinuousActions):
        idle = jnp.asarray(_middle_and_reach(actions)[0])
    else:
        idle = jnp.zeros(actions.array.shape, jnp.int32)
        if jnp.issubdtype(action.dtype, jnp.floating):
            idle = encode(idle, actions)
    keep = jnp.asarray(alive).reshape(*alive.shape, *[1] * (action.ndim - alive.ndim))
    return jnp.where(keep, action, idle.reshape(*[1] * (action.ndim - idle.ndim), *idle.shape))


def choose(ranks: Array, legal: Array, actions: Choices) -> jax.Array:
    """The legal option of the highest rank in each choice, int32 ``[..., *actions.array.shape]``;
    0 where none is legal.

    Args:
        ranks: ``[..., A]``; logits, to be greedy, or logits plus Gumbel noise, to sample.
        legal: bool ``[..., A]``.
    """
    chosen = [masked_argmax(r, flags) for r, flags in _each(actions, ranks, legal)]
    if isinstance(actions, MultiDiscreteActions):
        return jnp.stack(chosen, axis=-1)
    return jnp.asarray(chosen[0])


def straight_through(
    logits: Array, noise: Array, legal: Array, actions: Choices, temperature: float
) -> jax.Array:
    """One-hot choices ``[..., A]`` with the gradient of their relaxation.

    The straight-through Gumbel-softmax (Jang et al., 2017): forward the one-hot of the largest of
    ``logits + noise``, backward the gradient of ``softmax((logits + noise) / temperature)``, both
    over what is legal. Where nothing is, option 0 without a gradient.

    Args:
        logits: ``[..., A]``.
        noise: ``[..., A]``, standard Gumbel, or zeros to be greedy.
        legal: bool ``[..., A]``.
        actions: how the A flags divide into choices.
        temperature: small values come closer to the choice, with a gradient of larger variance.
    """
    codes = []
    for ranks, flags in _each(actions, logits + noise, legal):
        hard = jax.nn.one_hot(masked_argmax(ranks, flags), ranks.shape[-1])
        soft = _relaxed(ranks, flags, temperature)
        codes.append(hard + (soft - jax.lax.stop_gradient(soft)))
    return jnp.concatenate(codes, axis=-1)


def relaxed(
    logits: Array, noise: Array, legal: Array, actions: Choices, temperature: float
) -> jax.Array:
    """Weights over the options of each choice, ``[..., A]``, the Gumbel-softmax (Jang et al., 2017)
    itself: ``softmax((logits + noise) / temperature)`` over what is legal. Where nothing is, option
    0 without a gradient. Arguments are as in ``straight_through``."""
    codes = []
    for ranks, flags in _each(actions, logits + noise, legal):
        soft = _relaxed(ranks, flags, temperature)
        no_op = jax.nn.one_hot(jnp.zeros(soft.shape[:-1], jnp.int32), soft.shape[-1])
        codes.append(jnp.where(jnp.any(flags, axis=-1, keepdims=True), soft, no_op))
    return jnp.concatenate(codes, axis=-1)


def _relaxed(ranks: Array, legal: Array, temperature: float) -> jax.Array:
    """The softmax over what is legal, ``[..., n]`` of one choice; zeros where nothing is."""
    soft = jax.nn.softmax(jnp.where(legal, ranks, -1e9) / temperature)
    return jnp.where(jnp.any(legal, axis=-1, keepdims=True), soft, 0.0)


def _each(actions: Choices, *arrays: Array) -> list[tuple[jax.Array, ...]]:
    """Arrays ``[..., A]`` divided into the choices."""
    chex.assert_equal_shape(arrays)
    ends = np.cumsum(choice_sizes(actions))
    starts = [0, *ends[:-1].tolist()]
    return [
        tuple(jnp.asarray(x)[..., a:b] for x in arrays)
        for a, b in zip(starts, ends.tolist(), strict=True)
    ]


def _bounds(actions: ContinuousActions) -> tuple[np.ndarray, np.ndarray]:
    low, high = (np.asarray(x, np.float32) for x in (actions.low, actions.high))
    return low.reshape(actions.shape), high.reshape(actions.shape)


def _middle_and_reach(actions: ContinuousActions) -> tuple[np.ndarray, np.ndarray]:
    low, high = _bounds(actions)
    return 0.5 * low + 0.5 * high, 0.5 * high - 0.5 * low


def _behind(x: np.ndarray, like: Array) -> np.ndarray:
    return x.reshape(*[1] * (like.ndim - x.ndim), *x.shape)
