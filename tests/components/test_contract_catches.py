"""The contract for components fails where a component breaks it."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mava.components.batches.n_step import NStepReturn
from mava.components.exploration.epsilon_greedy import EpsilonGreedy
from mava.components.losses.madqn import MADQNLoss
from mava.components.networks.agent_ids import AgentIds
from mava.core.contexts import LossOutput, Selection
from mava.testing.component_contract import ComponentContract
from mava.types import ArraySpec


@dataclasses.dataclass(frozen=True)
class Remembers(AgentIds):
    def transform_observation(self, observation: Any, context: Any) -> Any:
        object.__setattr__(self, "calls", vars(self).get("calls", 0) + 1)
        shown = super().transform_observation(observation, context)
        return shown + jnp.asarray(vars(self)["calls"], shown.dtype)


@dataclasses.dataclass(frozen=True)
class BreaksItsPromise(AgentIds):
    def transformed(self, group: Any) -> ArraySpec:
        return group.observation


@dataclasses.dataclass(frozen=True)
class DrawsWhenGreedy(EpsilonGreedy):
    def select_action(self, scores: Any, legal_actions: Any, memory: Any, context: Any) -> Any:
        explore = dataclasses.replace(context, explore=True)
        return super().select_action(scores, legal_actions, memory, explore)


@dataclasses.dataclass(frozen=True)
class ForgetsTheMask(EpsilonGreedy):
    def select_action(self, scores: Any, legal_actions: Any, memory: Any, context: Any) -> Any:
        return Selection(jnp.argmax(scores, -1).astype(jnp.int32), {}), memory


@dataclasses.dataclass(frozen=True)
class OwnKey(EpsilonGreedy):
    def select_action(self, scores: Any, legal_actions: Any, memory: Any, context: Any) -> Any:
        fixed = dataclasses.replace(context, key=jax.random.key(0))
        return super().select_action(scores, legal_actions, memory, fixed)


@dataclasses.dataclass(frozen=True)
class GlobalRandomness(EpsilonGreedy):
    def select_action(self, scores: Any, legal_actions: Any, memory: Any, context: Any) -> Any:
        noise = jnp.asarray(np.random.normal(), scores.dtype)  # noqa: NPY002
        return super().select_action(scores * noise, legal_actions, memory, context)


@dataclasses.dataclass(frozen=True)
class DriftingStatistics(NStepReturn):
    def init_state(self, spec: Any) -> Any:
        return jnp.full((), 1.0)  # weakly typed

    def prepare_batch(self, batch: Any, state: Any, params: Any, context: Any) -> Any:
        batch, _ = super().prepare_batch(batch, state, params, context)
        return batch, state * jnp.asarray(0.9, jnp.float32)


@dataclasses.dataclass(frozen=True)
class GrowingStatistics(NStepReturn):
    def init_state(self, spec: Any) -> Any:
        return jnp.zeros(1)

    def prepare_batch(self, batch: Any, state: Any, params: Any, context: Any) -> Any:
        batch, _ = super().prepare_batch(batch, state, params, context)
        return batch, jnp.concatenate([state, state])


@dataclasses.dataclass(frozen=True)
class MixesTheBatch(MADQNLoss):
    def loss(self, params: Any, batch: Any, context: Any) -> LossOutput:
        output = super().loss(params, batch, context)
        integers = batch["action"][context.spec.group_names[0]]
        return output._replace(loss=output.loss + (integers * jnp.ones(())).sum())


BROKEN = [
    (Remembers(), "test_it_reads_and_writes_no_global_state", "another thing|outside its fields"),
    (Remembers(), "test_it_is_a_frozen_value", "outside its fields"),
    (BreaksItsPromise(), "test_transformed_observations_are_as_promised", "transform_observation"),
    (DrawsWhenGreedy(epsilon=0.5), "test_actions_are_in_their_space", "draws random numbers"),
    (ForgetsTheMask(epsilon=0.5), "test_actions_are_in_their_space", "illegal|must take 0"),
    (OwnKey(epsilon=0.5), "test_randomness_comes_from_the_key", "another key"),
    (GlobalRandomness(), "test_it_reads_and_writes_no_global_state", "another thing"),
    (DriftingStatistics(), "test_hooks_are_traced_once", "weak type"),
    (GrowingStatistics(), "test_hooks_are_traced_once", "structure"),
]


@pytest.mark.parametrize(("component", "test", "message"), BROKEN, ids=lambda value: str(value))
def test_the_fault_is_found(component: Any, test: str, message: str) -> None:
    class Contract(ComponentContract):
        def make_component(self) -> Any:
            return component

    if test == "test_it_is_a_frozen_value":
        next(iter(Contract()._cases())).traced(0)
    with pytest.raises(AssertionError, match=message):
        getattr(Contract(), test)()


def test_silent_promotion_is_refused() -> None:
    class Contract(ComponentContract):
        def make_component(self) -> Any:
            return MixesTheBatch(trains=("network",))

    with pytest.raises(Exception, match="promotion"):
        Contract().test_hooks_are_traced_once()
