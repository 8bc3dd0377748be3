"""All observers of a run as one, and what they are told."""

from __future__ import annotations

import bdb
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mava.core.lifecycle import Observe
from mava.core.observing import Observer, Run
from mava.errors import HookError, MavaError, first_line
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

    The division of a run into calls of ``advance`` follows the clock, and must not show: means are
    taken over what was kept one by one.
    """

    def __init__(self) -> None:
        self._metrics: dict[str, list[float]] = {}
        self._returns: list[float] = []

    def add(self, report: Report) -> None:
        """Adds what happened since the last report of the runner."""
        for name, values in report.metrics.items():
            self._metrics.setdefault(name, []).extend(values)
        self._returns.extend(report.returns)

    def take(self) -> tuple[dict[str, float], float | None]:
        """Means of the metrics and of the returns (``None`` without any); starts anew."""
        metrics = {name: float(np.mean(values)) for name, values in self._metrics.items()}
        mean_return = float(np.mean(self._returns)) if self._returns else None
        self._metrics, self._returns = {}, []
        return metrics, mean_return
