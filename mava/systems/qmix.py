"""QMIX: a team's value that rises with its agents' values."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

from mava.components.executors.executor import RecordState
from mava.components.networks.mixers import MonotonicMixer
from mava.core.system import System
from mava.environments.factory import EnvironmentFactory
from mava.functional.schedules import Linear, Schedule
from mava.systems.vdn import vdn
from mava.types import AgentID


def qmix(
    environment: str | Callable[..., Any] | EnvironmentFactory,
    *,
    mixer_width: int = 32,
    hypernetwork_sizes: tuple[int, ...] = (64,),
    state: str = "auto",
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
    """QMIX (Rashid et al., 2018), with double Q-learning (van Hasselt et al., 2016).

    VDN with another mixer: the team's value is a network of the agents' values, ``Q_tot = f(Q_1,
    ..., Q_n; s)``, whose weights hypernetworks make from the global state ``s``. They are never
    negative, so ``Q_tot`` rises with each ``Q_i``, and the actions that each agent likes best are
    the team's best. The target is ``r + discount * Q'_tot`` of those. Use it for one team with a
    common goal; it represents every payoff that is monotonic in what each agent does.

    Args:
        environment: a name such as ``"mpe2/simple_spread_v3"``, or a callable that makes an
            environment.
        mixer_width: hidden units of the mixer.
        hypernetwork_sizes: widths of the hidden layers of its hypernetworks.
        state: what the mixer takes for the global state: ``"environment"``, the environment's own;
            ``"observations"``, those of all agents joined; ``"auto"``, the environment's where it
            has one.
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
    system = vdn(
        environment,
        recurrent=recurrent,
        team_reward=team_reward,
        num_environments=num_environments,
        hidden_sizes=hidden_sizes,
        memory_size=memory_size,
        sharing=sharing,
        epsilon=epsilon,
        n_step=n_step,
        discount=discount,
        prioritised=prioritised,
        capacity=capacity,
        min_size=min_size,
        batch_size=batch_size,
        sequence_length=sequence_length,
        period=period,
        burn_in=burn_in,
        update_every=update_every,
        updates=updates,
        learning_rate=learning_rate,
        target_period=target_period,
        target_rate=target_rate,
    )
    mixer = MonotonicMixer(width=mixer_width, hypernetwork_sizes=hypernetwork_sizes, state=state)
    system = system.with_(mixer)
    if state != "observations":
        system = system.with_(RecordState(), after="record_transition")
    return dataclasses.replace(system, name="qmix")
