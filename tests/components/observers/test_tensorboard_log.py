from __future__ import annotations

import dataclasses
import math
import pathlib
from typing import Any

from tensorboardX.proto.event_pb2 import Event

from mava.components.observers import TensorBoardLog


def scalars(directory: pathlib.Path) -> dict[str, dict[int, float]]:
    """By tag and step: reads the records (length, crc, data, crc) of the only events file."""
    (file,) = directory.iterdir()
    data, found = file.read_bytes(), {}
    while data:
        size = int.from_bytes(data[:8], "little")
        event = Event.FromString(data[12 : 12 + size])
        data = data[16 + size :]
        for value in event.summary.value:
            found.setdefault(value.tag, {})[event.step] = value.simple_value
    return found


def test_curves_over_environment_steps(run: Any, script: Any) -> None:
    observer = TensorBoardLog().open_observer(run)
    script.play(observer, 0, 200)
    observer.on_absolute_metric(script.evaluation(100, 30), script.progress(200))
    observer.close()
    found = scalars(run.run_dir / "tensorboard")
    assert found["training/madqn_loss/td_error"][200] == 100.0
    assert found["training/steps_per_second"][200] == 100.0
    assert found["evaluation/mean_return"] == {100: 2.0, 200: 3.0}
    assert found["evaluation/agent_return/red_team/red_1.1"] == {100: 2.0, 200: 3.0}
    assert list(found["absolute/mean_return"]) == [200]


def test_what_is_not_finite_is_left_out(run: Any, script: Any, caplog: Any) -> None:
    observer = TensorBoardLog().open_observer(run)
    observer.on_metrics({"loss": math.nan, "good": 1.0}, script.progress(10))
    evaluation = dataclasses.replace(script.evaluation(10), returns=(math.inf,), lengths=())
    observer.on_evaluation(evaluation, script.progress(10))
    observer.close()
    found = scalars(run.run_dir / "tensorboard")
    assert "training/good" in found
    assert not {"training/loss", "evaluation/mean_return", "evaluation/mean_length"} & set(found)
    assert caplog.text == ""


def test_resuming_a_finished_run_adds_no_file(run: Any, script: Any) -> None:
    observer = TensorBoardLog().open_observer(run)
    script.play(observer, 0, 100)
    observer.close()
    TensorBoardLog().open_observer(dataclasses.replace(run, first_step=100, resumed=True)).close()
    assert scalars(run.run_dir / "tensorboard")
