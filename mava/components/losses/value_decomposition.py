"""The loss of value decomposition: VDN and QMIX."""

from __future__ import annotations

import dataclasses
from typing import ClassVar

import jax.numpy as jnp

from mava.core.contexts import Batch, LearnContext, LossOutput, Params
from mava.core.lifecycle import Loss
from mava.core.plans import check_positive
from mava.functional.devices import masked_mean, ratio
from mava.functional.schedules import check_range
from mava.functional.td import (
    chosen,
    double_q_value,
    finite_where_dead,
    td_target,
    zero_where_dead,
)
from mava.functional.td_errors import optimistic_weight, penalty
from mava.types import Array

ByGroup = dict[str, Array]


@dataclasses.dataclass(frozen=True)
class ValueDecompositionLoss(Loss):
    """Q-learning of one value of the team, mixed from the agents' values of their own observations
    and actions.

    ``delta = r + discount * Q'_tot(s', u') - Q_tot(s, u)``, where each ``u'_i`` is the agent's own
    best legal action, ``r`` the team's reward and ``'`` the targets of networks and mixer (Sunehag
    et al., 2018; Rashid et al., 2018, equation 6; double Q-learning after van Hasselt et al.,
    2016). Agents that are dead enter the mixer with value 0, and steps in which nobody acts weigh
    nothing. The loss is the mean over the others.

    Attributes:
        double: picks the next actions by the online network; else by the target network.
        huber: where the loss turns from quadratic to linear; ``None`` for quadratic throughout.
        overestimate_weight: of steps whose ``Q_tot`` is not below its target. 1 weighs all alike;
            less is the optimistic weighting of OW-QMIX (Rashid et al., 2020, equation 7), here with
            targets of the mixer itself.
        trains: the parameters of the Q-network and of the mixer.

    Raises:
        ConfigurationError: for a ``huber`` that is not positive, or a weight outside ``[0, 1]``.
    """

    requires: ClassVar[frozenset[str]] = frozenset(
        {"observation", "action", "reward", "discount", "alive", "start", "individual_reward"}
        | {"next_observation", "next_legal_actions", "next_alive"}
    )

    double: bool = True
    huber: float | None = None
    overestimate_weight: float = 1.0
    trains: tuple[str, ...] = ("q_network", "mixer")

    def __post_init__(self) -> None:
        if self.huber is not None:
            check_positive(f"{self.name}.huber", self.huber)
        check_range(self.name, "overestimate_weight", self.overestimate_weight, 0.0, 1.0)

    def loss(self, params: Params, batch: Batch, context: LearnContext) -> LossOutput:
        names = context.spec.group_names
        alive, next_alive = batch["alive"], batch["next_alive"]
        batch = {
            **batch,
            "observation": _finite(batch["observation"], alive),
            "next_observation": _finite(batch["next_observation"], next_alive),
        }
        online = context.unroll(params, batch)
        target_scores = context.unroll(context.target_params, batch).next_scores()
        selector_scores = online.next_scores() if self.double else target_scores
        q_tm1 = {n: chosen(online.scores[n], batch["action"][n]) for n in names}
        legal = batch["next_legal_actions"]
        v_t = {n: double_q_value(selector_scores[n], target_scores[n], legal[n]) for n in names}
        now, outcome = _shown(batch, "", alive), _shown(batch, "next_", next_alive)
        total_tm1 = context.mix(params, _zero_where(q_tm1, alive), now)
        total_t = context.mix(context.target_params, _zero_where(v_t, next_alive), outcome)
        # All agents share the reward and the discount.
        reward, discount = (batch[field][names[0]][..., 0] for field in ("reward", "discount"))
        target = td_target(reward, discount, total_t)

        acts = jnp.stack([alive[n].any(-1) for n in names]).any(0)
        delta = jnp.where(acts, target - total_tm1, 0.0)
        sampling = batch.get("importance_weight", jnp.ones(acts.shape[:1]))
        weight = sampling[:, None] * optimistic_weight(delta, self.overestimate_weight)
        error, count = jnp.abs(delta).sum(1), acts.astype(jnp.float32).sum(1)
        metrics = {
            "mean_q_total": masked_mean(total_tm1, acts, context.all_mean),
            "mean_q": jnp.stack(
                [masked_mean(q_tm1[n], alive[n], context.all_mean) for n in names]
            ).mean(),
            "mean_abs_td_error": ratio(error.sum(), count.sum(), context.all_mean),
        }
        # No priority is 0, or its item would never be seen again.
        priorities = error / jnp.maximum(count, 1.0) + 1e-6
        loss = masked_mean(weight * penalty(delta, self.huber), acts, context.all_mean)
        return LossOutput(loss, metrics, priorities)


def _finite(observation: ByGroup, alive: ByGroup) -> ByGroup:
    return {name: finite_where_dead(x, alive[name]) for name, x in observation.items()}


def _zero_where(values: ByGroup, alive: ByGroup) -> ByGroup:
    """Values ``[B, T, N]``, 0 for the dead."""
    return {name: jnp.where(alive[name], x, 0.0) for name, x in values.items()}


def _shown(batch: Batch, prefix: str, alive: ByGroup) -> Batch:
    """The batch as a mixer sees it at one end of its steps: zeros for what the dead observe."""
    observation = {
        name: zero_where_dead(x, alive[name]) for name, x in batch[f"{prefix}observation"].items()
    }
    shown = {**batch, "observation": observation, "alive": alive}
    return {**shown, "state": batch[f"{prefix}state"]} if "state" in batch else shown
