"""One test for each rule of the wiring, on the text of its error."""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import pytest

from mava.components.batches.n_step import NStepReturn
from mava.components.buffers.replay import PrioritisedReplay, UniformReplay
from mava.components.executors.executor import Executor
from mava.components.exploration.epsilon_greedy import EpsilonGreedy
from mava.components.losses.madqn import MADQNLoss
from mava.components.networks.agent_ids import AgentIds
from mava.components.networks.q_network import QNetwork
from mava.components.trainers.epoch_trainer import EpochTrainer
from mava.components.trainers.trainer import Adam, HardTargetUpdate, SoftTargetUpdate, Trainer
from mava.core.contexts import LossOutput
from mava.core.lifecycle import (
    InitParams,
    Loss,
    Mix,
    Plan,
    PrepareBatch,
    Record,
)
from mava.core.plans import BufferPlan
from mava.core.system import System, build
from mava.errors import ConfigurationError, WiringError
from tests.core.composing import SPEC, AnyLoss, NoEnvironment, built, refused, system


@dataclasses.dataclass(frozen=True)
class Extra(InitParams):
    """Owns ``extra``, which something must train."""

    def init_params(self, key: jax.Array, spec: Any) -> Any:
        return {"extra": jnp.zeros(2)}


@dataclasses.dataclass(frozen=True)
class ExtraLoss(Loss):
    trains: tuple[str, ...] = ("extra",)

    def loss(self, params: Any, batch: Any, context: Any) -> LossOutput:
        return LossOutput(sum(jnp.sum(x**2) for n in self.trains for x in _leaves(params, n)), {})


def _leaves(params: Any, name: str) -> Any:
    return jax.tree.leaves(params[name])


def test_the_small_system_is_whole() -> None:
    program = built()
    assert program.system == "test"
    assert set(program.item) >= {"observation", "action", "reward"}


# ------------------------------------------------------------------------------ names, arity, order


def test_two_of_one_name() -> None:
    parts = (*system(), AgentIds(), AgentIds())
    with pytest.raises(WiringError, match="two components are named 'agent_ids'; names address"):
        build(System("test", parts, NoEnvironment()), SPEC)


@pytest.mark.parametrize(
    ("kind", "hook"),
    [
        (Executor, r"Act\.act\(\)"),
        (QNetwork, r"Score\.score\(\)"),
        (EpsilonGreedy, r"SelectAction\.select_action\(\)"),
        (UniformReplay, r"Plan\.plan\(\)"),
        (Trainer, r"Update\.update\(\)"),
    ],
)
def test_none_of_what_there_must_be_one(kind: Any, hook: str) -> None:
    refused(
        rf"no component implements {hook}, and exactly one must; add one with system\.with_",
        without=(kind,),
    )


@pytest.mark.parametrize(
    ("second", "names"),
    [
        (PrioritisedReplay(), "uniform_replay, prioritised_replay all implement Plan"),
        (SoftTargetUpdate(), "hard_target_update, soft_target_update all implement UpdateTargets"),
    ],
)
def test_two_of_what_there_may_be_one(second: Any, names: str) -> None:
    parts = (*system(), second)
    with pytest.raises(WiringError, match=names + r".*only one may; keep one with system\.without"):
        build(System("test", parts, NoEnvironment()), SPEC)


@dataclasses.dataclass(frozen=True)
class Cue(AgentIds):
    after = (AgentIds,)


def test_order() -> None:
    parts = (Cue(), AgentIds(), *system())
    with pytest.raises(WiringError, match="cue must come after agent_ids; move it below"):
        build(System("test", parts, NoEnvironment()), SPEC)
    build(System("test", (AgentIds(), Cue(), *system()), NoEnvironment()), SPEC)


# --------------------------------------------------------------------------------------- parameters


def test_unknown_parameters_are_named_with_the_nearest() -> None:
    refused(
        "madqn_loss names parameters 'q_netwrk'.*did you mean 'q_network'",
        MADQNLoss(trains=("q_netwrk",)),
        without=(MADQNLoss,),
    )
    refused(
        "adam.* names parameters 'critic', which no component owns",
        Adam(optimises=("critic",)),
    )
    refused("hard_target_update names parameters 'critic'", HardTargetUpdate(targets=("critic",)))


@dataclasses.dataclass(frozen=True)
class SameParams(Extra):
    pass


def test_parameters_that_two_make() -> None:
    refused(
        "parameters 'extra' are made by both extra and same_params; rename one",
        Extra(),
        SameParams(),
        ExtraLoss(),
    )


@dataclasses.dataclass(frozen=True)
class AlsoTrains(ExtraLoss):
    trains: tuple[str, ...] = ("q_network",)


def test_parameters_that_two_train() -> None:
    parts = (*system(), AlsoTrains())
    with pytest.raises(
        WiringError,
        match="parameters 'q_network' are trained by both madqn_loss and also_trains; keep one",
    ):
        build(System("test", parts, NoEnvironment()), SPEC)


