from __future__ import annotations

import dataclasses
import math
from typing import Any

import pytest

from mava.components.stopping import StopAfter, StopOnReturn
from mava.errors import ConfigurationError


def test_stops_when_the_return_is_reached(script: Any) -> None:
    stop = StopOnReturn(mean_return=3.0)
    assert stop.stop_reason(script.progress(100)) is None
    assert stop.stop_reason(script.progress(100, evaluation=script.evaluation(100))) is None
    reason = stop.stop_reason(script.progress(200, evaluation=script.evaluation(200)))
    assert reason == "evaluation return 3 reached 3"


def test_a_return_that_is_no_number_reaches_nothing(script: Any) -> None:
    evaluation = dataclasses.replace(script.evaluation(0), returns=(math.nan,))
    progress = script.progress(0, evaluation=evaluation)
    assert StopOnReturn(mean_return=-1e9).stop_reason(progress) is None


def test_stops_after_a_time(script: Any) -> None:
    stop = StopAfter(seconds=60)
    reason = "60 seconds of training passed"
    for wall in (1.0, 1000.0):  # compiling and evaluating do not count
        progress = script.progress(1, wall_seconds=wall, training_seconds=59.9)
        assert stop.stop_reason(progress) is None
        progress = script.progress(1, wall_seconds=wall, training_seconds=60.0)
        assert stop.stop_reason(progress) == reason


@pytest.mark.parametrize("seconds", [0, -1, math.nan])
def test_time_is_positive(seconds: float) -> None:
    with pytest.raises(ConfigurationError, match="must be positive"):
        StopAfter(seconds=seconds)
