"""Losses of deterministic policy gradients: MADDPG, MATD3, and DDPG of each agent alone."""

from __future__ import annotations

import dataclasses
from typing import ClassVar

import jax
import jax.numpy as jnp

from mava.core.contexts import Batch, LearnContext, LossOutput, Params
from mava.core.keys import address
from mava.core.lifecycle import Loss
from mava.errors import ConfigurationError, nearest
from mava.functional.actions import (
    choose,
    clip_to_bounds,
    half_range,
    idle_where_dead,
    relaxed,
    squash,
    straight_through,
)
from mava.functional.devices import masked_mean, ratio
from mava.functional.schedules import check_range
from mava.functional.td import td_target, zero_where_dead
from mava.types import Array, ContinuousActions, GroupSpec


@dataclasses.dataclass(frozen=True)
class DDPGCriticLoss(Loss):
    """Every agent's critic learns its own reward.

    ``y = r + discount * min_k Q'_k(o', mu'(o'))``, the target critics and target policies of all
    agents (Lowe et al., 2017, equation 6; the minimum over several critics after Fujimoto et al.,
    2018 and Ackermann et al., 2019). The loss is half the squared distance of each Q_k(o, a) from
    y, summed over critics, its mean over the batch and the agents of a group that acted, summed
    over groups. Agents that are dead weigh nothing: critics of others see zeros and no action
    (``idle_where_dead``) in their rows, as they do of what follows an agent's own end. Target
    policies choose greedily.

    Attributes:
        target_noise: standard deviation of noise on the target policies' actions, 1 being half the
            distance between the bounds (target policy smoothing). Choices are sampled if it is
            positive.
        target_noise_clip: the noise's largest size.
        trains: the parameters of the critic.

    Raises:
        ConfigurationError: for a negative noise or clip.
    """

    requires: ClassVar[frozenset[str]] = frozenset(
        {"observation", "action", "reward", "discount", "alive", "start"}
        | {"next_observation", "next_legal_actions"}
    )

    target_noise: float = 0.0
    target_noise_clip: float = 0.5
    trains: tuple[str, ...] = ("critic",)

    def __post_init__(self) -> None:
        for field in ("target_noise", "target_noise_clip"):
            check_range(self.name, field, getattr(self, field), 0.0, float("inf"))

    def loss(self, params: Params, batch: Batch, context: LearnContext) -> LossOutput:
        batch = _of_the_living(batch, context)
        follows = {n: alive & (batch["discount"][n] > 0) for n, alive in batch["alive"].items()}
        policies = context.unroll(context.target_params, batch).next_scores()
        next_action = {
            group.name: self._next_action(policies[group.name], batch, group, index, context)
            for index, group in enumerate(context.spec.groups)
        }
        following = {
            **batch,
            "next_observation": _zeros(batch["next_observation"], follows),
            "next_action": _idle(next_action, follows, context),
        }
        next_values = context.value(context.target_params, following).next_values()
        values = context.value(params, batch).values
        sampling = batch.get("importance_weight", jnp.ones(batch["start"].shape[:1]))
        total = jnp.zeros(())
        per_agent: dict[str, Array] = {}
        deltas, acted, means = [], [], []
        for name in context.spec.group_names:
            alive = batch["alive"][name]
            v_t = _as_several(next_values[name], alive).min(axis=-1)
            target = td_target(batch["reward"][name], batch["discount"][name], v_t)
            q_tm1 = _as_several(values[name], alive)
            delta = jnp.where(alive[..., None], target[..., None] - q_tm1, 0.0)
            squared = 0.5 * jnp.sum(delta**2, axis=-1)
            total += masked_mean(squared * sampling[:, None, None], alive, context.all_mean)
            per_agent[name] = squared.sum(axis=(0, 1))
            deltas.append(jnp.abs(delta).mean(axis=-1).sum(axis=(1, 2)))
            acted.append(alive.astype(jnp.float32).sum(axis=(1, 2)))
            means.append(masked_mean(q_tm1.mean(axis=-1), alive, context.all_mean))
        error, count = jnp.stack(deltas).sum(0), jnp.stack(acted).sum(0)
        metrics = {
            "mean_q": jnp.stack(means).mean(),
            "mean_abs_td_error": ratio(error.sum(), count.sum(), context.all_mean),
        }
        # No priority is 0, or its item would never be seen again.
        priorities = error / jnp.maximum(count, 1.0) + 1e-6
        return LossOutput(total, metrics, priorities, per_agent)

    def _next_action(
        self, scores: Array, batch: Batch, group: GroupSpec, index: int, context: LearnContext
    ) -> Array:
        actions, key = group.actions, address(context.key, index)
        if not isinstance(actions, ContinuousActions):
            ranks = jnp.asarray(scores)
            if self.target_noise:
                ranks = ranks + jax.random.gumbel(key, ranks.shape)
            return choose(ranks, batch["next_legal_actions"][group.name], actions)
        action = squash(scores, actions)
        if not self.target_noise:
            return action
        noise = self.target_noise * jax.random.normal(key, action.shape)
        noise = jnp.clip(noise, -self.target_noise_clip, self.target_noise_clip)
        reach = half_range(actions)
        reach = reach.reshape(*[1] * (noise.ndim - reach.ndim), *reach.shape)
        return clip_to_bounds(action + noise * reach, actions)


OTHERS = ("replay", "policy")
CHOICES = {"straight_through": straight_through, "relaxed": relaxed}