def test_parameters_that_nothing_trains() -> None:
    refused(
        r"extra owns 'extra', but no loss trains it; add a loss with trains=\('extra',\), or set "
        r"trainable = False on Extra",
        Extra(),
    )


@dataclasses.dataclass(frozen=True)
class Fixed(Extra):
    trainable: ClassVar[bool] = False


def test_parameters_that_need_no_training() -> None:
    built(Fixed())


def test_no_loss_at_all() -> None:
    refused(
        r"no component implements Loss\.loss\(\), so nothing would be trained",
        without=(MADQNLoss,),
    )


def test_parameters_that_nothing_optimises() -> None:
    refused(
        "extra_loss trains 'extra', but no optimiser updates it; add one, or name it in the "
        "optimises field of adam",
        Extra(),
        ExtraLoss(),
        Adam(optimises=("q_network",)),
        without=(Adam,),
    )


@dataclasses.dataclass(frozen=True)
class Second(Adam):
    pass


def test_parameters_that_two_optimise() -> None:
    parts = (*system(), Second(optimises=("q_network",)))
    with pytest.raises(
        WiringError, match="parameters 'q_network' are optimised by both adam and second"
    ):
        build(System("test", parts, NoEnvironment()), SPEC)


def test_an_optimiser_of_what_nothing_trains() -> None:
    refused(
        "second.* optimises 'extra', but no loss trains it",
        Fixed(),
        Adam(optimises=("q_network",)),
        Second(optimises=("extra",)),
        without=(Adam,),
    )


def test_targets_that_nobody_keeps() -> None:
    refused(
        "madqn_loss reads the target parameters 'q_network'.*add one, such as HardTargetUpdate",
        without=(HardTargetUpdate,),
    )


# ------------------------------------------------------------------------------------- batch fields


@dataclasses.dataclass(frozen=True)
class Advantage(PrepareBatch):
    requires: ClassVar[frozenset[str]] = frozenset({"discount"})
    provides: ClassVar[frozenset[str]] = frozenset({"advantage"})

    def prepare_batch(self, batch: Any, state: Any, params: Any, context: Any) -> Any:
        return {**batch, "advantage": batch["discount"]}, state


def test_a_batch_field_that_nothing_provides() -> None:
    refused(
        r"madqn_loss needs batch field 'discount', which nothing before it provides; add a "
        "component that provides it; there are action, alive, ",
        without=(NStepReturn,),
    )


def test_a_batch_field_that_is_provided_too_late() -> None:
    parts = (Advantage(), *system())
    with pytest.raises(
        WiringError,
        match="advantage needs batch field 'discount', which nothing before it provides; move "
        "n_step_return before it",
    ):
        build(System("test", parts, NoEnvironment()), SPEC)


@dataclasses.dataclass(frozen=True)
class Recount(Mix):
    requires: ClassVar[frozenset[str]] = frozenset({"state"})

    def mix(self, params: Any, values: Any, batch: Any, context: Any) -> Any: ...


def test_a_batch_field_that_only_the_mixer_needs() -> None:
    refused("recount needs batch field 'state', which nothing before it provides", Recount())


@dataclasses.dataclass(frozen=True)
class RecordAgain(Record):
    def record(self, transition: Any) -> Any:
        return {"reward": transition.next_timestep.reward}


def test_a_batch_field_that_is_recorded_twice() -> None:
    refused(
        "batch field 'reward' is recorded twice, the second time by record_again",
        RecordAgain(),
    )


# ---------------------------------------------------------------------------------------- schedules


@dataclasses.dataclass(frozen=True)
class Rollout(Plan):
    def plan(self) -> BufferPlan:
        return BufferPlan.on_policy(8)


def test_an_on_policy_buffer_decides_when_to_train() -> None:
    with pytest.raises((WiringError, ConfigurationError), match=r"update_every is 5.*set .* None"):
        built(Rollout(), AnyLoss(), Trainer(update_every=5))
    built(Rollout(), AnyLoss(), Trainer(update_every=None))


def test_an_on_policy_batch_is_used_once() -> None:
    for trainer in (EpochTrainer(updates=2), Trainer(update_every=None, updates=2)):
        with pytest.raises(ConfigurationError, match=r"updates is 2.*count it 2 times.*epochs"):
            built(Rollout(), AnyLoss(), trainer)


@pytest.mark.parametrize(("every", "message"), [(None, "is None; give"), (0, "is 0")])
def test_other_buffers_do_not(every: Any, message: str) -> None:
    with pytest.raises((WiringError, ConfigurationError), match=f"update_every {message}"):
        built(Trainer(update_every=every))


def test_a_round_has_updates() -> None:
    with pytest.raises((WiringError, ConfigurationError), match="updates is 0"):
        built(Trainer(updates=0))


def test_there_are_environments() -> None:
    with pytest.raises((WiringError, ConfigurationError), match=r"num_environments is 0"):
        built(Executor(num_environments=0))
