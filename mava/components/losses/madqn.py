"""The loss of independent deep Q-learning."""

from __future__ import annotations

import dataclasses
from typing import ClassVar

import jax.numpy as jnp
import optax

from mava.core.contexts import Batch, LearnContext, LossOutput, Params
from mava.core.lifecycle import Loss
from mava.errors import ConfigurationError
from mava.functional.td import chosen, double_q_value, masked_max, masked_mean, td_target
from mava.types import Array


@dataclasses.dataclass(frozen=True)
class MADQNLoss(Loss):
    """Every agent learns Q of its own observation and action from its own reward.

    ``delta = r + discount * Q'(o', argmax_a Q(o', a)) - Q(o, a)`` over legal ``a`` (Mnih et al., 2015; van
    Hasselt et al., 2016; independent learners after Tan, 1993). The loss is the mean over the batch and the
    agents of a group that acted, summed over groups; transitions of dead agents weigh nothing.

    Attributes:
        double: picks the next action by the online network; else by the target network.
        huber: where the loss turns from quadratic to linear; ``None`` for quadratic throughout.
        trains: the parameters of the Q-network.

    Raises:
        ConfigurationError: for a ``huber`` that is not positive.
    """

    requires: ClassVar[frozenset[str]] = frozenset(
        {"observation", "action", "reward", "discount", "alive", "start"}
        | {"next_observation", "next_legal_actions"}
    )

    double: bool = True
    huber: float | None = None
    trains: tuple[str, ...] = ("q_network",)

    def __post_init__(self) -> None:
        if self.huber is not None and self.huber <= 0:
            raise ConfigurationError(f"{self.name}.huber is {self.huber}; it must be positive, or None")

    def loss(self, params: Params, batch: Batch, context: LearnContext) -> LossOutput:
        online = context.unroll(params, batch)
        target_scores = context.unroll(context.target_params, batch).next_scores()
        selector_scores = online.next_scores() if self.double else target_scores
        weight = batch.get("importance_weight", jnp.ones(batch["start"].shape[:1]))[:, None, None]
        total, mean_q, error, weights = jnp.zeros(()), [], [], []
        per_agent = {}
        for group in context.spec.group_names:
            legal_t = batch["next_legal_actions"][group]
            if self.double:
                v_t = double_q_value(selector_scores[group], target_scores[group], legal_t)
            else:
                v_t = masked_max(target_scores[group], legal_t)
            q_tm1 = chosen(online.scores[group], batch["action"][group])
            delta = td_target(batch["reward"][group], batch["discount"][group], v_t) - q_tm1
            alive = batch["alive"][group].astype(jnp.float32)
            penalty = self._penalty(delta)
            total += jnp.sum(jnp.where(alive > 0, penalty, 0.0) * weight) / jnp.maximum(alive.sum(), 1.0)
            per_agent[group] = jnp.sum(jnp.where(alive > 0, penalty, 0.0), axis=(0, 1))
            mean_q.append(masked_mean(q_tm1, alive))
            error.append(jnp.where(alive > 0, jnp.abs(delta), 0.0).sum(axis=(1, 2)))
            weights.append(alive.sum(axis=(1, 2)))
        priorities = sum(error) / jnp.maximum(sum(weights), 1.0)
        metrics = {
            "mean_q": jnp.mean(jnp.stack(mean_q)),
            "mean_abs_td_error": sum(error).sum() / jnp.maximum(sum(weights).sum(), 1.0),
        }
        return LossOutput(total, metrics, priorities + 1e-6, per_agent)

    def _penalty(self, delta: Array) -> Array:
        if self.huber is None:
            return 0.5 * delta**2
        return optax.huber_loss(delta, delta=self.huber)
