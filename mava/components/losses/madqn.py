"""The loss of independent deep Q-learning."""

from __future__ import annotations

import dataclasses
from typing import ClassVar

import jax.numpy as jnp

from mava.core.contexts import Batch, LearnContext, LossOutput, Params
from mava.core.lifecycle import Loss
from mava.core.plans import check_positive
from mava.functional.devices import masked_mean, ratio
from mava.functional.schedules import check_range
from mava.functional.td import chosen, double_q_value, finite_where_dead, td_target
from mava.functional.td_errors import penalty
from mava.types import Array


@dataclasses.dataclass(frozen=True)
class MADQNLoss(Loss):
    """Every agent learns Q of its own observation and action from its own reward.

    ``delta = r + discount * Q'(o', argmax_a Q(o', a)) - Q(o, a)`` over legal ``a`` (Mnih et al.,
    2015; van Hasselt et al., 2016; independent learners after Tan, 1993). The loss is the mean over
    the batch and the agents of a group that acted, summed over groups; transitions of dead agents
    weigh nothing.

    Attributes:
        double: picks the next action by the online network; else by the target network.
        huber: where the loss turns from quadratic to linear; ``None`` for quadratic throughout.
        max_priority_share: an item's priority is this share of its largest absolute error and the
            rest of their mean, over steps and agents; 0.9 for sequences in Kapturowski et al.
            (2019), where it is called eta.
        trains: the parameters of the Q-network.

    Raises:
        ConfigurationError: for a ``huber`` that is not positive, or a share outside ``[0, 1]``.
    """

    requires: ClassVar[frozenset[str]] = frozenset(
        {"observation", "action", "reward", "discount", "alive", "start"}
        | {"next_observation", "next_legal_actions"}
    )

    double: bool = True
    huber: float | None = None
    max_priority_share: float = 0.0
    trains: tuple[str, ...] = ("q_network",)

    def __post_init__(self) -> None:
        if self.huber is not None:
            check_positive(f"{self.name}.huber", self.huber)
        check_range(self.name, "max_priority_share", self.max_priority_share, 0.0, 1.0)

    def loss(self, params: Params, batch: Batch, context: LearnContext) -> LossOutput:
        observation = {
            group: finite_where_dead(batch["observation"][group], alive)
            for group, alive in batch["alive"].items()
        }
        batch = {**batch, "observation": observation}
        online = context.unroll(params, batch)
        target_scores = context.unroll(context.target_params, batch).next_scores()
        selector_scores = online.next_scores() if self.double else target_scores
        sampling = batch.get("importance_weight", jnp.ones(batch["start"].shape[:1]))
        total = jnp.zeros(())
        per_agent: dict[str, Array] = {}
        deltas, largest, acted, values = [], [], [], []
        for group in context.spec.group_names:
            q_tm1 = chosen(online.scores[group], batch["action"][group])
            v_t = double_q_value(
                selector_scores[group], target_scores[group], batch["next_legal_actions"][group]
            )
            target = td_target(batch["reward"][group], batch["discount"][group], v_t)
            alive = batch["alive"][group]
            delta = jnp.where(alive, target - q_tm1, 0.0)
            cost = self._penalty(delta)
            total += masked_mean(cost * sampling[:, None, None], alive, context.all_mean)
            per_agent[group] = cost.sum(axis=(0, 1))
            deltas.append(jnp.abs(delta).sum(axis=(1, 2)))
            largest.append(jnp.abs(delta).max(axis=(1, 2)))
            acted.append(alive.astype(jnp.float32).sum(axis=(1, 2)))
            values.append(masked_mean(q_tm1, alive, context.all_mean))
        error, count = jnp.stack(deltas).sum(0), jnp.stack(acted).sum(0)
        metrics = {
            "mean_q": jnp.stack(values).mean(),
            "mean_abs_td_error": ratio(error.sum(), count.sum(), context.all_mean),
        }
        # No priority is 0, or its item would never be seen again.
        share = self.max_priority_share
        mean = error / jnp.maximum(count, 1.0)
        priorities = share * jnp.stack(largest).max(0) + (1.0 - share) * mean + 1e-6
        return LossOutput(total, metrics, priorities, per_agent)

    def _penalty(self, delta: Array) -> Array:
        return penalty(delta, self.huber)
