"""Executors: how the act hooks are composed."""

from __future__ import annotations

import dataclasses

from mava.core.contexts import ActHooks, Selection, Transition
from mava.core.lifecycle import Act, Record
from mava.types import PyTree, TimeStep


@dataclasses.dataclass(frozen=True)
class Executor(Act):
    """Transforms observations, scores actions and selects; feed-forward and recurrent alike, since
    memory travels with the network.

    Attributes:
        num_environments: environments stepped together.
    """

    num_environments: int = 1

    def act(
        self, hooks: ActHooks, timestep: TimeStep, memory: dict[str, PyTree]
    ) -> tuple[dict[str, Selection], dict[str, PyTree]]:
        observation = hooks.transform_observation(timestep.observation)
        scores, memory = hooks.score(observation, memory)
        return hooks.select_action(scores, timestep.legal_actions, memory)


@dataclasses.dataclass(frozen=True)
class RecordTransition(Record):
    """Stores what value learning needs of a transition, observations as the environment gave them.

    Fields (``[N, ...]`` per group unless said): ``observation``, ``action``, ``reward``,
    ``termination``, ``truncation``, ``alive`` (the agent acted), ``next_observation`` and
    ``next_legal_actions`` of the true outcome, and bool ``[]`` ``start`` and ``end`` of the
    episode.
    """

    def record(self, transition: Transition) -> dict[str, PyTree]:
        now, after = transition.timestep, transition.next_timestep
        return {
            "observation": now.observation,
            "action": transition.action,
            "reward": after.reward,
            "termination": after.termination,
            "truncation": after.truncation,
            "alive": now.alive,
            "next_observation": after.observation,
            "next_legal_actions": after.legal_actions,
            "start": now.start,
            "end": after.end,
        }


@dataclasses.dataclass(frozen=True)
class RecordMemory(Record):
    """Stores the memory before each step, so that sequences begin with the memory they were acted
    with (the stored state of Kapturowski et al., 2019). Without it they begin with that of an
    episode's start.

    Field: ``memory``, by hook, then by group, ``[N, ...]``.
    """

    def record(self, transition: Transition) -> dict[str, PyTree]:
        return {"memory": transition.memory}


@dataclasses.dataclass(frozen=True)
class RecordState(Record):
    """Stores the global state before and after a step, for mixers and central critics. Stores
    nothing where the environment has none.

    Fields: ``state`` and ``next_state``, ``[*S]``.
    """

    def record(self, transition: Transition) -> dict[str, PyTree]:
        state, following = transition.timestep.state, transition.next_timestep.state
        return {} if state is None else {"state": state, "next_state": following}


@dataclasses.dataclass(frozen=True)
class RecordLegalActions(Record):
    """Stores what was legal when an agent acted, for losses of policies.

    Field: ``legal_actions``, bool ``[N, A]`` per group.
    """

    def record(self, transition: Transition) -> dict[str, PyTree]:
        return {"legal_actions": transition.timestep.legal_actions}


@dataclasses.dataclass(frozen=True)
class RecordPolicy(Record):
    """Stores what ``select_action`` gave beside the action: what the policy was when it acted.

    Field: ``extras``, per group, by name; ``log_prob`` ``[N]`` of an action that was sampled.
    """

    def record(self, transition: Transition) -> dict[str, PyTree]:
        return {"extras": transition.extras}
