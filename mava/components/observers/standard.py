"""The observers that every system of the shelf has."""

from __future__ import annotations

from mava.components.observers.console_log import ConsoleLog
from mava.components.observers.marl_eval_log import MarlEvalLog
from mava.components.observers.metrics_log import MetricsLog
from mava.components.observers.progress_bar import ProgressBar
from mava.components.observers.tensorboard_log import TensorBoardLog
from mava.core.lifecycle import Observe


def standard_observers() -> tuple[Observe, ...]:
    """The terminal, and files where a run has a directory."""
    return (ProgressBar(), ConsoleLog(), MetricsLog(), TensorBoardLog(), MarlEvalLog())
