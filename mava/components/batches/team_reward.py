"""One reward for the whole team."""

from __future__ import annotations

import dataclasses
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from mava.components.batches.opposition import are_enough, first_moments, most_opposed, seen
from mava.core.contexts import Batch, LearnContext, Params
from mava.core.lifecycle import PrepareBatch, Refuse
from mava.errors import ConfigurationError, nearest
from mava.functional.td import finite_where_dead
from mava.types import Array, EnvironmentSpec, PyTree

_KINDS = ("mean", "sum")
_OPPOSED = ("refuse", "allow")


@dataclasses.dataclass(frozen=True)
class TeamReward(PrepareBatch, Refuse):
    """Gives every agent the mean or the sum of the rewards of all agents of all groups.

    An agent's reward in the step in which it dies counts, and so does what the environment pays it
    later, as in the episode's return; the mean is always over all agents. A step in which nobody
    acts pays nothing.

    Rewards of which one agent's gain is another's loss have no meaning as a team's: an environment
    that shows them at first is refused. It is decided once, when 1,000 batches have been sampled,
    or as few as hold 100,000 transitions. Two agents count as opposed where both the correlation of
    their rewards in these and the same about zero lie below -0.1, and below what chance explains. A
    run is never refused later, whatever is learned, nor one that ends before.

    Provides ``individual_reward``, the environment's own, and changes ``reward``. Stands before
    ``NStepReturn``.

    Attributes:
        kind: ``"mean"`` or ``"sum"``.
        opposed: ``"refuse"`` stops the run for opposed rewards; ``"allow"`` joins them all the
            same, and keeps no statistics.

    Raises:
        ConfigurationError: at construction, for another word; once in a run, for opposed rewards.
    """

    requires: ClassVar[frozenset[str]] = frozenset({"reward", "alive"})
    provides: ClassVar[frozenset[str]] = frozenset({"individual_reward"})

    kind: str = "mean"
    opposed: str = "refuse"

    def __post_init__(self) -> None:
        for field, words in (("kind", _KINDS), ("opposed", _OPPOSED)):
            value = getattr(self, field)
            if value not in words:
                raise ConfigurationError(f"{self.name}.{field} is {value!r}{nearest(value, words)}")

    def init_state(self, spec: EnvironmentSpec) -> PyTree:
        return () if self.opposed == "allow" else first_moments(spec.num_agents)

    def prepare_batch(
        self, batch: Batch, state: PyTree, params: Params, context: LearnContext
    ) -> tuple[Batch, PyTree]:
        names = context.spec.group_names
        own = {n: finite_where_dead(batch["reward"][n], batch["alive"][n]) for n in names}
        rewards = jnp.concatenate([own[name] for name in names], axis=-1)
        alive = jnp.concatenate([batch["alive"][name] for name in names], axis=-1)
        if self.opposed == "refuse":
            state = seen(state, rewards, alive, context.all_mean)
        joined = rewards.mean(-1) if self.kind == "mean" else rewards.sum(-1)
        team = jnp.where(alive.any(-1), joined, 0.0)[..., None]
        given = {name: jnp.broadcast_to(team, own[name].shape) for name in names}
        return {**batch, "individual_reward": batch["reward"], "reward": given}, state

    def refusal(self, state: PyTree, spec: EnvironmentSpec) -> str | None:
        if self.opposed == "allow" or not are_enough(state):
            return None
        pair = most_opposed(jax.tree.map(np.asarray, state))
        if pair is None:
            return None
        agents = [str(agent) for group in spec.groups for agent in group.agents]
        first, second, correlation = pair
        return (
            f"the rewards of {agents[first]} and {agents[second]} are opposed (correlation "
            f"{correlation:.2f}), so their {self.kind} is no team's reward; use a system that "
            f"keeps individual rewards, such as madqn, or ask for the {self.kind} by "
            f"{self.name}.opposed='allow'"
        )

    def is_decided(self, state: PyTree) -> bool:
        return self.opposed == "allow" or bool(are_enough(state))


@dataclasses.dataclass(frozen=True)
class TeamEpisode(PrepareBatch):
    """Ends of episodes as the team sees them: it goes on while any agent does.

    An agent that dies ends nothing. When the episode ends, the team terminated where every agent
    that acted did; where some were truncated the team's value goes on, with the values of those.

    Provides ``next_alive``, per group bool ``[B, T, N]``: whether the agent's value counts in the
    step's outcome. That is so while it lives on, and where the episode's end truncated it. Changes
    ``termination`` and ``truncation``, which all agents now share. Stands before ``NStepReturn``.
    """

    requires: ClassVar[frozenset[str]] = frozenset(
        {"alive", "termination", "truncation", "end", "next_legal_actions"}
    )
    provides: ClassVar[frozenset[str]] = frozenset({"next_alive"})

    def prepare_batch(
        self, batch: Batch, state: PyTree, params: Params, context: LearnContext
    ) -> tuple[Batch, PyTree]:
        names, end = context.spec.group_names, batch["end"]
        goes_on = {name: _goes_on(batch, name) for name in names}
        anyone = jnp.concatenate([goes_on[name] for name in names], axis=-1).any(-1)

        def to_all(flag: Array) -> dict[str, Array]:
            return {n: jnp.broadcast_to(flag[..., None], x.shape) for n, x in goes_on.items()}

        ends = {"termination": to_all(end & ~anyone), "truncation": to_all(end & anyone)}
        return {**batch, **ends, "next_alive": goes_on}, state


def _goes_on(batch: Batch, group: str) -> Array:
    """Whether each agent's value counts in the outcome, ``[B, T, N]``. One that is truncated while
    the episode goes on is not there any more; one that joins late has legal actions."""
    there = batch["alive"][group] | batch["next_legal_actions"][group].any(-1)
    left = batch["truncation"][group] & ~batch["end"][..., None]
    return there & ~batch["termination"][group] & ~left  # type: ignore[no-any-return]
