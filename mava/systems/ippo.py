"""IPPO: independent proximal policy optimisation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from mava.components.batches.generalised_advantage import GeneralisedAdvantage
from mava.components.buffers.rollout import Rollout
from mava.components.evaluators.evaluator import Evaluator
from mava.components.executors.executor import (
    Executor,
    RecordLegalActions,
    RecordMemory,
    RecordPolicy,
    RecordTransition,
)
from mava.components.exploration.sample_action import SampleAction
from mava.components.losses.ppo import PPOLoss, PPOValueLoss
from mava.components.networks.agent_ids import AgentIds
from mava.components.networks.policy_network import PolicyNetwork, RecurrentPolicyNetwork
from mava.components.networks.value_network import RecurrentValueNetwork, ValueNetwork
from mava.components.observers.standard import standard_observers
from mava.components.trainers.epoch_trainer import EpochTrainer
from mava.components.trainers.trainer import Adam, GradientNorm
from mava.core.component import Component
from mava.core.system import System
from mava.environments.factory import EnvironmentFactory, as_factory
from mava.functional.schedules import Schedule
from mava.types import AgentID


def ippo(
    environment: str | Callable[..., Any] | EnvironmentFactory,
    *,
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
    """Independent PPO (Schulman et al., 2017; de Witt et al., 2020): every agent has a policy and a
    critic of its own observation, and learns from its own reward as if the others were part of the
    environment.

    A rollout of all environments is used for ``epochs`` of ``minibatches`` gradient steps of
    ``-min(ratio * A, clip(ratio) * A) - entropy_coefficient * H`` and of the squared error of the
    critic, and then thrown away. Advantages are generalised (Schulman et al., 2016). Use it on any
    kind of actions, where environment steps are cheap; where a team must be told apart from its
    luck, MAPPO's central critic does better.

    Args:
        environment: a name such as ``"mpe2/simple_spread_v3"``, or a callable that makes an
            environment.
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
    rates = {
        "policy": learning_rate,
        "critic": learning_rate if critic_learning_rate is None else critic_learning_rate,
    }
    networks: list[Component]
    if recurrent:
        wide = {"torso_sizes": hidden_sizes, "memory_size": memory_size, "sharing": sharing}
        networks = [RecurrentPolicyNetwork(**wide), RecurrentValueNetwork(**wide), RecordMemory()]  # type: ignore[arg-type]
    else:
        plain = {"hidden_sizes": hidden_sizes, "sharing": sharing}
        networks = [PolicyNetwork(**plain), ValueNetwork(**plain)]  # type: ignore[arg-type]
    components: list[Component] = [
        Executor(num_environments=num_environments),
        *networks,
        SampleAction(continuous=continuous),
        RecordTransition(),
        RecordLegalActions(),
        RecordPolicy(),
        Rollout(length=rollout_length),
        GeneralisedAdvantage(discount=discount, trace=trace, normalise_values=normalise_values),
        PPOLoss(clip=clip, entropy_coefficient=entropy_coefficient),
        PPOValueLoss(clip=value_clip),
        *(
            Adam(
                learning_rate=rate,
                max_gradient_norm=max_gradient_norm,
                epsilon=1e-5,
                optimises=(name,),
            )
            for name, rate in rates.items()
        ),
        GradientNorm(),
        EpochTrainer(
            epochs=epochs,
            minibatches=minibatches,
            sequence_length=sequence_length,
            max_kl=max_kl,
        ),
        Evaluator(),
        *standard_observers(),
    ]
    if sharing != "none":
        components.insert(1, AgentIds())
    return System("ippo", tuple(components), as_factory(environment))
