"""A small system for the tests of the core to break."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import pytest

from mava.components.batches.n_step import NStepReturn
from mava.components.buffers.replay import UniformReplay
from mava.components.executors.executor import Executor, RecordTransition
from mava.components.exploration.epsilon_greedy import EpsilonGreedy
from mava.components.losses.madqn import MADQNLoss
from mava.components.networks.q_network import QNetwork
from mava.components.trainers.trainer import Adam, HardTargetUpdate, Trainer
from mava.core.component import Component
from mava.core.contexts import LossOutput
from mava.core.lifecycle import Loss
from mava.core.program import Program
from mava.core.system import System, build
from mava.errors import MavaError, WiringError
from mava.testing.builders import environment_spec, group_spec
from mava.types import EnvironmentSpec

SPEC = environment_spec(group_spec(2, (3,), 4), state=5)


@dataclasses.dataclass(frozen=True)
class NoEnvironment:
    """A factory that is never asked to build."""

    name: str = "test/made_up"

    def build(self) -> Any:
        raise AssertionError("no environment is needed here")


def system(*components: Component, without: tuple[Any, ...] = ()) -> System:
    """Independent Q-learning, less ``without``, with ``components`` put in."""
    parts = (
        Executor(),
        QNetwork(hidden_sizes=(4,)),
        EpsilonGreedy(epsilon=0.5),
        RecordTransition(),
        UniformReplay(capacity=64, min_size=4, batch_size=4),
        NStepReturn(),
        MADQNLoss(),
        Adam(),
        HardTargetUpdate(),
        Trainer(update_every=2),
    )
    return System("test", parts, NoEnvironment()).without(*without).with_(*components)


def built(*components: Component, without: tuple[Any, ...] = (), spec: Any = SPEC) -> Program:
    return build(system(*components, without=without), spec)


def refused(
    match: str,
    *components: Component,
    without: tuple[Any, ...] = (),
    spec: EnvironmentSpec = SPEC,
    error: type[MavaError] = WiringError,
) -> MavaError:
    """The error that building this gives; its text must match."""
    with pytest.raises(error, match=match) as refusal:
        built(*components, without=without, spec=spec)
    return refusal.value


@dataclasses.dataclass(frozen=True)
class AnyLoss(Loss):
    """Returns whatever ``made`` names."""

    made: str = "scalar"
    trains: tuple[str, ...] = ("q_network",)

    def loss(self, params: Any, batch: Any, context: Any) -> Any:
        total = sum(jnp.sum(x) for x in jax.tree.leaves(params["q_network"]))
        outputs = {
            "scalar": LossOutput(total, {}),
            "vector": LossOutput(total * jnp.ones(4), {}),
            "number": total,
            "priorities": LossOutput(total, {}, priorities=jnp.ones(3)),
            "value": lambda: context.value(params, batch),
            "mix": lambda: context.mix(params, {}, batch),
            "fails": lambda: {}["nothing"],
        }
        output = outputs[self.made]
        return output() if callable(output) else output
