"""Which agents form a group, and what the group is called."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from gymnasium import spaces

from mava.environments.pettingzoo.actions import Decoder, decoder_for
from mava.environments.pettingzoo.spaces import (
    Encoder,
    Leaves,
    UnsupportedSpace,
    encoder_for,
    has_mask,
    leaves_of,
)
from mava.errors import ConfigurationError, nearest
from mava.types import AgentID, GroupSpec

_SAFE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


@dataclasses.dataclass(frozen=True)
class Group:
    """A group's specification, and how its observations and actions cross the border.

    Attributes:
        masked: per agent, whether its observation space has an action mask.
        all_legal: bool ``[N, A]`` of ones, not writable.
        joint_shape: of the group's actions, ``[N, *actions.array.shape]``.
    """

    name: str
    agents: tuple[AgentID, ...]
    spec: GroupSpec
    encoder: Encoder
    decoder: Decoder
    masked: tuple[bool, ...]
    all_legal: np.ndarray
    joint_shape: tuple[int, ...]


@dataclasses.dataclass(frozen=True)
class _Kind:
    """What has to be equal in a group."""

    leaves: Leaves
    action: spaces.Space[Any]


def groups_of(
    name: str, env: Any, given: Mapping[str, Sequence[AgentID]] | None
) -> tuple[Group, ...]:
    """The groups of an environment, from its spaces or as given.

    Raises:
        ConfigurationError: no ``possible_agents``, a space that Mava has no form of, or given
            groups that leave an agent out, name one twice, or join agents with different spaces.
    """
    agents = _possible_agents(name, env)
    observation = {agent: env.observation_space(agent) for agent in agents}
    kinds = {
        agent: _Kind(leaves_of(observation[agent]), env.action_space(agent)) for agent in agents
    }
    if given is None:
        parts = _by_spaces(agents, kinds)
        members = dict(zip(names_of(parts), parts, strict=True))
    else:
        members = _as_given(name, agents, kinds, given)
    groups = []
    for group, ids in members.items():
        encoder, decoder = _codecs(name, ids[0], kinds[ids[0]])
        spec = GroupSpec(group, tuple(ids), encoder.spec, decoder.actions)
        masked = tuple(has_mask(observation[agent]) for agent in ids)
        legal = np.ones((len(ids), spec.actions.num_choices), bool)
        legal.setflags(write=False)
        shape = (len(ids), *spec.actions.array.shape)
        groups.append(Group(group, spec.agents, spec, encoder, decoder, masked, legal, shape))
    return tuple(groups)


def _possible_agents(name: str, env: Any) -> list[AgentID]:
    agents = list(getattr(env, "possible_agents", None) or ())
    if not agents:
        raise ConfigurationError(
            f"{name}: the environment has no `possible_agents`; Mava needs the list of all agents "
            "that may appear, since it fixes the shape of every array"
        )
    if len(set(agents)) != len(agents):
        raise ConfigurationError(f"{name}: `possible_agents` names an agent twice: {agents}")
    return agents


def _codecs(name: str, agent: AgentID, kind: _Kind) -> tuple[Encoder, Decoder]:
    try:
        encoder = encoder_for(kind.leaves)
    except UnsupportedSpace as error:
        raise ConfigurationError(
            f"{name}: agent {agent!r} has an observation space that Mava has no form of: {error}"
        ) from None
    try:
        return encoder, decoder_for(kind.action)
    except UnsupportedSpace as error:
        raise ConfigurationError(
            f"{name}: agent {agent!r} has an action space that Mava has no form of: {error}"
        ) from None


def _by_spaces(agents: Sequence[AgentID], kinds: Mapping[AgentID, _Kind]) -> list[list[AgentID]]:
    parts: list[list[AgentID]] = []
    for agent in agents:
        same = next((part for part in parts if kinds[part[0]] == kinds[agent]), None)
        if same is None:
            parts.append([agent])
        else:
            same.append(agent)
    return parts


def names_of(parts: Sequence[Sequence[AgentID]]) -> list[str]:
    """Names for groups, fit for files: the members' common name without its number where there is
    one.

    >>> names_of([["agent_0", "agent_1"]])
    ['agents']
    >>> names_of([["adversary_0", "adversary_1"], ["agent_0"]])
    ['adversary', 'agent']
    >>> names_of([["red/1"], [7, 8]])
    ['group_0', 'group_1']
    """
    if len(parts) == 1:
        return ["agents"]
    plain = [f"group_{index}" for index in range(len(parts))]
    names = []
    for part, default in zip(parts, plain, strict=True):
        stems = {re.sub(r"_\d+$", "", str(agent)) for agent in part}
        stem = stems.pop() if len(stems) == 1 else ""
        named = all(isinstance(agent, str) for agent in part) and _SAFE.fullmatch(stem)
        names.append(stem if named else default)
    return names if len({name.lower() for name in names}) == len(names) else plain


def _as_given(
    name: str,
    agents: Sequence[AgentID],
    kinds: Mapping[AgentID, _Kind],
    given: Mapping[str, Sequence[AgentID]],
) -> dict[str, list[AgentID]]:
    owner: dict[AgentID, str] = {}
    for group, ids in given.items():
        if not isinstance(group, str) or not _SAFE.fullmatch(group):
            raise ConfigurationError(
                f"{name}: {group!r} cannot name a group: it becomes part of file names, so use "
                "letters, digits, '.', '_' and '-'"
            )
        if not ids or isinstance(ids, str):
            raise ConfigurationError(f"{name}: group {group!r} needs a list of agents, got {ids!r}")
        for agent in ids:
            if agent not in kinds:
                hint = nearest(str(agent), map(str, agents))
                raise ConfigurationError(
                    f"{name}: group {group!r} names an unknown agent {agent!r}{hint}"
                )
            if agent in owner:
                raise ConfigurationError(
                    f"{name}: agent {agent!r} is in group {owner[agent]!r} and again in {group!r}"
                )
            if kinds[agent] != kinds[ids[0]]:
                raise ConfigurationError(
                    f"{name}: group {group!r} joins {ids[0]!r} and {agent!r}, whose spaces differ"
                )
            owner[agent] = group
    left = [agent for agent in agents if agent not in owner]
    if left:
        raise ConfigurationError(f"{name}: no group has the agents {left}")
    return {group: [agent for agent in agents if owner[agent] == group] for group in given}
