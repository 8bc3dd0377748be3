"""What holds for every observer and stop condition."""

from __future__ import annotations

import dataclasses
import pathlib
import pickle
import subprocess
import sys
from typing import Any

import pytest

from mava.components import observers
from mava.components.stopping import StopAfter, StopOnReturn
from mava.core.component import hooks_of
from mava.core.lifecycle import Observe, Stop
from mava.core.wiring import check_component

OBSERVERS = [getattr(observers, name)() for name in observers.__all__]
COMPONENTS = [*OBSERVERS, StopAfter(seconds=5), StopOnReturn(mean_return=1.0)]
FILES = [observers.MarlEvalLog(), observers.MetricsLog(), observers.TensorBoardLog()]


def _name(component: Any) -> str:
    return component.name


@pytest.mark.parametrize("component", COMPONENTS, ids=_name)
def test_is_a_component(component: Any) -> None:
    check_component(component)
    assert hooks_of(component) in ([Observe], [Stop])
    assert pickle.loads(pickle.dumps(component)) == component
    with pytest.raises(dataclasses.FrozenInstanceError):
        component.anything = 1


@pytest.mark.parametrize("component", OBSERVERS, ids=_name)
def test_takes_a_whole_run_and_a_second_close(component: Any, run: Any, script: Any) -> None:
    observer = component.open_observer(run)
    observer.on_message("compiling")
    script.play(observer, 0, 1000)
    observer.on_absolute_metric(script.evaluation(900, 30), script.progress(1000))
    observer.on_end("all steps are done", script.progress(1000))
    observer.close()
    observer.close()


@pytest.mark.parametrize("component", OBSERVERS, ids=_name)
def test_can_be_closed_before_anything_happened(component: Any, run: Any) -> None:
    component.open_observer(run).close()


@pytest.mark.parametrize("component", FILES, ids=_name)
def test_without_a_run_dir_nothing_is_written(
    component: Any, run: Any, script: Any, tmp_path: pathlib.Path, capsys: Any
) -> None:
    observer = component.open_observer(dataclasses.replace(run, run_dir=None))
    script.play(observer, 0, 1000)
    observer.close()
    assert list(tmp_path.iterdir()) == []
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("component", OBSERVERS, ids=_name)
def test_standard_output_stays_clean(component: Any, run: Any, script: Any, capsys: Any) -> None:
    observer = component.open_observer(run)
    script.play(observer, 0, 1000)
    observer.close()
    assert capsys.readouterr().out == ""


def test_importing_them_loads_no_terminal_or_tensorboard_library() -> None:
    code = (
        "import sys, mava.components.observers, mava.components.stopping;"
        "print([m for m in ('rich', 'tensorboardX', 'matplotlib') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
