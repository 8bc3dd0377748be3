"""Distributions over actions, and the one that belongs to a specification of actions.

A policy draws a *raw* action; ``to_action`` makes of it what the environment gets. For choices the
two are the same. A continuous raw action has one unit for half of the distance between finite
bounds, around their middle, so a network need not know them; probabilities and entropies are those
of the action in the environment's units. All functions are elementwise over leading axes.
"""

from __future__ import annotations

import math
from typing import NamedTuple, Protocol

import jax
import jax.numpy as jnp
import numpy as np

from mava.functional.td import chosen, masked_argmax
from mava.types import (
    ActionSpec,
    Array,
    ContinuousActions,
    DiscreteActions,
    MultiDiscreteActions,
)

_ILLEGAL = -1e9
_HALF_LOG_TWO_PI = 0.5 * math.log(2.0 * math.pi)
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(32)


class Distribution(Protocol):
    """What every distribution offers; ``raw`` is ``[..., *actions.array.shape]``."""

    def sample(self, key: jax.Array) -> Array:
        """A raw action."""

    def mode(self) -> Array:
        """The raw action that a greedy policy takes."""

    def to_action(self, raw: Array) -> Array:
        """The action, inside the bounds."""

    def log_prob(self, raw: Array) -> Array:
        """``[...]``; of the action that ``raw`` stands for."""

    def entropy(self) -> Array:
        """``[...]``, in nats."""


class Categorical:
    """One choice among the legal ones. Illegal ones have probability zero.

    Where nothing is legal the choice is action 0, with certainty: its log-probability is 0 and so
    is the entropy.

    Args:
        logits: ``[..., A]``.
        legal: bool ``[..., A]``.
    """

    def __init__(self, logits: Array, legal: Array) -> None:
        nothing = ~jnp.any(legal, axis=-1, keepdims=True)
        first = jnp.arange(logits.shape[-1]) == 0
        self.legal = jnp.asarray(legal) | (nothing & jnp.broadcast_to(first, logits.shape))
        self.log_probs = jax.nn.log_softmax(jnp.where(self.legal, logits, _ILLEGAL))

    def sample(self, key: jax.Array) -> Array:
        noise = jax.random.gumbel(key, self.log_probs.shape, self.log_probs.dtype)
        return masked_argmax(self.log_probs + noise, self.legal)

    def mode(self) -> Array:
        return masked_argmax(self.log_probs, self.legal)

    def to_action(self, raw: Array) -> Array:
        return raw

    def log_prob(self, raw: Array) -> Array:
        return chosen(self.log_probs, raw)

    def entropy(self) -> Array:
        return -jnp.sum(jnp.exp(self.log_probs) * self.log_probs, axis=-1)

    def kl(self, other: Categorical) -> Array:
        """``KL(self || other)``, ``[...]``, for the same legal choices."""
        return jnp.sum(jnp.exp(self.log_probs) * (self.log_probs - other.log_probs), axis=-1)


class MultiCategorical:
    """Several independent choices at once.

    Args:
        logits: ``[..., sum(sizes)]``, of all choices, one after the other.
        legal: bool, of the same shape.
        sizes: the number of actions of each choice.
    """

    def __init__(self, logits: Array, legal: Array, sizes: tuple[int, ...]) -> None:
        cuts = np.cumsum(sizes)[:-1].tolist()
        parts = zip(jnp.split(logits, cuts, -1), jnp.split(legal, cuts, -1), strict=True)
        self.parts = [Categorical(*part) for part in parts]

    def sample(self, key: jax.Array) -> Array:
        keys = jax.random.split(key, len(self.parts))
        return jnp.stack([p.sample(k) for p, k in zip(self.parts, keys, strict=True)], axis=-1)

    def mode(self) -> Array:
        return jnp.stack([part.mode() for part in self.parts], axis=-1)

    def to_action(self, raw: Array) -> Array:
        return raw

    def log_prob(self, raw: Array) -> Array:
        each = [part.log_prob(raw[..., index]) for index, part in enumerate(self.parts)]
        return jnp.stack(each).sum(0)

    def entropy(self) -> Array:
        return jnp.stack([part.entropy() for part in self.parts]).sum(0)

    def kl(self, other: MultiCategorical) -> Array:
        """``KL(self || other)``, ``[...]``, for the same legal choices."""
        pairs = zip(self.parts, other.parts, strict=True)
        return jnp.stack([mine.kl(theirs) for mine, theirs in pairs]).sum(0)


class Units(NamedTuple):
    """Flat arrays ``[D]``: an action is ``middle + half * raw``, and lies in ``[low, high]``."""

    middle: np.ndarray
    half: np.ndarray
    low: np.ndarray
    high: np.ndarray

    @property
    def log_half(self) -> np.ndarray:
        """0 where the bounds are equal, so that there is nothing to choose."""
        return np.asarray(np.log(np.where(self.half > 0.0, self.half, 1.0)))


def units_of(actions: ContinuousActions) -> Units:
    """Dimensions with a bound that is not finite keep the environment's units."""
    low, high = (np.asarray(x, np.float32).ravel() for x in (actions.low, actions.high))
    finite = np.isfinite(low) & np.isfinite(high)
    bottom, top = np.where(finite, low, -1.0), np.where(finite, high, 1.0)
    middle, half = (top + bottom) / 2, (top - bottom) / 2
    return Units(middle.astype(np.float32), half.astype(np.float32), low, high)


