"""MADQN: independent deep Q-learning."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from mava.components.batches.n_step import NStepReturn
from mava.components.buffers.replay import PrioritisedReplay, UniformReplay
from mava.components.evaluators.evaluator import Evaluator
from mava.components.executors.executor import Executor, RecordTransition
from mava.components.exploration.epsilon_greedy import EpsilonGreedy
from mava.components.losses.madqn import MADQNLoss
from mava.components.networks.agent_ids import AgentIds
from mava.components.networks.q_network import QNetwork
from mava.components.observers.standard import standard_observers
from mava.components.trainers.trainer import Adam, GradientNorm, HardTargetUpdate, Trainer
from mava.core.component import Component
from mava.core.system import System
from mava.environments.factory import EnvironmentFactory, as_factory
from mava.functional.schedules import Linear, Schedule
from mava.types import AgentID


def madqn(
    environment: str | Callable[..., Any] | EnvironmentFactory,
    *,
    num_environments: int = 1,
    hidden_sizes: tuple[int, ...] = (64, 64),
    sharing: str | Mapping[AgentID, Any] = "shared",
    epsilon: float | Schedule = Linear(1.0, 0.05, 50_000),
    n_step: int = 1,
    discount: float = 0.99,
    prioritised: bool = False,
    capacity: int = 100_000,
    min_size: int = 1_000,
    batch_size: int = 128,
    update_every: int = 10,
    updates: int = 1,
    learning_rate: float | Schedule = 5e-4,
    target_period: int = 200,
) -> System:
    """Independent deep Q-learning (Tan, 1993; Mnih et al., 2015), with double Q-learning (van
    Hasselt et al., 2016).

    Every agent learns Q-values of its own observation and action from its own reward, as if the
    others were part of the environment: ``r + discount * Q'(o', argmax_a Q(o', a))`` is the target
    of ``Q(o, a)``. Use it as the first system to try, on discrete actions and observations that
    show what matters; where one team reward must be divided, value decomposition does better.

    Args:
        environment: a name such as ``"mpe2/simple_spread_v3"``, or a callable that makes an
            environment.
        num_environments: environments stepped together.
        hidden_sizes: widths of the Q-network.
        sharing: ``"shared"`` (one network per group, agent ids appended), ``"none"``, or a mapping
            from agent to set.
        epsilon: of exploration, over environment steps.
        n_step: steps of reward before bootstrapping.
        discount: of one step.
        prioritised: samples by priority (Schaul et al., 2016).
        capacity, min_size, batch_size: of the replay buffer, in transitions of all environments.
        update_every, updates: trainer steps per environment steps.
        learning_rate: of Adam, over gradient steps.
        target_period: gradient steps between copies to the target network.

    Returns:
        A system; swap parts with ``with_``.

    Raises:
        ConfigurationError: a value that could not work.
    """
    replay = PrioritisedReplay if prioritised else UniformReplay
    components: list[Component] = [
        Executor(num_environments=num_environments),
        QNetwork(hidden_sizes=hidden_sizes, sharing=sharing),  # type: ignore[arg-type]
        EpsilonGreedy(epsilon=epsilon),
        RecordTransition(),
        replay(capacity=capacity, min_size=min_size, batch_size=batch_size),
        NStepReturn(steps=n_step, discount=discount),
        MADQNLoss(),
        Adam(learning_rate=learning_rate),
        HardTargetUpdate(period=target_period),
        GradientNorm(),
        Trainer(update_every=update_every, updates=updates),
        Evaluator(),
        *standard_observers(),
    ]
    if sharing != "none":
        components.insert(1, AgentIds())
    return System("madqn", tuple(components), as_factory(environment))
