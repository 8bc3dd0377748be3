"""MATD3: MADDPG with two critics, smoothed targets and delayed actors."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

from mava.components.losses.ddpg import DDPGCriticLoss
from mava.components.networks.action_value_network import ActionValueNetwork
from mava.components.trainers.trainer import Adam, SoftTargetUpdate
from mava.core.system import System
from mava.environments.factory import EnvironmentFactory
from mava.functional.schedules import Schedule
from mava.systems.maddpg import maddpg
from mava.types import AgentID


def matd3(
    environment: str | Callable[..., Any] | EnvironmentFactory,
    *,
    num_environments: int = 1,
    hidden_sizes: tuple[int, ...] = (64, 64),
    sharing: str | Mapping[AgentID, Any] = "shared",
    centralised: bool = True,
    noise: float | Schedule = 0.1,
    random_steps: int = 1_000,
    target_noise: float = 0.2,
    target_noise_clip: float = 0.5,
    actor_every: int = 2,
    n_step: int = 1,
    discount: float = 0.99,
    capacity: int = 100_000,
    min_size: int = 1_000,
    batch_size: int = 128,
    update_every: int = 10,
    updates: int = 1,
    actor_learning_rate: float | Schedule = 1e-3,
    critic_learning_rate: float | Schedule = 1e-3,
    target_rate: float = 0.01,
) -> System:
    """Multi-agent TD3 (Ackermann et al., 2019; Fujimoto et al., 2018).

    MADDPG with three remedies for values that are too high. Each agent has two critics, and the
    smaller of their target values counts: ``r_i + discount * min_k Q'_ik(o', a')``. The target
    actions ``a'`` are those of the target policies and clipped noise. Actors and targets move once
    in ``actor_every`` gradient steps. With ``centralised=False`` it is TD3 of each agent alone.

    Args:
        target_noise, target_noise_clip: of the target policies' actions, 1 being half the distance
            between the bounds; choices among discrete actions are sampled instead.
        actor_every: gradient steps between those of actors and targets; schedules of
            ``actor_learning_rate`` count the actors' own.
        environment, num_environments, hidden_sizes, sharing, centralised, noise, random_steps,
            n_step, discount, capacity, min_size, batch_size, update_every, updates,
            actor_learning_rate, critic_learning_rate, target_rate: as in ``maddpg``.

    Returns:
        A system; swap parts with ``with_``.

    Raises:
        ConfigurationError: a value that could not work.
    """
    system = maddpg(
        environment,
        num_environments=num_environments,
        hidden_sizes=hidden_sizes,
        sharing=sharing,
        noise=noise,
        random_steps=random_steps,
        n_step=n_step,
        discount=discount,
        capacity=capacity,
        min_size=min_size,
        batch_size=batch_size,
        update_every=update_every,
        updates=updates,
        critic_learning_rate=critic_learning_rate,
    )
    system = system.with_(
        ActionValueNetwork(
            hidden_sizes=hidden_sizes,
            sharing=sharing,  # type: ignore[arg-type]
            centralised=centralised,
            critics=2,
        ),
        DDPGCriticLoss(target_noise=target_noise, target_noise_clip=target_noise_clip),
        Adam(learning_rate=actor_learning_rate, optimises=("actor",), every=actor_every),
        SoftTargetUpdate(rate=target_rate, every=actor_every),
    )
    return dataclasses.replace(system, name="matd3")
