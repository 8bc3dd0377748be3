"""n-step returns."""

from __future__ import annotations

import dataclasses
from typing import ClassVar

import jax
import jax.numpy as jnp

from mava.components.batches.rewards import ChangeReward
from mava.components.batches.team_reward import TeamEpisode, TeamReward
from mava.core.component import Component
from mava.core.contexts import Batch, LearnContext, Params
from mava.core.lifecycle import PrepareBatch
from mava.core.plans import check_count
from mava.errors import ConfigurationError, WiringError
from mava.functional.td import n_step_return
from mava.types import Array, PyTree


@dataclasses.dataclass(frozen=True)
class NStepReturn(PrepareBatch):
    """Turns sequences of transitions into transitions over ``steps`` steps.

    The sum of rewards is cut, agent by agent, where the agent or its episode ends: with nothing to
    follow after a termination, and with the true last observation to bootstrap from after a
    truncation. Whatever the batch calls ``next_...`` moves to the last step that counts: by group,
    each agent's own; otherwise (the global state) the episode's.

    Fields ``[B, T, ...]`` become ``[B, T - steps + 1, ...]``; the buffer's items are made longer by
    ``steps - 1``. Provides ``discount``, per group ``[B, T - steps + 1, N]``: what the value of
    ``next_observation`` is multiplied with.

    Attributes:
        steps: rewards summed before bootstrapping; 1 gives one-step targets.
        discount: of one step.

    Raises:
        ConfigurationError: for a discount outside ``[0, 1]``, or fewer than 1 step.
        WiringError: at build, for more than one step with a recurrent network.
    """

    requires: ClassVar[frozenset[str]] = frozenset(
        {"reward", "termination", "truncation", "start", "end", "next_observation"}
    )
    provides: ClassVar[frozenset[str]] = frozenset({"discount"})
    after: ClassVar[tuple[type[Component], ...]] = (ChangeReward, TeamReward, TeamEpisode)

    steps: int = 1
    discount: float = 0.99

    def __post_init__(self) -> None:
        check_count(f"{self.name}.steps", self.steps)
        if not 0.0 <= self.discount <= 1.0:
            raise ConfigurationError(
                f"{self.name}.discount is {self.discount}; it must lie in [0, 1]"
            )

    @property
    def more_steps(self) -> int:
        return self.steps - 1

    def prepare_batch(
        self, batch: Batch, state: PyTree, params: Params, context: LearnContext
    ) -> tuple[Batch, PyTree]:
        if self.steps > 1 and context.recurrent:
            raise WiringError(
                f"{self.name}.steps is {self.steps}, but the network has memory: the memory after "
                f"one step is not the one after {self.steps}; set steps to 1"
            )
        kept = batch["start"].shape[1] - self.steps + 1
        result: Batch = {
            name: jax.tree.map(lambda x: x[:, :kept], field) if _has_time(field) else field
            for name, field in batch.items()
        }
        # Where the next transition starts an episode this one ended another, whether or not it
        # says so: an episode may have been abandoned.
        follows = jnp.concatenate([batch["start"][:, 1:], jnp.zeros_like(batch["start"][:, :1])], 1)
        ended = self._windows(batch["end"] | follows)
        result["reward"], result["discount"], last = {}, {}, {}
        for group, reward in batch["reward"].items():
            terminated = self._windows(batch["termination"][group])
            cut = self._windows(batch["truncation"][group])
            over = cut | jnp.broadcast_to(ended[..., None], cut.shape)
            summed = n_step_return(self._windows(reward), terminated, over, self.discount)
            result["reward"][group], result["discount"][group] = summed.reward, summed.discount
            last[group] = summed.last
        of_all = n_step_return(jnp.zeros(ended.shape), jnp.zeros_like(ended), ended, 1.0).last
        for name in (name for name in batch if name.startswith("next_")):
            field = batch[name]
            result[name] = (
                {group: _at_step(x, last[group]) for group, x in field.items()}
                if isinstance(field, dict)
                else _at_step(field, of_all)
            )
        return result, state

    def _windows(self, x: Array) -> Array:
        """``[B, T, ...]`` -> ``[steps, B, T - steps + 1, ...]``."""
        kept = x.shape[1] - self.steps + 1
        return jnp.stack([x[:, step : step + kept] for step in range(self.steps)])


def _has_time(field: PyTree) -> bool:
    return all(leaf.ndim >= 2 for leaf in jax.tree.leaves(field))


def _at_step(x: Array, last: Array) -> Array:
    """``x[b, t + last[b, t]]``: ``[B, T, *]`` at offsets ``[B, K]``, or ``[B, K, N]`` for
    ``[B, T, N, *]``."""
    time = last + jnp.arange(last.shape[1]).reshape(1, -1, *[1] * (last.ndim - 2))
    index = time.reshape(*time.shape, *[1] * (x.ndim - time.ndim))
    return jnp.take_along_axis(x, index, axis=1)
