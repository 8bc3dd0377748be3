"""MADDPG: actors of their own, critics that see everyone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from mava.components.batches.n_step import NStepReturn
from mava.components.buffers.replay import UniformReplay
from mava.components.evaluators.evaluator import Evaluator
from mava.components.executors.executor import (
    Executor,
    RecordLegalActions,
    RecordState,
    RecordTransition,
)
from mava.components.exploration.action_noise import GaussianNoise
from mava.components.losses.ddpg import DDPGActorLoss, DDPGCriticLoss
from mava.components.networks.action_value_network import ActionValueNetwork
from mava.components.networks.actor_network import ActorNetwork
from mava.components.networks.agent_ids import AgentIds
from mava.components.observers.standard import standard_observers
from mava.components.trainers.trainer import Adam, GradientNorm, SoftTargetUpdate, Trainer
from mava.core.component import Component
from mava.core.system import System
from mava.environments.factory import EnvironmentFactory, as_factory
from mava.functional.schedules import Schedule
from mava.types import AgentID


def maddpg(
    environment: str | Callable[..., Any] | EnvironmentFactory,
    *,
    num_environments: int = 1,
    hidden_sizes: tuple[int, ...] = (64, 64),
    sharing: str | Mapping[AgentID, Any] = "shared",
    centralised: bool = True,
    noise: float | Schedule = 0.1,
    random_steps: int = 1_000,
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
    """Multi-agent deep deterministic policy gradients (Lowe et al., 2017).

    Every agent acts on its own observation, ``mu_i(o_i)``, and learns from a critic of its own
    reward that sees what all agents of all groups observe and do, and the environment's global
    state where there is one: ``r_i + discount * Q'_i(o', mu'_1(o'_1), ..., mu'_N(o'_N))`` is the
    target of ``Q_i(o, a_1, ..., a_N)``. Actors climb ``Q_i(o, ..., mu_i(o_i), ...)``. Critics are
    not needed to act. Use it on continuous actions, and where agents have rewards of their own,
    cooperative or opposed; discrete actions go through a straight-through Gumbel-softmax (Jang et
    al., 2017), or, with ``choices="relaxed"`` in ``ddpg_actor_loss``, the softmax itself. With
    ``centralised=False`` it is DDPG (Lillicrap et al., 2016) of each agent alone.

    Args:
        environment: a name such as ``"mpe2/simple_tag_v3"``, or a callable that makes an
            environment. Continuous actions must have finite bounds.
        num_environments: environments stepped together.
        hidden_sizes: widths of actors and critics.
        sharing: ``"shared"`` (one actor and one critic per group, agent ids appended), ``"none"``,
            or a mapping from agent to set.
        centralised: whether critics see all agents, or only their own.
        noise: of exploration on continuous actions, 1 being half the distance between the bounds,
            over environment steps; discrete actions are sampled from the policy.
        random_steps: the first environment steps, in which actions are uniform.
        n_step: steps of reward before bootstrapping.
        discount: of one step.
        capacity, min_size, batch_size: of the replay buffer, in transitions of all environments.
        update_every, updates: trainer steps per environment steps.
        actor_learning_rate, critic_learning_rate: of Adam, over gradient steps.
        target_rate: the share of the way that targets move in a gradient step.

    Returns:
        A system; swap parts with ``with_``.

    Raises:
        ConfigurationError: a value that could not work.
    """
    components: list[Component] = [
        Executor(num_environments=num_environments),
        ActorNetwork(hidden_sizes=hidden_sizes, sharing=sharing),  # type: ignore[arg-type]
        ActionValueNetwork(
            hidden_sizes=hidden_sizes,
            sharing=sharing,  # type: ignore[arg-type]
            centralised=centralised,
        ),
        GaussianNoise(scale=noise, random_steps=random_steps),
        RecordTransition(),
        RecordState(),
        RecordLegalActions(),
        UniformReplay(capacity=capacity, min_size=min_size, batch_size=batch_size),
        NStepReturn(steps=n_step, discount=discount),
        DDPGCriticLoss(),
        DDPGActorLoss(),
        Adam(learning_rate=critic_learning_rate, optimises=("critic",)),
        Adam(learning_rate=actor_learning_rate, optimises=("actor",)),
        SoftTargetUpdate(rate=target_rate),
        GradientNorm(),
        Trainer(update_every=update_every, updates=updates),
        Evaluator(),
        *standard_observers(),
    ]
    if sharing != "none":
        components.insert(1, AgentIds())
    return System("maddpg", tuple(components), as_factory(environment))
