"""Small parts of actors and critics, on policy: noise that remembers, and two losses."""

from __future__ import annotations

import dataclasses
import math
from typing import ClassVar

import jax
import jax.numpy as jnp

from mava.core.contexts import (
    ActContext,
    Batch,
    LearnContext,
    LossOutput,
    Params,
    Selection,
)
from mava.core.lifecycle import Loss, PrepareBatch, SelectAction
from mava.functional.td import chosen, td_target
from mava.testing.components import alive_mean
from mava.types import Array, GroupSpec, PyTree


def categorical_log_prob(logits: Array, legal: Array, action: Array) -> Array:
    """``[..., A]``, bool ``[..., A]``, int ``[...]`` -> ``[...]``; 0 where nothing is legal."""
    log_probs = jax.nn.log_softmax(jnp.where(legal, logits, -1e9))
    return jnp.where(jnp.any(legal, axis=-1), chosen(log_probs, action), 0.0)


def gaussian_log_prob(mean: Array, spread: float, x: Array) -> Array:
    """The log-density of independent dimensions, ``[..., D]`` -> ``[...]``."""
    each = -0.5 * ((x - mean) / spread) ** 2 - math.log(spread) - 0.5 * math.log(2 * math.pi)
    return each.sum(-1)


@dataclasses.dataclass(frozen=True)
class CorrelatedGaussian(SelectAction):
    """Adds noise that remembers: ``n' = correlation * n + spread * g``, with ``g`` standard normal.

    The memory is ``n``, ``[N, D]``. Records ``log_prob`` ``[N]`` and ``shift`` ``[N, D]``, what the
    remembered noise added to the mean.
    """

    spread: float = 0.3
    correlation: float = 0.5

    def init_memory(self, group: GroupSpec) -> PyTree:
        return jnp.zeros((group.num_agents, *group.actions.array.shape))

    def select_action(
        self, scores: Array, legal_actions: Array, memory: PyTree, context: ActContext
    ) -> tuple[Selection, PyTree]:
        shift = self.correlation * memory
        noise = shift
        if context.explore:
            noise = noise + self.spread * jax.random.normal(context.key, scores.shape)
        action = scores + noise
        log_prob = gaussian_log_prob(scores + shift, self.spread, action)
        return Selection(action, {"log_prob": log_prob, "shift": shift}), noise


@dataclasses.dataclass(frozen=True)
class Advantage(PrepareBatch):
    """One-step advantages. Provides ``target``, ``r + discount * V(o')``, and ``advantage``, its
    distance from ``V(o)``; per group ``[B, T, N]``, constants to every loss."""

    requires: ClassVar[frozenset[str]] = frozenset({"reward", "termination", "next_observation"})
    provides: ClassVar[frozenset[str]] = frozenset({"target", "advantage"})

    discount: float = 0.9

    def prepare_batch(
        self, batch: Batch, state: PyTree, params: Params, context: LearnContext
    ) -> tuple[Batch, PyTree]:
        unrolled = context.value(params, batch)
        following = unrolled.next_values()
        target = {
            name: td_target(
                reward,
                jnp.where(batch["termination"][name], 0.0, self.discount),
                following[name],
            )
            for name, reward in batch["reward"].items()
        }
        advantage = {name: target[name] - unrolled.values[name] for name in target}
        return {**batch, "target": target, "advantage": advantage}, state


@dataclasses.dataclass(frozen=True)
class PolicyLoss(Loss):
    """The clipped surrogate of PPO (Schulman et al., 2017), of categorical or Gaussian policies.

    Its metric ``change`` is how far the probability ratio of any action is from 1.
    """

    requires: ClassVar[frozenset[str]] = frozenset({"advantage", "extras", "legal_actions"})

    clip: float = 0.2
    spread: float = 0.3
    trains: tuple[str, ...] = ("network",)

    def loss(self, params: Params, batch: Batch, context: LearnContext) -> LossOutput:
        scores = context.unroll(params, batch).scores
        surrogate, changes = {}, []
        for group in context.spec.groups:
            name = group.name
            log_prob = self._log_prob(scores[name], batch, name)
            ratio = jnp.exp(log_prob - batch["extras"][name]["log_prob"])
            clipped = jnp.clip(ratio, 1.0 - self.clip, 1.0 + self.clip)
            advantage = batch["advantage"][name]
            surrogate[name] = -jnp.minimum(ratio * advantage, clipped * advantage)
            changes.append(jnp.abs(ratio - 1.0).max())
        return LossOutput(
            alive_mean(surrogate, batch, context), {"change": jnp.stack(changes).max()}
        )

    def _log_prob(self, scores: Array, batch: Batch, group: str) -> Array:
        action, extras = batch["action"][group], batch["extras"][group]
        if "shift" in extras:
            return gaussian_log_prob(scores + extras["shift"], self.spread, action)
        return categorical_log_prob(scores, batch["legal_actions"][group], action)


@dataclasses.dataclass(frozen=True)
class ValueLoss(Loss):
    """The squared distance of the critic from ``target``."""

    requires: ClassVar[frozenset[str]] = frozenset({"target"})

    trains: tuple[str, ...] = ("critic",)

    def loss(self, params: Params, batch: Batch, context: LearnContext) -> LossOutput:
        values = context.value(params, batch).values
        error = {name: (values[name] - batch["target"][name]) ** 2 for name in values}
        return LossOutput(alive_mean(error, batch, context), {})
