"""MAPPO: proximal policy optimisation with central critics."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

from mava.components.executors.executor import RecordState
from mava.components.networks.value_network import (
    CentralValueNetwork,
    RecurrentCentralValueNetwork,
)
from mava.core.component import Component
from mava.core.system import System
from mava.environments.factory import EnvironmentFactory
from mava.functional.schedules import Schedule
from mava.systems.ippo import ippo
from mava.types import AgentID


def mappo(
    environment: str | Callable[..., Any] | EnvironmentFactory,
    *,
    state: str = "auto",
    own_observation: bool = False,
    num_environments: int = 8,
    recurrent: bool = False,
    hidden_sizes: tuple[int, ...] = (64, 64),
    memory_size: int = 64,
    sharing: str | Mapping[AgentID, Any] = "shared",
    continuous: str = "tanh_normal",
    rollout_length: int = 128,
    sequence_length: int | None = None,
    epochs: int = 10,
    minibatches: int = 4,
    discount: float = 0.99,
    trace: float = 0.95,
    clip: float = 0.2,
    value_clip: float | None = 0.2,
    entropy_coefficient: float | Schedule = 0.01,
    max_kl: float | None = None,
    normalise_values: bool = True,
    learning_rate: float | Schedule = 1e-3,
    critic_learning_rate: float | Schedule | None = None,
    max_gradient_norm: float | None = 0.5,
) -> System:
    """Multi-agent PPO (Yu et al., 2022): IPPO whose critics see the whole environment.

    The policies are those of ``ippo`` and act on their own observations; the critics, which are
    needed for training alone, get the global state: the environment's own where it has one, else
    what all agents observe. Every agent learns from its own reward, as the environment gives it;
    add ``TeamReward()`` where all should be paid for the team. Use it where agents must be
    coordinated and their own observations do not tell what a step was worth.

    Args:
        environment: a name such as ``"mpe2/simple_spread_v3"``, or a callable that makes an
            environment.
        state: what the critics see: ``"environment"``, the environment's global state;
            ``"observations"``, those of all agents joined; ``"auto"``, the environment's where it
            has one.
        own_observation: the critics also see what their own agent observes.
        num_environments: environments stepped together.
        recurrent: policy and critic have a GRU, and minibatches are made of whole sequences.
        hidden_sizes: widths of the policy and of the critic; with ``recurrent`` those before the
            GRU.
        memory_size: width of the GRU, with ``recurrent``.
        sharing: ``"shared"`` (one set of parameters per group, agent ids appended), ``"none"``, or
            a mapping from agent to set; of the policy and of the critic.
        continuous: the distribution of continuous actions, ``"tanh_normal"`` or ``"gaussian"``.
        rollout_length: steps of each environment between updates.
        sequence_length: steps in the sequences that are shuffled; ``None`` for single transitions,
            and for whole rollouts with ``recurrent``.
        epochs, minibatches: of each update; ``minibatches`` must divide the number of sequences.
        discount: of one step.
        trace: lambda of the advantages.
        clip: of the probability ratio.
        value_clip: of the critic's steps in an update, in its units: the spread of returns, or with
            ``normalise_values=False`` rewards, where 0.2 may be little; ``None`` for no clipping.
        entropy_coefficient: a number or a schedule over gradient steps.
        max_kl: where an update stops early; ``None`` for never.
        normalise_values: the critic learns targets in units of their own spread.
        learning_rate: of the policy's Adam, over gradient steps.
        critic_learning_rate: of the critic's; ``None`` for the same.
        max_gradient_norm: of the policy's gradients and of the critic's, each.

    Returns:
        A system; swap parts with ``with_``.

    Raises:
        ConfigurationError: a value that could not work.
    """
    system = ippo(
        environment,
        num_environments=num_environments,
        recurrent=recurrent,
        hidden_sizes=hidden_sizes,
        memory_size=memory_size,
        sharing=sharing,
        continuous=continuous,
        rollout_length=rollout_length,
        sequence_length=sequence_length,
        epochs=epochs,
        minibatches=minibatches,
        discount=discount,
        trace=trace,
        clip=clip,
        value_clip=value_clip,
        entropy_coefficient=entropy_coefficient,
        max_kl=max_kl,
        normalise_values=normalise_values,
        learning_rate=learning_rate,
        critic_learning_rate=critic_learning_rate,
        max_gradient_norm=max_gradient_norm,
    )
    seen = {"state": state, "own_observation": own_observation, "sharing": sharing}
    critic: Component
    if recurrent:
        widths = {"torso_sizes": hidden_sizes, "memory_size": memory_size}
        critic = RecurrentCentralValueNetwork(**widths, **seen)  # type: ignore[arg-type]
    else:
        critic = CentralValueNetwork(hidden_sizes=hidden_sizes, **seen)  # type: ignore[arg-type]
    system = system.with_(critic)
    if state != "observations":
        system = system.with_(RecordState(), after="record_transition")
    return dataclasses.replace(system, name="mappo")
