"""The groups of an environment, and how their arrays cross the border."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from gymnasium import spaces

from mava.environments.members import members_of
from mava.environments.pettingzoo.actions import Decoder, decoder_for
from mava.environments.pettingzoo.spaces import (
    Encoder,
    Leaves,
    UnsupportedSpace,
    encoder_for,
    has_mask,
    leaves_of,
)
from mava.errors import ConfigurationError
from mava.types import AgentID, GroupSpec


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
    groups = []
    for group, ids in members_of(name, agents, kinds, given).items():
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
