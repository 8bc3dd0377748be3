"""Small systems, one for each kind of component that the core must carry."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mava.components.batches.n_step import NStepReturn
from mava.components.batches.team_reward import TeamEpisode, TeamReward
from mava.components.buffers.replay import PrioritisedReplay, UniformReplay
from mava.components.buffers.rollout import Rollout
from mava.components.executors.executor import (
    Executor,
    RecordLegalActions,
    RecordMemory,
    RecordPolicy,
    RecordState,
    RecordTransition,
)
from mava.components.exploration.epsilon_greedy import EpsilonGreedy
from mava.components.exploration.sample_action import SampleAction
from mava.components.losses.madqn import MADQNLoss
from mava.components.losses.value_decomposition import ValueDecompositionLoss
from mava.components.networks.agent_ids import AgentIds
from mava.components.networks.mixers import MonotonicMixer
from mava.components.networks.observation_normaliser import ObservationNormaliser
from mava.components.networks.q_network import QNetwork
from mava.components.trainers.epoch_trainer import EpochTrainer
from mava.components.trainers.trainer import Adam, HardTargetUpdate, SoftTargetUpdate, Trainer
from mava.core.component import Component
from mava.core.system import System
from mava.environments import as_factory
from mava.functional.schedules import Linear
from mava.testing import group_probes, probes
from mava.testing.components import (
    TanhCritic,
    TanhNetwork,
)
from mava.testing.policy_gradient import (
    Advantage,
    CorrelatedGaussian,
    PolicyLoss,
    ValueLoss,
)

Environment = str | Callable[..., Any]


def q_learning(environment: Environment, *components: Component) -> System:
    """Independent Q-learning in two environments, trained every 2 steps from step 8 on."""
    parts = (
        Executor(num_environments=2),
        QNetwork(hidden_sizes=(4,)),
        EpsilonGreedy(epsilon=Linear(1.0, 0.1, 20)),
        RecordTransition(),
        UniformReplay(capacity=64, min_size=8, batch_size=4),
        NStepReturn(discount=0.9),
        MADQNLoss(),
        Adam(learning_rate=0.01),
        HardTargetUpdate(period=2),
        Trainer(update_every=2),
    )
    return System("q_learning", parts, as_factory(environment)).with_(*components)


def actor_critic(environment: Environment, *components: Component) -> System:
    """A recurrent actor and a recurrent critic, with a loss and an optimiser each, on policy."""
    parts = (
        Executor(num_environments=4),
        TanhNetwork(width=4),
        TanhCritic(width=4),
        SampleAction(),
        RecordTransition(),
        RecordMemory(),
        RecordLegalActions(),
        RecordPolicy(),
        Rollout(length=4),
        Advantage(),
        PolicyLoss(),
        ValueLoss(),
        Adam(learning_rate=0.01, optimises=("network",)),
        Adam(learning_rate=0.02, optimises=("critic",)),
        EpochTrainer(epochs=2, minibatches=2),
    )
    return System("actor_critic", parts, as_factory(environment)).with_(*components)


def recurrent() -> System:
    """Q-learning with memory, from prioritised sequences that run across the ends of episodes; its
    targets move at every step."""
    return q_learning(
        probes.HiddenCue,
        TanhNetwork(width=4),
        RecordMemory(),
        PrioritisedReplay(capacity=64, min_size=14, batch_size=4, sequence_length=6),
        MADQNLoss(trains=("network",)),
        SoftTargetUpdate(rate=0.1),
    )


def mixing() -> System:
    """A team's value, mixed by the global state, from networks that the agents do not share; two
    steps of reward."""
    own = QNetwork(hidden_sizes=(4,), sharing=(("agent_0", "a"), ("agent_1", "b")))
    steps = NStepReturn(steps=2, discount=0.9)
    mixer = MonotonicMixer(width=3, hypernetwork_sizes=(4,))
    parts = (own, RecordState(), steps, mixer, ValueDecompositionLoss())
    system = q_learning("matrix/two_step", *parts)
    return system.with_(TeamReward(), TeamEpisode(), before="n_step_return")


def normalised() -> System:
    """Two groups of other sizes; statistics kept by the trainer and used while acting, in a chain
    before agent ids."""
    ids: tuple[Component, ...] = (ObservationNormaliser(), AgentIds())
    parts = q_learning(group_probes.TwoGroups).components
    return System("normalised", (*ids, *parts), as_factory(group_probes.TwoGroups))


MAPPING = (("agent_0", "a"), ("agent_1", "b"), ("agent_2", "a"))

SMALL_SYSTEMS: dict[str, Callable[[], System]] = {
    "feed_forward": lambda: q_learning("matrix/climbing", AgentIds()),
    "recurrent": recurrent,
    "mixing": mixing,
    "normalised": normalised,
    "two_groups": lambda: q_learning(group_probes.TwoGroups),
    "images": lambda: q_learning(probes.ImageCue),
    "own_parameters": lambda: q_learning(
        probes.OwnActionDecides, QNetwork(hidden_sizes=(4,), sharing="none")
    ),
    "mapped_parameters": lambda: q_learning(
        probes.OwnActionDecides, QNetwork(hidden_sizes=(4,), sharing=MAPPING)
    ),
    "actor_critic": lambda: actor_critic("matrix/climbing", RecordState()),
    "continuous": lambda: actor_critic(probes.ContinuousTarget, CorrelatedGaussian()),
}
"""By what each of them is there to show."""
