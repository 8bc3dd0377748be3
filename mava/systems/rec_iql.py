"""Recurrent IQL: independent Q-learning with memory."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

from mava.components.batches.burn_in import BurnIn
from mava.components.buffers.replay import PrioritisedReplay, UniformReplay
from mava.components.executors.executor import RecordMemory
from mava.components.networks.recurrent_q_network import RecurrentQNetwork
from mava.components.trainers.trainer import SoftTargetUpdate
from mava.core.system import System
from mava.environments.factory import EnvironmentFactory
from mava.functional.schedules import Linear, Schedule
from mava.systems.madqn import madqn
from mava.types import AgentID


def rec_iql(
    environment: str | Callable[..., Any] | EnvironmentFactory,
    *,
    num_environments: int = 1,
    torso_sizes: tuple[int, ...] = (128,),
    memory_size: int = 64,
    head_sizes: tuple[int, ...] = (64,),
    sharing: str | Mapping[AgentID, Any] = "shared",
    epsilon: float | Schedule = Linear(1.0, 0.05, 50_000),
    discount: float = 0.99,
    capacity: int = 100_000,
    min_size: int = 1_000,
    batch_size: int = 32,
    sequence_length: int = 20,
    period: int = 10,
    burn_in: int = 0,
    stored_memory: bool = True,
    prioritised: bool = False,
    update_every: int = 16,
    updates: int = 1,
    learning_rate: float | Schedule = 5e-4,
    target_rate: float = 0.005,
) -> System:
    """Independent deep Q-learning over sequences, with a GRU (Hausknecht and Stone, 2015; Tan,
    1993) and double Q-learning (van Hasselt et al., 2016).

    MADQN with a recurrent network, sequences in the buffer that begin with the memory they were
    acted with (Kapturowski et al., 2019), and a target that follows softly. Memory is reset at the
    start of each episode, while acting and inside sequences alike; the value of a step's outcome
    comes from the memory after the step, also where an episode was cut. Use it where one
    observation does not tell enough.

    Args:
        environment: a name such as ``"mpe2/simple_speaker_listener_v4"``, or a callable that makes
            an environment.
        num_environments: environments stepped together.
        torso_sizes, memory_size, head_sizes: widths before, of and after the GRU.
        sharing: ``"shared"`` (one network per group, agent ids appended), ``"none"``, or a mapping
            from agent to set.
        epsilon: of exploration, over environment steps.
        discount: of one step.
        capacity, min_size: of the buffer, in transitions of all environments.
        batch_size: sequences in a batch.
        sequence_length, period: transitions in a sequence, and between the starts of two.
        burn_in: transitions before each sequence that bring memory up to date and are not trained
            on; 0 for none.
        stored_memory: sequences begin with the memory they were acted with; else with that of an
            episode's start, and nothing is stored.
        prioritised: samples sequences by priority (Schaul et al., 2016).
        update_every, updates: trainer steps per environment steps.
        learning_rate: of Adam, over gradient steps.
        target_rate: the share of the way that targets move in a gradient step.

    Returns:
        A system; swap parts with ``with_``.

    Raises:
        ConfigurationError: a value that could not work.
    """
    feed_forward = madqn(
        environment,
        num_environments=num_environments,
        sharing=sharing,
        epsilon=epsilon,
        discount=discount,
        update_every=update_every,
        updates=updates,
        learning_rate=learning_rate,
    )
    network = RecurrentQNetwork(
        torso_sizes=torso_sizes,
        memory_size=memory_size,
        head_sizes=head_sizes,
        sharing=sharing,  # type: ignore[arg-type]
    )
    replay = (PrioritisedReplay if prioritised else UniformReplay)(
        capacity=capacity,
        min_size=min_size,
        batch_size=batch_size,
        sequence_length=sequence_length,
        period=period,
    )
    system = feed_forward.with_(network, replay, SoftTargetUpdate(rate=target_rate))
    if stored_memory:
        system = system.with_(RecordMemory(), after="record_transition")
    if burn_in:
        system = system.with_(BurnIn(steps=burn_in), after="n_step_return")
    return dataclasses.replace(system, name="rec_iql")
