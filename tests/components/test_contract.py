"""Every component of Mava keeps the contract."""

from __future__ import annotations

import abc
import dataclasses
import importlib
import inspect
import pkgutil
from typing import Any

import pytest

import mava.components
from mava.components import observers
from mava.components.batches.burn_in import BurnIn
from mava.components.batches.generalised_advantage import GeneralisedAdvantage
from mava.components.batches.n_step import NStepReturn
from mava.components.batches.rewards import RewardClipping, RewardNormaliser, RewardScaling
from mava.components.batches.team_reward import TeamEpisode, TeamReward
from mava.components.buffers.replay import PrioritisedReplay, UniformReplay
from mava.components.buffers.rollout import Rollout
from mava.components.evaluators.evaluator import Evaluator
from mava.components.executors.executor import (
    Executor,
    RecordLegalActions,
    RecordMemory,
    RecordPolicy,
    RecordState,
    RecordTransition,
)
from mava.components.exploration.action_noise import GaussianNoise, OrnsteinUhlenbeckNoise
from mava.components.exploration.epsilon_greedy import EpsilonGreedy
from mava.components.exploration.gumbel_sampling import GumbelSampling
from mava.components.exploration.sample_action import SampleAction
from mava.components.losses.ddpg import DDPGActorLoss, DDPGCriticLoss
from mava.components.losses.hysteretic import HystereticMADQNLoss
from mava.components.losses.madqn import MADQNLoss
from mava.components.losses.ppo import PPOLoss, PPOValueLoss
from mava.components.losses.value_decomposition import ValueDecompositionLoss
from mava.components.networks.action_value_network import ActionValueNetwork
from mava.components.networks.actor_network import ActorNetwork
from mava.components.networks.agent_ids import AgentIds
from mava.components.networks.mixers import MonotonicMixer, SumMixer
from mava.components.networks.observation_normaliser import ObservationNormaliser
from mava.components.networks.policy_network import PolicyNetwork, RecurrentPolicyNetwork
from mava.components.networks.q_network import QNetwork
from mava.components.networks.recurrent_q_network import RecurrentQNetwork
from mava.components.networks.value_network import (
    CentralValueNetwork,
    RecurrentCentralValueNetwork,
    RecurrentValueNetwork,
    ValueNetwork,
)
from mava.components.stopping import StopAfter, StopOnReturn
from mava.components.trainers.epoch_trainer import EpochTrainer
from mava.components.trainers.trainer import (
    Adam,
    GradientNorm,
    HardTargetUpdate,
    SoftTargetUpdate,
    Trainer,
)
from mava.core.component import Component
from mava.functional.schedules import Linear
from mava.testing.component_contract import ComponentContract

COMPONENTS: list[Component] = [
    ActionValueNetwork(hidden_sizes=(4,), sharing="none", critics=2),
    ActorNetwork(hidden_sizes=(4,), sharing="none"),
    Adam(learning_rate=Linear(1e-3, 0.0, 10)),
    AgentIds(),
    BurnIn(steps=1),
    EpsilonGreedy(epsilon=Linear(1.0, 0.1, 3)),
    CentralValueNetwork(hidden_sizes=(4,), sharing="none", own_observation=True),
    DDPGActorLoss(),
    DDPGCriticLoss(target_noise=0.2),
    EpochTrainer(epochs=2, minibatches=2),
    Evaluator(episodes=2),
    Executor(num_environments=3),
    GaussianNoise(),
    GeneralisedAdvantage(),
    GradientNorm(),
    GumbelSampling(random_steps=1),
    HardTargetUpdate(period=2),
    HystereticMADQNLoss(beta=0.2, trains=("network",)),
    MADQNLoss(huber=1.0, trains=("network",)),
    MonotonicMixer(width=4, hypernetwork_sizes=(4,)),
    NStepReturn(discount=0.9),
    OrnsteinUhlenbeckNoise(),
    ObservationNormaliser(),
    PPOLoss(entropy_coefficient=Linear(0.1, 0.0, 10)),
    PPOValueLoss(huber=1.0),
    PolicyNetwork(hidden_sizes=(4,), sharing="none"),
    PrioritisedReplay(capacity=100, min_size=10, batch_size=4),
    QNetwork(hidden_sizes=(4,), sharing="none"),
    RecordLegalActions(),
    RecordMemory(),
    RecordPolicy(),
    RecordState(),
    RecordTransition(),
    RecurrentCentralValueNetwork(torso_sizes=(4,), memory_size=3, head_sizes=(4,)),
    RecurrentPolicyNetwork(torso_sizes=(4,), memory_size=3, head_sizes=(4,), sharing="none"),
    RecurrentQNetwork(torso_sizes=(4,), memory_size=3, head_sizes=(4,), sharing="none"),
    RewardClipping(),
    RewardNormaliser(),
    RewardScaling(scale=0.5),
    RecurrentValueNetwork(torso_sizes=(4,), memory_size=3, head_sizes=(), sharing="none"),
    Rollout(length=4),
    SampleAction(),
    SoftTargetUpdate(),
    StopAfter(seconds=5.0),
    SumMixer(),
    TeamEpisode(),
    TeamReward(),
    ValueDecompositionLoss(overestimate_weight=0.5, trains=("network",)),
    StopOnReturn(mean_return=1.0),
    Trainer(),
    ValueNetwork(hidden_sizes=(4,)),
    UniformReplay(capacity=100, min_size=10, batch_size=4),
    *(getattr(observers, name)() for name in observers.__all__),
]


def shipped() -> set[type[Component]]:
    """Every component class that a module of ``mava.components`` defines."""
    found = set()
    for module in pkgutil.walk_packages(mava.components.__path__, "mava.components."):
        for value in vars(importlib.import_module(module.name)).values():
            if (
                type(value) is abc.ABCMeta
                and issubclass(value, Component)
                and value.__module__ == module.name
            ):
                found.add(value)
    return {value for value in found if not inspect.isabstract(value)}


def test_every_component_is_in_the_table() -> None:
    assert {type(component) for component in COMPONENTS} == shipped()


def label(component: Any) -> str:
    """The name, and the fields that are not at their default."""
    fields = [
        f"{field.name}={value}"
        for field in dataclasses.fields(component)
        if (value := getattr(component, field.name)) != field.default
    ]
    return "-".join([component.name, *fields]).replace(" ", "")


class TestEveryComponent(ComponentContract):
    @pytest.fixture(autouse=True, params=COMPONENTS, ids=label)
    def _component(self, request: pytest.FixtureRequest) -> None:
        self.component = request.param
        self.recurrent = isinstance(request.param, BurnIn)

    def make_component(self) -> Any:
        return self.component
