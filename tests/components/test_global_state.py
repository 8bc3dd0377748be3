"""What mixers and central critics take for the global state."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mava.components.executors.executor import RecordState
from mava.components.networks.global_state import check_source, global_state, state_size
from mava.errors import ConfigurationError, WiringError
from mava.testing.builders import environment_spec, group_spec, transition
from mava.types import Array, EnvironmentSpec

GROUPS = (group_spec(1, (2,), 2, "scouts"), group_spec(2, (3,), 4, "carriers"))
WITH, WITHOUT = environment_spec(*GROUPS, state=4), environment_spec(*GROUPS)
OBSERVATION = {
    "scouts": np.asarray([[[1.0, 2.0]], [[9.0, 8.0]]], np.float32),
    "carriers": np.asarray([[[3, 4, 5], [6, 7, 8]], [[0, 1, 0], [1, 0, 1]]], np.float32),
}
STATE = np.asarray([[0.1, 0.2, 0.3, 0.4], [0.5, 0.6, 0.7, 0.8]], np.float32)
JOINED = [[1, 2, 3, 4, 5, 6, 7, 8], [9, 8, 0, 1, 0, 1, 0, 1]]


@pytest.mark.parametrize(
    ("source", "spec", "state", "expected"),
    [
        ("environment", WITH, STATE, STATE),
        ("auto", WITH, STATE, STATE),
        ("auto", WITHOUT, None, JOINED),
        ("observations", WITH, STATE, JOINED),
        ("observations", WITHOUT, None, JOINED),
    ],
)
def test_each_source(
    source: str, spec: EnvironmentSpec, state: Array | None, expected: Any
) -> None:
    found = global_state(source, spec, OBSERVATION, state)
    np.testing.assert_array_equal(found, np.asarray(expected, np.float32))
    assert found.shape[-1] == state_size("mixer", source, spec)


def test_images_are_scaled_and_flattened() -> None:
    spec = environment_spec(group_spec(2, (2, 1, 1), 3, dtype=np.uint8))
    images = np.asarray([[[0]], [[255]], [[51]], [[102]]], np.uint8).reshape(1, 2, 2, 1, 1)
    found = global_state("auto", spec, {"agents": images}, None)
    np.testing.assert_allclose(found, [[0.0, 1.0, 0.2, 0.4]], rtol=1e-6)


def test_a_state_that_is_not_there_is_refused_with_what_to_do() -> None:
    with pytest.raises(WiringError, match=r"mixer needs.*test/made_up has none.*'observations'"):
        state_size("mixer", "environment", WITHOUT)
    with pytest.raises(ConfigurationError, match="did you mean 'observations'"):
        check_source("mixer", "observation")


def test_the_state_is_recorded_where_there_is_one() -> None:
    made = transition(WITH)
    found = RecordState().record(made)
    assert found["state"] is made.timestep.state
    assert found["next_state"] is made.next_timestep.state
    assert RecordState().record(transition(WITHOUT)) == {}
