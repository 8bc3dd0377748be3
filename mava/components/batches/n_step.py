"""n-step returns."""

from __future__ import annotations

import dataclasses
from typing import ClassVar

import jax
import jax.numpy as jnp

from mava.core.contexts import Batch, LearnContext, Params
from mava.core.lifecycle import PrepareBatch
from mava.errors import ConfigurationError
from mava.functional.td import n_step_return
from mava.types import Array, PyTree


@dataclasses.dataclass(frozen=True)
class NStepReturn(PrepareBatch):
    """Turns items of n consecutive transitions into single transitions over n steps.

    n is the length of the buffer's items (``sequence_length``); 1 gives one-step targets. The sum
    is cut,
    agent by agent, where the agent or its episode ends: with nothing to follow after a termination,
        and
    with the true last observation to bootstrap from after a truncation.

    Fields ``[B, n, ...]`` become ``[B, 1, ...]``. Provides ``discount`` ``[B, 1, N]``: what the
    value of ``next_observation`` is multiplied with.

    Attributes:
        discount: the discount of one step.

    Raises:
        ConfigurationError: for a discount outside ``[0, 1]``.
    """

    requires: ClassVar[frozenset[str]] = frozenset(
        {"reward", "termination", "truncation", "end"}
        | {"next_observation", "next_legal_actions"}
    )
    provides: ClassVar[frozenset[str]] = frozenset({"discount"})

    discount: float = 0.99

    def __post_init__(self) -> None:
        if not 0.0 <= self.discount <= 1.0:
            raise ConfigurationError(
                f"{self.name}.discount is {self.discount}; it must lie in [0, 1]"
            )

    def prepare_batch(
        self, batch: Batch, state: PyTree, params: Params, context: LearnContext
    ) -> tuple[Batch, PyTree]:
        first = {
            name: jax.tree.map(lambda x: x[:, :1], x) for name, x in batch.items() if _has_time(x)
        }
        result: Batch = {**batch, **first, "reward": {}, "discount": {}}
        result["next_observation"], result["next_legal_actions"] = {}, {}
        for group, reward in batch["reward"].items():
            terminated = jnp.moveaxis(batch["termination"][group], 1, 0)
            truncated = jnp.moveaxis(batch["truncation"][group], 1, 0)
            ended = truncated | jnp.expand_dims(batch["end"].T, -1)
            steps = n_step_return(jnp.moveaxis(reward, 1, 0), terminated, ended, self.discount)
            result["reward"][group] = steps.reward[:, None]
            result["discount"][group] = steps.discount[:, None]
            for field in ("next_observation", "next_legal_actions"):
                result[field][group] = _at_step(batch[field][group], steps.last)
        return result, state


def _has_time(field: PyTree) -> bool:
    return all(leaf.ndim >= 2 for leaf in jax.tree.leaves(field))


def _at_step(x: Array, last: Array) -> Array:
    """``[B, n, N, ...]`` at each agent's own step ``[B, N]`` -> ``[B, 1, N, ...]``."""
    if x.shape[1] == 1:
        return x
    index = last[:, None].reshape(last.shape[0], 1, last.shape[1], *[1] * (x.ndim - 3))
    return jnp.take_along_axis(x, index, axis=1)
