"""Which agents form a group, and what the group is called."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from mava.errors import ConfigurationError, nearest
from mava.types import AgentID

_SAFE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


def members_of(
    name: str,
    agents: Sequence[AgentID],
    kinds: Mapping[AgentID, Any],
    given: Mapping[str, Sequence[AgentID]] | None,
) -> dict[str, list[AgentID]]:
    """The agents of each group, in the environment's order: those of one kind, or as given.

    Args:
        name: of the environment, for messages.
        agents: all of them, in order.
        kinds: per agent what has to be equal in a group: its spaces.
        given: groups that were asked for.

    Raises:
        ConfigurationError: given groups that leave an agent out, name one twice, or join agents of
            different kinds.
    """
    if given is not None:
        return _as_given(name, agents, kinds, given)
    parts: list[list[AgentID]] = []
    for agent in agents:
        same = next((part for part in parts if kinds[part[0]] == kinds[agent]), None)
        if same is None:
            parts.append([agent])
        else:
            same.append(agent)
    return dict(zip(names_of(parts), parts, strict=True))


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
    kinds: Mapping[AgentID, Any],
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
