"""How far a run is, how fast it goes and when it will end."""

from __future__ import annotations

import collections
import dataclasses
import sys
from typing import TYPE_CHECKING

from mava.components.observers import terminal
from mava.core.lifecycle import Observe
from mava.core.observing import Observer, Progress, Run
from mava.errors import ConfigurationError

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

_WINDOW = 50
"""Reports over which the speed is measured: enough to be calm, few enough to follow changes."""

_BAR = 24
"""The bar's width where there is room, in characters."""


@dataclasses.dataclass(frozen=True)
class ProgressBar(Observe):
    """One live line on standard error; a few plain lines where that is not a terminal.

    Attributes:
        lines: how many plain lines a whole run writes.

    Raises:
        ConfigurationError: for fewer than one line.
    """

    lines: int = 10

    def __post_init__(self) -> None:
        if self.lines < 1:
            raise ConfigurationError(f"progress_bar.lines is {self.lines}; it must be at least 1")

    def open_observer(self, run: Run) -> Observer:
        if sys.stderr.isatty():
            return LiveLine(terminal.console())
        return PlainLines(run, self.lines)


class Speed:
    """Environment steps per second over the latest reports, from the first one: what came before it
    was compilation."""

    def __init__(self) -> None:
        self._reports: collections.deque[tuple[float, int]] = collections.deque(maxlen=_WINDOW)

    def __call__(self, progress: Progress) -> float | None:
        """``None`` until time and steps have passed since the first report."""
        self._reports.append((progress.wall_seconds, progress.environment_steps))
        (start, first), (now, last) = self._reports[0], self._reports[-1]
        return (last - first) / (now - start) if now > start and last > first else None


class _Report:
    """Keeps what a line shows between the reports that bring it."""

    def __init__(self) -> None:
        self._speed = Speed()
        self._mean_return: float | None = None

    def facts(self, progress: Progress) -> list[str]:
        """The steps and what else is known, in an order in which a narrow terminal may cut."""
        if progress.mean_return is not None:
            self._mean_return = progress.mean_return
        done, total = progress.environment_steps, progress.total_steps
        facts = [f"{done / max(total, 1):.0%} {done:,}/{total:,}"]
        speed = self._speed(progress)
        if speed is not None:
            left = terminal.duration((total - done) / speed)
            facts += [f"{speed:,.0f} steps/s", f"{left} left"]
        if self._mean_return is not None:
            facts.append(f"return {terminal.number(self._mean_return)}")
        if progress.evaluation is not None:
            facts.append(f"evaluation {terminal.number(progress.evaluation.mean_return)}")
        return facts


class PlainLines(Observer):
    """A line whenever another part of the run is done, so that a log stays short."""

    def __init__(self, run: Run, lines: int) -> None:
        self._report = _Report()
        self._lines = lines
        self._written = self._part(run.first_step, run.total_steps)

    def _part(self, step: int, total_steps: int) -> int:
        return step * self._lines // max(total_steps, 1)

    def on_progress(self, progress: Progress) -> None:
        facts = self._report.facts(progress)
        part = self._part(progress.environment_steps, progress.total_steps)
        if part > self._written:
            self._written = part
            terminal.say(" · ".join(facts))


class LiveLine(Observer):
    """A line that is written over. It paints on reports only, without a thread of its own, and
    leaves standard output alone, so a debugger's prompt stays usable."""

    def __init__(self, console: Console) -> None:
        from rich.live import Live

        self._report = _Report()
        self._console = console
        self._live = Live(
            console=console, auto_refresh=False, redirect_stdout=False, redirect_stderr=False
        )
        self._live.start()
        console.show_cursor(True)

    def on_progress(self, progress: Progress) -> None:
        text = " · ".join(self._report.facts(progress))
        self._live.update(_line(progress, text, self._console.width), refresh=True)

    def close(self) -> None:
        self._live.stop()


def _line(progress: Progress, text: str, width: int) -> RenderableType:
    """The text, after a bar where there is room for one."""
    from rich.progress_bar import ProgressBar as Bar
    from rich.table import Table
    from rich.text import Text

    line = Text(text, no_wrap=True, overflow="ellipsis")
    bar_width = min(width - len(text) - 1, _BAR)
    if bar_width < _BAR // 3:
        return line
    grid = Table.grid(padding=(0, 1))
    grid.add_row(Bar(progress.total_steps, progress.environment_steps, bar_width), line)
    return grid
