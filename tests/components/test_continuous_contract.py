"""Components of continuous actions keep the contract on them too."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pytest

from mava.components.exploration.action_noise import GaussianNoise, OrnsteinUhlenbeckNoise
from mava.components.losses.ddpg import DDPGActorLoss, DDPGCriticLoss
from mava.components.networks.action_value_network import ActionValueNetwork
from mava.components.networks.actor_network import ActorNetwork
from mava.core.component import Component
from mava.functional.actions import code_size
from mava.functional.schedules import Linear
from mava.testing import builders
from mava.testing.component_contract import ComponentContract
from mava.types import ContinuousActions, GroupSpec

MATRIX = ContinuousActions((2, 2), (-1.0, 0.0, -3.0, 5.0), (1.0, 4.0, -1.0, 6.0))
SPECS = {
    "two_groups": builders.environment_spec(
        builders.group_spec(1, (2,), builders.BOX, "scouts"),
        builders.group_spec(2, (3,), MATRIX, "carriers"),
    ),
    "mixed": builders.environment_spec(
        builders.group_spec(2, (2,), builders.BOX, "scouts"),
        builders.group_spec(2, (3,), 3, "carriers"),
        state=4,
    ),
}
COMPONENTS: list[Component] = [
    ActionValueNetwork(hidden_sizes=(4,)),
    ActionValueNetwork(hidden_sizes=(4,), sharing="none", centralised=False),
    ActorNetwork(hidden_sizes=(4,)),
    DDPGActorLoss(others="policy"),
    DDPGCriticLoss(target_noise=0.2),
    GaussianNoise(scale=Linear(1.0, 0.1, 10), random_steps=1),
    OrnsteinUhlenbeckNoise(),
]


def label(component: Any) -> str:
    return f"{component.name}-{COMPONENTS.index(component)}"


@pytest.mark.slow
class TestContinuous(ComponentContract):
    specs: ClassVar[Any] = SPECS

    @pytest.fixture(autouse=True, params=COMPONENTS, ids=label)
    def _component(self, request: pytest.FixtureRequest) -> None:
        self.component = request.param

    def make_component(self) -> Any:
        return self.component

    def make_scores(self, group: GroupSpec, rng: np.random.Generator, *leading: int) -> np.ndarray:
        return rng.normal(size=(*leading, code_size(group.actions))).astype(np.float32)
