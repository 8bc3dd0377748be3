"""Advantages and value targets of on-policy learning."""

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
from mava.errors import ConfigurationError
from mava.functional.gae import generalised_advantage
from mava.functional.moments import Moments, no_moments, updated
from mava.functional.ppo import masked_standardise
from mava.functional.td import finite_where_dead
from mava.types import Array, EnvironmentSpec, PyTree


@dataclasses.dataclass(frozen=True)
class GeneralisedAdvantage(PrepareBatch):
    """Generalised advantage estimation (Schulman et al., 2016), agent by agent.

    After a termination nothing follows; a truncated step is followed by the value of its true last
    observation; both end the sum, and so does the end of the episode. Values are those of the
    critic as it is when the batch arrives.

    Provides, per group ``[B, T, N]`` and constant to every loss: ``advantage``; ``value``, what the
    critic gave; ``value_target``, what it should have given. With ``normalise_values`` a critic
    gives values in units of its group's targets: their mean taken away, divided by their standard
    deviation (Yu et al., 2022), so that no step size depends on the scale of rewards. The
    statistics are of the targets of living agents, counted once for each batch; before the first
    batch every value counts as 0. They are kept with the trainer's state and changed by training
    alone. Advantages are of rewards as they are.

    Values, also those that are bootstrapped from, are read in the units in which the critic learned
    them, before the batch counts; targets are written in those after. ``value`` stays as the critic
    gave it, so that clipping bounds the steps of its output. The output layer is not rescaled when
    the units move (as in PopArt; van Hasselt et al., 2016): the critic follows them by learning.

    Attributes:
        discount: of one step.
        trace: the paper's lambda.
        normalise_advantage: takes the mean away and divides by the standard deviation, both over
            the whole batch and the living agents of a group.
        normalise_values: keeps statistics of the targets.
        window: batches that the statistics remember: each new one counts at least for one part in
            so many.

    Raises:
        ConfigurationError: for a discount or a trace outside ``[0, 1]``, or a window below 1.
    """

    requires: ClassVar[frozenset[str]] = frozenset(
        {"observation", "next_observation", "reward", "termination", "truncation"}
        | {"alive", "start", "end"}
    )
    provides: ClassVar[frozenset[str]] = frozenset({"advantage", "value", "value_target"})
    after: ClassVar[tuple[type[Component], ...]] = (ChangeReward, TeamReward, TeamEpisode)

    discount: float = 0.99
    trace: float = 0.95
    normalise_advantage: bool = True
    normalise_values: bool = True
    window: int = 100

    def __post_init__(self) -> None:
        check_count(f"{self.name}.window", self.window)
        for field in ("discount", "trace"):
            if not 0.0 <= getattr(self, field) <= 1.0:
                raise ConfigurationError(
                    f"{self.name}.{field} is {getattr(self, field)}; it must lie in [0, 1]"
                )

    def init_state(self, spec: EnvironmentSpec) -> PyTree:
        if not self.normalise_values:
            return ()
        nothing = no_moments(())._replace(variance=jnp.zeros(()))
        return {group.name: nothing for group in spec.groups}

    def prepare_batch(
        self, batch: Batch, state: PyTree, params: Params, context: LearnContext
    ) -> tuple[Batch, PyTree]:
        unrolled = context.value(params, with_finite_observations(batch))
        following = unrolled.next_values()
        # Where the next step starts an episode this one ended another, whether or not it says so:
        # an episode may have been abandoned. So it is with an agent that is dead in the next step.
        ended = batch["end"] | _next(batch["start"])
        advantage: dict[str, Array] = {}
        target: dict[str, Array] = {}
        statistics: dict[str, Moments] = {}
        for group, alive in batch["alive"].items():
            before = state[group] if self.normalise_values else None
            arguments = (
                batch["reward"][group],
                in_rewards(before, unrolled.values[group]),
                in_rewards(before, following[group]),
                batch["termination"][group],
                batch["truncation"][group] | jnp.expand_dims(ended, 2) | _next(~alive),
            )
            reward, values, next_values, terminated, cut = (
                jnp.swapaxes(x, 0, 1) for x in arguments
            )
            over_time = generalised_advantage(
                reward, values, next_values, terminated, cut, self.discount, self.trace
            )
            found = jnp.where(alive, jnp.swapaxes(over_time, 0, 1), 0.0)
            returns = jnp.where(alive, found + arguments[1], 0.0)
            standard = self.normalise_advantage
            advantage[group] = (
                masked_standardise(found, alive, context.all_mean) if standard else found
            )
            if before is None:
                target[group] = returns
                continue
            statistics[group] = self._counted(before, returns, alive, context)
            target[group] = in_units(statistics[group], returns)
        prepared = {
            **batch,
            "advantage": advantage,
            "value": jax.lax.stop_gradient(unrolled.values),
            "value_target": jax.lax.stop_gradient(target),
        }
        return prepared, statistics if self.normalise_values else state

    def _counted(
        self, before: Moments, returns: Array, alive: Array, context: LearnContext
    ) -> Moments:
        """The statistics after a batch. A small batch must not make light of those before it, so
        all that were seen stay counted, whatever part of them this one replaces."""
        count = context.all_mean(jnp.sum(alive.astype(jnp.float32)))
        recent = before._replace(seen=jnp.minimum(before.seen, count * (self.window - 1.0)))
        after = updated(recent, returns, alive, context.all_mean)
        return after._replace(seen=before.seen + count)


def with_finite_observations(batch: Batch) -> Batch:
    """The batch with zeros for numbers that are not finite in observations of dead agents, which
    critics of everything look at."""
    fields: Batch = {
        field: {
            group: finite_where_dead(batch[field][group], alive)
            for group, alive in batch["alive"].items()
        }
        for field in ("observation", "next_observation")
        if field in batch
    }
    return {**batch, **fields}


def in_rewards(statistics: Moments | None, value: Array) -> Array:
    """A critic's values in units of rewards."""
    if statistics is None:
        return value
    return statistics.mean + jnp.sqrt(statistics.variance) * value


def _next(flags: Array) -> Array:
    """What the next step says, ``[B, T, ...]``; false after the last."""
    return jnp.concatenate([flags[:, 1:], jnp.zeros_like(flags[:, :1])], axis=1)


def in_units(statistics: Moments, returns: Array) -> Array:
    """Returns in units of their statistics. A spread that is only rounding counts as none; one that
    is not finite makes NaN of all, so that it does not go unnoticed."""
    spread = jnp.sqrt(statistics.variance)
    none = spread <= 1e-5 * jnp.abs(statistics.mean)
    return jnp.where(none, 0.0, (returns - statistics.mean) / jnp.where(none, 1.0, spread))
