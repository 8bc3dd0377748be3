"""What hooks promise, and what a failure inside one says, on the text of the errors."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import jax.numpy as jnp
import pytest

from mava.components.buffers.replay import PrioritisedReplay
from mava.components.networks.agent_ids import AgentIds
from mava.core.contexts import Selection
from mava.core.lifecycle import (
    Measure,
    Optimise,
    PrepareBatch,
    SelectAction,
    UpdateTargets,
)
from mava.errors import HookError, MavaError
from mava.testing.builders import CONTINUOUS_SPECS
from tests.core.composing import AnyLoss, built, refused


@dataclasses.dataclass(frozen=True)
class Unpromised(AgentIds):
    def transformed(self, group: Any) -> Any:
        return group.observation


def test_a_transformation_that_breaks_its_promise() -> None:
    refused(
        r"unpromised\.transform_observation\(\) returned float32\[2, 5\] for group 'agents', "
        r"but its transformed\(\) promises float32\[2, 3\]; make them agree",
        Unpromised(),
    )


@dataclasses.dataclass(frozen=True)
class Select(SelectAction):
    """Gives actions of any shape and dtype, and a memory of any length."""

    shape: tuple[int, ...] = (2,)
    dtype: str = "int32"
    grows: bool = False
    remembers: bool = False

    def init_memory(self, group: Any) -> Any:
        return jnp.zeros(1)

    def select_action(self, scores: Any, legal_actions: Any, memory: Any, context: Any) -> Any:
        if self.grows:
            memory = jnp.concatenate([memory, memory])
        after = (memory, memory) if self.remembers else memory
        return Selection(jnp.zeros(self.shape, self.dtype), {}), after


@pytest.mark.parametrize(
    ("fields", "found"),
    [
        ({"shape": (4,)}, r"int32\[4\]"),
        ({"shape": (2, 1)}, r"int32\[2, 1\]"),
        ({"dtype": "float32"}, r"float32\[2\]"),
    ],
)
def test_an_action_of_another_shape_or_dtype(fields: Any, found: str) -> None:
    refused(
        rf"select\.select_action\(\) returned {found} for group 'agents', but its actions are "
        r"int32\[2\]",
        Select(**fields),
    )


@dataclasses.dataclass(frozen=True)
class ForgetsSelection(SelectAction):
    def select_action(self, scores: Any, legal_actions: Any, memory: Any, context: Any) -> Any:
        return jnp.zeros(2, jnp.int32), memory


def test_an_action_that_is_no_selection() -> None:
    refused(
        r"forgets_selection\.select_action\(\) returned .* for group 'agents'; return a "
        r"Selection\(action, extras\)",
        ForgetsSelection(),
    )


def test_memory_that_changes_its_shape() -> None:
    refused(
        r"acting changed the memory at \['select_action'\]\['agents'\] from float32\[1\] to "
        r"float32\[2\]",
        Select(grows=True),
    )


def test_memory_that_changes_its_structure() -> None:
    refused("acting changed the structure of the memory", Select(remembers=True))


@dataclasses.dataclass(frozen=True)
class Count(PrepareBatch):
    grows: bool = False

    def init_state(self, spec: Any) -> Any:
        return jnp.zeros(1)

    def prepare_batch(self, batch: Any, state: Any, params: Any, context: Any) -> Any:
        return batch, (state, state) if self.grows else state.astype(jnp.int32)


def test_statistics_that_change_their_dtype_or_structure() -> None:
    refused(
        r"learn\(\) changed the trainer's state at .*count.* from float32\[1\] to int32\[1\]",
        Count(),
    )
    refused(r"learn\(\) changed the structure of the trainer's state", Count(grows=True))


@dataclasses.dataclass(frozen=True)
class Vector(Measure):
    def measure(self, gradients: Any, batch: Any, context: Any) -> Any:
        return {"norms": jnp.zeros(3)}


def test_a_metric_that_is_no_scalar() -> None:
    refused(
        r"metric 'vector/norms' has shape \[3\]; a metric is a scalar, so reduce it",
        Vector(),
    )


def test_a_loss_that_is_no_scalar() -> None:
    refused(
        r"any_loss\.loss\(\) returned a loss of shape \[4\]; a loss is a scalar, so reduce it",
        AnyLoss("vector"),
    )


def test_a_loss_that_is_no_loss_output() -> None:
    refused(
        r"any_loss\.loss\(\) returned .*; return LossOutput\(loss, metrics\)", AnyLoss("number")
    )


def test_a_prioritised_buffer_without_priorities() -> None:
    replay = PrioritisedReplay(capacity=64, min_size=4, batch_size=4)
    refused(
        "the buffer is prioritised, but the losses return priorities of none; return "
        r"LossOutput\(priorities=\.\.\.\) of shape \[4\], or use a uniform buffer",
        replay,
        AnyLoss(),
    )
    refused(r"priorities of shape \[3\]", replay, AnyLoss("priorities"))
    built(replay)


def test_a_critic_or_a_mixer_that_is_not_there() -> None:
    refused(
        r"any_loss calls context\.value\(\), but no component implements Value\.value\(\); add "
        "a critic",
        AnyLoss("value"),
    )
    refused(
        r"any_loss calls context\.mix\(\), but no component implements Mix\.mix\(\); add a "
        "mixer",
        AnyLoss("mix"),
    )


# ----------------------------------------------------------------------------------------- failures


def test_a_failure_names_component_and_hook_and_keeps_its_cause() -> None:
    error = refused(
        r"any_loss\.loss\(\) failed: KeyError: 'nothing'", AnyLoss("fails"), error=HookError
    )
    assert any(isinstance(cause, KeyError) for cause in causes(error))


def causes(error: BaseException | None) -> Iterator[BaseException]:
    """Each cause and its own; JAX puts an abridged traceback between them before Python 3.11."""
    while error is not None and error.__cause__ is not None:
        error = error.__cause__
        yield error


@dataclasses.dataclass(frozen=True)
class BrokenOptimiser(Optimise):
    optimises: tuple[str, ...] | None = None

    def optimiser(self) -> Any:
        raise ValueError("first line\nsecond line")


@dataclasses.dataclass(frozen=True)
class BrokenTargets(UpdateTargets):
    targets: tuple[str, ...] | None = None

    def update_targets(self, params: Any, target_params: Any, updates: Any) -> Any:
        return params["missing"]


@pytest.mark.parametrize(
    ("component", "message"),
    [
        (BrokenOptimiser(), r"broken_optimiser\.optimiser\(\) failed: ValueError: first line$"),
        (BrokenTargets(), r"broken_targets\.update_targets\(\) failed: KeyError: 'missing'"),
    ],
)
def test_failures_of_other_hooks(component: Any, message: str) -> None:
    refused(message, component, error=HookError)


def test_an_error_of_mava_passes_unchanged() -> None:
    spec = CONTINUOUS_SPECS["vector"]
    error = refused("q_network values Discrete actions", spec=spec)
    assert not any(isinstance(cause, MavaError) for cause in causes(error))