class Gaussian:
    """A diagonal Gaussian, its draws clipped to the bounds where there are any.

    Probabilities are those before clipping, which is the environment's affair.

    Args:
        mean, log_std: ``[..., D]``, raw.
        actions: their specification.
    """

    def __init__(self, mean: Array, log_std: Array, actions: ContinuousActions) -> None:
        self.mean, self.log_std = jnp.asarray(mean), jnp.asarray(log_std)
        self.actions, self.units = actions, units_of(actions)

    def sample(self, key: jax.Array) -> Array:
        noise = jax.random.normal(key, self.mean.shape, self.mean.dtype)
        return self._shaped(self.mean + jnp.exp(self.log_std) * noise)

    def mode(self) -> Array:
        return self._shaped(self.mean)

    def to_action(self, raw: Array) -> Array:
        flat = self._flat(raw)
        middle, half, low, high = (_like(x, flat) for x in self.units)
        return self._shaped(jnp.clip(middle + half * flat, low, high))

    def log_prob(self, raw: Array) -> Array:
        away = (self._flat(raw) - self.mean) * jnp.exp(-self.log_std)
        each = -0.5 * away**2 - self.log_std - _HALF_LOG_TWO_PI
        return jnp.sum(each - self._log_slope(self._flat(raw)), axis=-1)

    def entropy(self) -> Array:
        each = 0.5 + _HALF_LOG_TWO_PI + self.log_std
        return jnp.sum(each + _like(self.units.log_half, each), axis=-1)

    def kl(self, other: Gaussian) -> Array:
        """``KL(self || other)``, ``[...]``, of the draws before clipping or squashing: a change of
        variables leaves it as it is."""
        spread = jnp.exp(2.0 * (self.log_std - other.log_std))
        away = (self.mean - other.mean) * jnp.exp(-other.log_std)
        return jnp.sum(0.5 * (spread + away**2 - 1.0) + other.log_std - self.log_std, axis=-1)

    def _log_slope(self, flat: Array) -> Array:
        """The logarithm of how much an action moves with its raw action, ``[..., D]``."""
        return _like(self.units.log_half, flat)

    def _flat(self, raw: Array) -> Array:
        return raw.reshape(self.mean.shape)

    def _shaped(self, flat: Array) -> Array:
        return flat.reshape(*flat.shape[:-1], *self.actions.shape)


class TanhNormal(Gaussian):
    """A diagonal Gaussian squashed by the hyperbolic tangent between finite bounds (Haarnoja et
    al., 2018, appendix C).

    Everything is computed from the draw before squashing, so nothing is lost at the bounds. The
    mode is the squashed mean. The entropy has no closed form: the Gaussian's is corrected by the
    expected log-slope of the squashing, by Gauss-Hermite quadrature with 32 nodes.

    Args:
        mean, log_std: ``[..., D]``, raw.
        actions: their specification, all bounds finite.
    """

    def to_action(self, raw: Array) -> Array:
        return super().to_action(jnp.tanh(raw))

    def to_raw(self, action: Array) -> Array:
        """The draw that an action came from; for an action at a bound, one close to it."""
        flat = self._flat(action)
        middle, half, _, _ = (_like(x, flat) for x in self.units)
        share = jnp.clip(
            (flat - middle) / jnp.where(half > 0.0, half, 1.0), -1.0 + 1e-6, 1.0 - 1e-6
        )
        return self._shaped(jnp.arctanh(share))

    def entropy(self) -> Array:
        nodes = self.mean[..., None] + jnp.exp(self.log_std)[..., None] * _like(
            _NODES, self.mean[..., None]
        )
        weights = _like(_WEIGHTS / _WEIGHTS.sum(), nodes)
        each = jnp.sum(weights * _log_tanh_slope(nodes), axis=-1)
        return super().entropy() + jnp.sum(each, axis=-1)

    def _log_slope(self, flat: Array) -> Array:
        return super()._log_slope(flat) + _log_tanh_slope(flat)


def _log_tanh_slope(x: Array) -> Array:
    """``log(1 - tanh(x)^2)`` without cancellation."""
    return 2.0 * (math.log(2.0) - x - jax.nn.softplus(-2.0 * x))


def _like(values: np.ndarray, x: Array) -> Array:
    """Constants ``[D]`` with the rank and dtype of ``[..., D]``."""
    return jnp.asarray(values, x.dtype).reshape(*[1] * (x.ndim - 1), -1)


CONTINUOUS: dict[str, type[Gaussian]] = {"tanh_normal": TanhNormal, "gaussian": Gaussian}
"""Distributions over continuous actions, by name."""


def distribution_of(
    actions: ActionSpec, scores: Array, legal: Array, continuous: str
) -> Categorical | MultiCategorical | Gaussian:
    """The distribution that the scores of a policy network stand for.

    Args:
        actions: their specification.
        scores: ``[..., A]`` logits of choices, or ``[..., 2 * D]``: means, then the logarithms of
            the standard deviations.
        legal: bool ``[..., A]``; not read for continuous actions.
        continuous: a name in ``CONTINUOUS``.
    """
    if isinstance(actions, DiscreteActions):
        return Categorical(scores, legal)
    if isinstance(actions, MultiDiscreteActions):
        return MultiCategorical(scores, legal, actions.num_actions)
    mean, log_std = jnp.split(scores, 2, axis=-1)
    return CONTINUOUS[continuous](mean, log_std, actions)
