"""The losses of proximal policy optimisation."""

from __future__ import annotations

import dataclasses
from typing import ClassVar

import jax.numpy as jnp

from mava.components.batches.generalised_advantage import with_finite_observations
from mava.core.contexts import Batch, LearnContext, LossOutput, Params
from mava.core.lifecycle import Loss
from mava.core.plans import check_positive
from mava.functional.devices import masked_mean
from mava.functional.distributions import CONTINUOUS, distribution_of
from mava.functional.ppo import (
    approximate_kl,
    clipped_surrogate,
    clipped_value_loss,
    explained_variance,
    masked_standardise,
)
from mava.functional.schedules import Schedule, as_schedule, check_range
from mava.functional.td import finite_where_dead
from mava.types import Array, GroupSpec


@dataclasses.dataclass(frozen=True)
class PPOLoss(Loss):
    """The clipped surrogate of PPO (Schulman et al., 2017) and an entropy bonus.

    ``-min(ratio * A, clip(ratio, 1 - clip, 1 + clip) * A) - entropy_coefficient * H``, the mean
    over the batch and the agents of a group that acted, summed over groups; steps of dead agents
    weigh nothing. The distribution is the one that ``SampleAction`` drew from.

    Metrics, over living agents, the mean over groups: ``policy_loss``, ``entropy`` in nats,
    ``approx_kl`` (Schulman, 2020) and ``clip_fraction``.

    Attributes:
        clip: how far a probability ratio may move from 1.
        entropy_coefficient: a number or a schedule over gradient steps.
        normalise_advantage: standardises the advantages of each minibatch, over the living agents
            of a group.
        trains: the parameters of the policy.

    Raises:
        ConfigurationError: for a ``clip`` that is not positive, or a negative coefficient.
    """

    requires: ClassVar[frozenset[str]] = frozenset(
        {"observation", "action", "legal_actions", "extras", "advantage", "alive", "start"}
    )

    clip: float = 0.2
    entropy_coefficient: float | Schedule = 0.01
    normalise_advantage: bool = False
    trains: tuple[str, ...] = ("policy",)

    def __post_init__(self) -> None:
        check_positive(f"{self.name}.clip", self.clip)
        name = "entropy_coefficient"
        check_range(self.name, name, self.entropy_coefficient, 0.0, float("inf"))

    def loss(self, params: Params, batch: Batch, context: LearnContext) -> LossOutput:
        scores = context.unroll(params, with_finite_observations(batch)).scores
        coefficient = as_schedule(self.entropy_coefficient)(context.updates)
        total = jnp.zeros(())
        found: dict[str, list[Array]] = {
            name: [] for name in ("policy_loss", "entropy", "approx_kl", "clip_fraction")
        }
        per_agent = {}
        for group in context.spec.groups:
            alive = batch["alive"][group.name]
            log_prob, entropy = self._policy(scores[group.name], batch, group)
            old = batch["extras"][group.name]["log_prob"]
            log_ratio = jnp.where(alive, log_prob - old, 0.0)
            advantage = jnp.where(alive, batch["advantage"][group.name], 0.0)
            if self.normalise_advantage:
                advantage = masked_standardise(advantage, alive, context.all_mean)
            surrogate = -clipped_surrogate(log_ratio, advantage, self.clip)
            penalised = surrogate - coefficient * jnp.where(alive, entropy, 0.0)
            total += masked_mean(penalised, alive, context.all_mean)
            per_agent[group.name] = penalised.sum(axis=(0, 1))
            outside = jnp.abs(jnp.exp(log_ratio) - 1.0) > self.clip
            each = (surrogate, entropy, approximate_kl(log_ratio), outside.astype(jnp.float32))
            for values, x in zip(found.values(), each, strict=True):
                values.append(masked_mean(x, alive, context.all_mean))
        metrics = {name: jnp.stack(values).mean() for name, values in found.items()}
        return LossOutput(total, metrics, per_agent=per_agent)

    def _policy(self, scores: Array, batch: Batch, group: GroupSpec) -> tuple[Array, Array]:
        """The log-probability of what was done, and the entropy, ``[B, T, N]``."""
        extras, legal = batch["extras"][group.name], batch["legal_actions"][group.name]
        drawn = next((name for name in CONTINUOUS if name in extras), None)
        if drawn is None:
            policy = distribution_of(group.actions, scores, legal, "")
            return policy.log_prob(batch["action"][group.name]), policy.entropy()
        policy = distribution_of(group.actions, scores, legal, drawn)
        raw = finite_where_dead(extras[drawn], batch["alive"][group.name])
        return policy.log_prob(raw), policy.entropy()


@dataclasses.dataclass(frozen=True)
class PPOValueLoss(Loss):
    """The distance of the critic from ``value_target``, its steps clipped (Schulman et al., 2017).

    The mean over the batch and the agents of a group that acted, summed over groups, in the units
    of the targets. Metrics, over living agents, the mean over groups: ``value_loss``, and
    ``explained_variance``, 1 for a perfect critic.

    Attributes:
        clip: how far a value may move from the one that the batch came with; ``None`` for any
            distance.
        huber: where the penalty turns from half the squared error to linear; ``None`` for never.
        trains: the parameters of the critic.

    Raises:
        ConfigurationError: for a ``clip`` or ``huber`` that is not positive.
    """

    requires: ClassVar[frozenset[str]] = frozenset(
        {"observation", "value", "value_target", "alive", "start"}
    )

    clip: float | None = 0.2
    huber: float | None = None
    trains: tuple[str, ...] = ("critic",)

    def __post_init__(self) -> None:
        for field in ("clip", "huber"):
            if getattr(self, field) is not None:
                check_positive(f"{self.name}.{field}", getattr(self, field))

    def loss(self, params: Params, batch: Batch, context: LearnContext) -> LossOutput:
        values = context.value(params, with_finite_observations(batch)).values
        losses, explained, per_agent = [], [], {}
        for group in context.spec.group_names:
            alive = batch["alive"][group]
            value, old, target = (
                jnp.where(alive, x[group], 0.0)
                for x in (values, batch["value"], batch["value_target"])
            )
            penalty = clipped_value_loss(value, old, target, self.clip, self.huber)
            losses.append(masked_mean(penalty, alive, context.all_mean))
            per_agent[group] = penalty.sum(axis=(0, 1))
            explained.append(explained_variance(value, target, alive, context.all_mean))
        metrics = {
            "value_loss": jnp.stack(losses).mean(),
            "explained_variance": jnp.stack(explained).mean(),
        }
        return LossOutput(jnp.stack(losses).sum(), metrics, per_agent=per_agent)