@dataclasses.dataclass(frozen=True)
class DDPGActorLoss(Loss):
    """Every agent's policy climbs its own critic.

    The loss of agent i is ``-Q_i(o, a_1, ..., mu_i(o_i), ..., a_N)``, its gradient through the
    agent's own action alone (Lowe et al., 2017, equation 5); of several critics the first counts.
    It is the mean over the batch and the agents of a group that acted, summed over groups.

    Choices are made by a Gumbel-softmax (Jang et al., 2017) over what was legal. Straight-through,
    the critic is shown the choice, as in the batches it learns from, and the gradient is that of
    the relaxation: what moves the actor is the critic's slope at the choice made, and nothing in
    the critic's own loss ties that slope to what another choice is worth. Relaxed, it is shown
    weights between the choices, where it has learned nothing; its slopes along the way from one
    choice to another add up to the difference of their values.

    Attributes:
        others: what the others do: ``"replay"``, what they did (Algorithm 1 of the paper), or
            ``"policy"``, what their policies do now, without a gradient.
        choices: what the critic is shown of a choice, ``"straight_through"`` or ``"relaxed"``.
        temperature: of the softmax.
        score_penalty: weight of the actor's mean squared output, which keeps actions from the
            bounds, and choices from certainty, until the critic knows; gradients vanish there.
        trains: the parameters of the actor.

    Raises:
        ConfigurationError: for another ``others`` or ``choices``, a temperature that is not
            positive or a negative penalty.
    """

    requires: ClassVar[frozenset[str]] = frozenset(
        {"observation", "action", "legal_actions", "alive", "start"}
    )

    others: str = "replay"
    choices: str = "straight_through"
    temperature: float = 1.0
    score_penalty: float = 1e-3
    trains: tuple[str, ...] = ("actor",)

    def __post_init__(self) -> None:
        for field, words in (("others", OTHERS), ("choices", CHOICES)):
            word = getattr(self, field)
            if word not in words:
                raise ConfigurationError(f"{self.name}.{field} is {word!r}{nearest(word, words)}")
        check_range(self.name, "temperature", self.temperature, 1e-6, float("inf"))
        check_range(self.name, "score_penalty", self.score_penalty, 0.0, float("inf"))

    def loss(self, params: Params, batch: Batch, context: LearnContext) -> LossOutput:
        batch = _of_the_living(batch, context)
        scores = context.unroll(params, batch).scores
        own = {
            group.name: self._action(scores[group.name], batch, group, index, context)
            for index, group in enumerate(context.spec.groups)
        }
        if self.others == "policy":
            batch = {**batch, "action": jax.lax.stop_gradient(_idle(own, batch["alive"], context))}
        values = context.value(params, {**batch, "own_action": own}).values
        total = jnp.zeros(())
        per_agent: dict[str, Array] = {}
        found = []
        for group in context.spec.groups:
            alive = batch["alive"][group.name]
            q = _as_several(values[group.name], alive)[..., 0]
            found.append(masked_mean(q, alive, context.all_mean))
            cost = -q
            if self.score_penalty:
                cost = cost + self.score_penalty * self._size(scores[group.name], batch, group)
            total += masked_mean(cost, alive, context.all_mean)
            per_agent[group.name] = jnp.where(alive, cost, 0.0).sum(axis=(0, 1))
        return LossOutput(total, {"mean_q": jnp.stack(found).mean()}, per_agent=per_agent)

    def _size(self, scores: Array, batch: Batch, group: GroupSpec) -> Array:
        """The mean square of each agent's scores, of choices over what was legal."""
        squares = scores**2
        if isinstance(group.actions, ContinuousActions):
            return squares.mean(axis=-1)
        legal = batch["legal_actions"][group.name]
        count = jnp.sum(legal.astype(jnp.float32), axis=-1)
        return jnp.sum(jnp.where(legal, squares, 0.0), axis=-1) / jnp.maximum(count, 1.0)

    def _action(
        self, scores: Array, batch: Batch, group: GroupSpec, index: int, context: LearnContext
    ) -> Array:
        if isinstance(group.actions, ContinuousActions):
            return squash(scores, group.actions)
        noise = jax.random.gumbel(address(context.key, index), scores.shape)
        legal = batch["legal_actions"][group.name]
        choose_by = CHOICES[self.choices]
        return choose_by(jnp.asarray(scores), noise, legal, group.actions, self.temperature)


def _of_the_living(batch: Batch, context: LearnContext) -> Batch:
    """The batch with zeros for what agents that were dead saw, and nothing for what they did."""
    alive = batch["alive"]
    return {
        **batch,
        "observation": _zeros(batch["observation"], alive),
        "action": _idle(batch["action"], alive, context),
    }


def _zeros(rows: dict[str, Array], keep: dict[str, Array]) -> dict[str, Array]:
    return {name: zero_where_dead(x, keep[name]) for name, x in rows.items()}


def _idle(
    rows: dict[str, Array], keep: dict[str, Array], context: LearnContext
) -> dict[str, Array]:
    groups = context.spec.groups
    return {g.name: idle_where_dead(rows[g.name], keep[g.name], g.actions) for g in groups}


def _as_several(values: Array, like: Array) -> jax.Array:
    """Values ``[B, T, N]`` of one critic, or ``[B, T, N, K]`` of K -> the latter."""
    values = jnp.asarray(values)
    return values if values.ndim > like.ndim else values[..., None]
