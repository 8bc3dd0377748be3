"""Recurrent MADQN: independent deep Q-learning from prioritised sequences."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

from mava.components.trainers.trainer import HardTargetUpdate
from mava.core.system import System
from mava.environments.factory import EnvironmentFactory
from mava.functional.schedules import Linear, Schedule
from mava.systems.rec_iql import rec_iql
from mava.types import AgentID


def rec_madqn(
    environment: str | Callable[..., Any] | EnvironmentFactory,
    *,
    num_environments: int = 1,
    torso_sizes: tuple[int, ...] = (128,),
    memory_size: int = 64,
    head_sizes: tuple[int, ...] = (64,),
    sharing: str | Mapping[AgentID, Any] = "shared",
    epsilon: float | Schedule = Linear(1.0, 0.05, 50_000),
    discount: float = 0.99,
    prioritised: bool = True,
    capacity: int = 100_000,
    min_size: int = 1_000,
    batch_size: int = 32,
    sequence_length: int = 20,
    period: int = 10,
    burn_in: int = 10,
    stored_memory: bool = True,
    update_every: int = 16,
    updates: int = 1,
    learning_rate: float | Schedule = 5e-4,
    target_period: int = 200,
) -> System:
    """MADQN with memory, trained as R2D2 is (Kapturowski et al., 2019): every agent learns alone.

    The same loss and network as ``rec_iql``. It differs in what it trains on: sequences drawn by
    priority, 0.9 of their largest temporal-difference error and 0.1 of their mean, each with the
    memory it was acted with, which a burn-in first brings up to date; and targets are copied
    instead of following softly. Use it where rewards are rare enough that some sequences teach
    much more than others. R2D2's rescaling of values and returns over several steps are left out.

    Args:
        environment: a name such as ``"mpe2/simple_speaker_listener_v4"``, or a callable that makes
            an environment.
        num_environments: environments stepped together.
        torso_sizes, memory_size, head_sizes: widths before, of and after the GRU.
        sharing: ``"shared"`` (one network per group, agent ids appended), ``"none"``, or a mapping
            from agent to set.
        epsilon: of exploration, over environment steps.
        discount: of one step.
        prioritised: samples sequences by priority; else uniformly.
        capacity, min_size: of the buffer, in transitions of all environments.
        batch_size: sequences in a batch.
        sequence_length, period: transitions in a sequence, and between the starts of two.
        burn_in: transitions before each sequence that bring memory up to date and are not trained
            on; 0 for none.
        stored_memory: sequences begin with the memory they were acted with; else with that of an
            episode's start.
        update_every, updates: trainer steps per environment steps.
        learning_rate: of Adam, over gradient steps.
        target_period: gradient steps between copies to the target network.

    Returns:
        A system; swap parts with ``with_``.

    Raises:
        ConfigurationError: a value that could not work.
    """
    system = rec_iql(
        environment,
        num_environments=num_environments,
        torso_sizes=torso_sizes,
        memory_size=memory_size,
        head_sizes=head_sizes,
        sharing=sharing,
        epsilon=epsilon,
        discount=discount,
        prioritised=prioritised,
        capacity=capacity,
        min_size=min_size,
        batch_size=batch_size,
        sequence_length=sequence_length,
        period=period,
        burn_in=burn_in,
        stored_memory=stored_memory,
        update_every=update_every,
        updates=updates,
        learning_rate=learning_rate,
    )
    system = system.with_(HardTargetUpdate(period=target_period))
    system = system.replace("madqn_loss", max_priority_share=0.9)
    return dataclasses.replace(system, name="rec_madqn")
