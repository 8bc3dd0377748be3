"""VDN: a team's value as the sum of its agents' values."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

from mava.components.batches.team_reward import TeamEpisode, TeamReward
from mava.components.buffers.replay import PrioritisedReplay, UniformReplay
from mava.components.losses.value_decomposition import ValueDecompositionLoss
from mava.components.networks.mixers import SumMixer
from mava.components.trainers.trainer import HardTargetUpdate, SoftTargetUpdate
from mava.core.system import System
from mava.environments.factory import EnvironmentFactory
from mava.errors import ConfigurationError
from mava.functional.schedules import Linear, Schedule
from mava.systems.madqn import madqn
from mava.systems.rec_iql import rec_iql
from mava.types import AgentID


def vdn(
    environment: str | Callable[..., Any] | EnvironmentFactory,
    *,
    recurrent: bool = False,
    team_reward: str = "mean",
    num_environments: int = 1,
    hidden_sizes: tuple[int, ...] = (64, 64),
    memory_size: int = 64,
    sharing: str | Mapping[AgentID, Any] = "shared",
    epsilon: float | Schedule = Linear(1.0, 0.05, 50_000),
    n_step: int = 1,
    discount: float = 0.99,
    prioritised: bool = False,
    capacity: int = 100_000,
    min_size: int = 1_000,
    batch_size: int | None = None,
    sequence_length: int = 20,
    period: int = 10,
    burn_in: int = 0,
    update_every: int = 10,
    updates: int = 1,
    learning_rate: float | Schedule = 5e-4,
    target_period: int | None = None,
    target_rate: float | None = None,
) -> System:
    """Value-decomposition networks (Sunehag et al., 2018), with double Q-learning (van Hasselt et
    al., 2016).

    The team's value is the sum of values that the agents learn of their own observations and
    actions, ``Q_tot = sum_i Q_i(o_i, a_i)``, from the team's reward: the target is ``r + discount *
    Q'_tot`` of the actions that each agent's own ``Q_i`` likes best. Every agent learns what it
    adds, and acts alone. Use it for one team with a common goal; where the best actions of agents
    depend on each other in ways that no sum can express, QMIX can do better.

    Args:
        environment: a name such as ``"mpe2/simple_spread_v3"``, or a callable that makes an
            environment.
        recurrent: agents have memory and are trained on sequences, as in recurrent IQL.
        team_reward: ``"mean"`` or ``"sum"`` over agents. Opposed rewards are refused, unless
            ``replace("team_reward", opposed="allow")`` asks for them.
        num_environments: environments stepped together.
        hidden_sizes: widths of the Q-network; with memory, of its torso.
        memory_size: width of the GRU, with memory.
        sharing: ``"shared"`` (one network per group, agent ids appended), ``"none"``, or a mapping
            from agent to set.
        epsilon: of exploration, over environment steps.
        n_step: steps of reward before bootstrapping; 1 with memory.
        discount: of one step.
        prioritised: samples by priority (Schaul et al., 2016).
        capacity, min_size: of the replay buffer, in transitions of all environments.
        batch_size: transitions, or sequences with memory; ``None`` for 128 or 32.
        sequence_length, period: with memory, transitions in a sequence, and between the starts of
            two.
        burn_in: with memory, transitions before each sequence that bring it up to date and are not
            trained on; 0 for none.
        update_every, updates: trainer steps per environment steps.
        learning_rate: of Adam, over gradient steps.
        target_period: gradient steps between copies to the targets.
        target_rate: the share of the way that targets move in a gradient step, in place of copies.
            Where neither is given targets are copied every 200 steps, and follow at a rate of 0.005
            with memory.

    Returns:
        A system; swap parts with ``with_``.

    Raises:
        ConfigurationError: a value that could not work; ``burn_in`` without memory, or both ways of
            moving targets.
    """
    if burn_in and not recurrent:
        raise ConfigurationError(
            f"burn_in is {burn_in}, but there is no memory to bring up to date; set "
            f"recurrent=True, or burn_in to 0"
        )
    if target_period is not None and target_rate is not None:
        raise ConfigurationError(
            f"target_period is {target_period} and target_rate {target_rate}; targets are copied "
            f"or follow at a rate, so give one of them"
        )
    shared: dict[str, Any] = {
        "num_environments": num_environments,
        "sharing": sharing,
        "epsilon": epsilon,
        "discount": discount,
        "update_every": update_every,
        "updates": updates,
        "learning_rate": learning_rate,
    }
    if recurrent:
        system = rec_iql(
            environment,
            torso_sizes=hidden_sizes,
            memory_size=memory_size,
            burn_in=burn_in,
            **shared,
        ).replace("n_step_return", steps=n_step)
    else:
        system = madqn(environment, hidden_sizes=hidden_sizes, n_step=n_step, **shared)
    replay = (PrioritisedReplay if prioritised else UniformReplay)(
        capacity=capacity,
        min_size=min_size,
        batch_size=(32 if recurrent else 128) if batch_size is None else batch_size,
        sequence_length=sequence_length if recurrent else 1,
        period=period if recurrent else 1,
    )
    system = system.with_(
        TeamReward(kind=team_reward), TeamEpisode(), before="n_step_return"
    ).with_(replay, ValueDecompositionLoss())
    system = system.with_(SumMixer(), before=ValueDecompositionLoss)
    if target_period is not None:
        system = system.with_(HardTargetUpdate(period=target_period))
    if target_rate is not None:
        system = system.with_(SoftTargetUpdate(rate=target_rate))
    return dataclasses.replace(system, name="vdn")
