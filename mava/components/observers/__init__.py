"""What watches a run: for the terminal, for files, for other tools."""

from mava.components.observers.console_log import ConsoleLog
from mava.components.observers.marl_eval_log import MarlEvalLog
from mava.components.observers.metrics_log import MetricsLog
from mava.components.observers.progress_bar import ProgressBar
from mava.components.observers.tensorboard_log import TensorBoardLog

__all__ = ["ConsoleLog", "MarlEvalLog", "MetricsLog", "ProgressBar", "TensorBoardLog"]
