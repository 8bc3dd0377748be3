"""All observers of a run as one, and what they are told."""

from __future__ import annotations

import bdb
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mava.core.lifecycle import Observe
from mava.core.observing import Observer, Run
from mava.errors import HookError, MavaError
from mava.launcher.arrays import first_line
from mava.topologies.base import Report


class Watchers:
    """Opens observers, tells each the same in the order of the system, and closes all of them.

    Raises:
        HookError: naming the observer and the method that failed.
    """

    def __init__(self, components: Sequence[Observe], run: Run) -> None:
        self._open: list[tuple[str, Observer]] = []
        try:
            for component in components:
                opened = _guarded(component.name, "open_observer", component.open_observer, run)
                self._open.append((component.name, opened))
        except BaseException:
            self.close(quietly=True)
            raise

    def tell(self, method: str, *args: Any) -> None:
        """Calls ``on_<method>`` of every observer."""
        for name, observer in self._open:
            _guarded(name, f"on_{method}", getattr(observer, f"on_{method}"), *args)

    def say(self, text: str) -> None:
        self.tell("message", text)

    def close(self, quietly: bool = False) -> None:
        """Closes every observer, the last first, also after one fails.

        ``quietly`` while another error is on its way, which a failure here must not hide."""
        failures = []
        while self._open:
            name, observer = self._open.pop()
            try:
                _guarded(name, "close", observer.close)
            except Exception as error:
                failures.append(error)
        if failures and not quietly:
            raise failures[0]


def _guarded(name: str, method: str, function: Callable[..., Any], *args: Any) -> Any:
    try:
        return function(*args)
    except (MavaError, bdb.BdbQuit):
        raise
    except Exception as error:
        raise HookError(f"{name}.{method}() failed: {first_line(error)}") from error


class Tally:
    """Training metrics and returns since the last time they were reported.

    The division of a run into calls of ``advance`` follows the clock, and must not show: sums are
    kept, and rounded to fewer digits than the order of summation can change.
    """

    def __init__(self) -> None:
        self._sums: dict[str, float] = {}
        self._counts: dict[str, int] = {}
        self._returns: list[float] = []

    def add(self, report: Report, trainer_steps: int) -> None:
        """Adds what happened in ``trainer_steps`` trainer steps."""
        weight = max(trainer_steps, 1)
        for name, mean in report.metrics.items():
            self._sums[name] = self._sums.get(name, 0.0) + _rounded(mean * weight, 12)
            self._counts[name] = self._counts.get(name, 0) + weight
        self._returns.extend(report.returns)

    def take(self) -> tuple[dict[str, float], float | None]:
        """Means of the metrics to six digits, and of returns (``None`` without); starts anew."""
        metrics = {
            name: _rounded(_rounded(total, 12) / self._counts[name], 6)
            for name, total in self._sums.items()
        }
        mean_return = float(np.mean(self._returns)) if self._returns else None
        self._sums, self._counts, self._returns = {}, {}, []
        return metrics, mean_return


def _rounded(value: float, digits: int) -> float:
    """To so many significant digits.

    >>> _rounded(1234.5678, 6)
    1234.57
    """
    return float(f"{value:.{digits}g}")
