"""Whether one agent's gain is another's loss, from sampled rewards."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from mava.functional.loops import where_tree
from mava.types import Array, PyTree

THRESHOLD = 0.1
"""Correlations above minus this are not opposition."""

_NOISE = 12.0
"""Three standard deviations of a correlation of independent rewards, times the square root of the
number of samples, when each transition is sampled 16 times."""

_BATCHES = 1_000
"""Batches after which the moments stay as they are."""

_SAMPLES = 100_000
"""Transitions in them after which they do, if that is sooner."""


class Moments(NamedTuple):
    """Moments of the rewards of each pair of agents over the steps in which both acted, in the
    first batches of a run.

    Attributes:
        batches: float32 ``[]``; batches seen.
        samples: float32 ``[]``; transitions in them.
        both: ``[N, N]``; the share of transitions in which both acted.
        first: ``[N, N]``; the mean over all transitions of the row agent's reward, where both
            acted.
        square, product: ``[N, N]``; the same of its square, and of the product of both rewards.
    """

    batches: Array
    samples: Array
    both: Array
    first: Array
    square: Array
    product: Array


def first_moments(num_agents: int) -> Moments:
    pairs = jnp.zeros((num_agents, num_agents))
    return Moments(jnp.zeros(()), jnp.zeros(()), pairs, pairs, pairs, pairs)


def seen(
    moments: Moments, reward: Array, alive: Array, all_mean: Callable[[PyTree], PyTree]
) -> Moments:
    """The moments after a batch of rewards ``[B, T, N]`` of agents that were ``alive``; as they
    were, once there are enough."""
    acted = alive.reshape(-1, alive.shape[-1]).astype(jnp.float32)
    paid = jnp.where(acted > 0, reward.reshape(acted.shape), 0.0)
    count = acted.shape[0]
    new = all_mean(
        tuple(
            x / count for x in (acted.T @ acted, paid.T @ acted, paid.T**2 @ acted, paid.T @ paid)
        )
    )
    batches = moments.batches + 1.0
    old = (moments.both, moments.first, moments.square, moments.product)
    moved = jax.tree.map(lambda x, y: x + (y - x) / batches, old, new)
    after = Moments(batches, moments.samples + count, *moved)
    return where_tree(are_enough(moments), moments, after)  # type: ignore[no-any-return]


def are_enough(moments: Moments) -> Array:
    """Whether the moments are of so many samples that they decide; bool ``[]``. That is after 1,000
    batches or 100,000 transitions in them, whichever comes first: what a policy learns later does
    not count."""
    return (moments.batches >= _BATCHES) | (moments.samples >= _SAMPLES)


def most_opposed(moments: Moments) -> tuple[int, int, float] | None:
    """The two agents with the most opposed rewards and their correlation; ``None`` where no rewards
    are opposed. Takes numpy arrays."""
    both, first, square, product = (np.asarray(x, np.float64) for x in moments[2:])
    with np.errstate(divide="ignore", invalid="ignore"):
        mean, power, cross = first / both, square / both, product / both
        about_zero = cross / np.sqrt(power * power.T)
        variance = power - mean**2
        about_mean = (cross - mean * mean.T) / np.sqrt(variance * variance.T)
        samples = both * float(moments.samples)
        limit = -(THRESHOLD + _NOISE / np.sqrt(samples))
        found = np.maximum(about_zero, about_mean)
    found = np.where(np.isfinite(found) & (found < limit), about_mean, np.inf)
    if not np.isfinite(found).any():
        return None
    row, column = np.unravel_index(int(np.argmin(found)), found.shape)
    return min(int(row), int(column)), max(int(row), int(column)), float(found[row, column])
