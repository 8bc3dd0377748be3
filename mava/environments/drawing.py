"""Pictures of environments that bring none, drawn by matplotlib, which is imported for the first.

Each has a figure of its own, without pyplot: no window system is asked and nothing global changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Okabe and Ito's palette, which readers with any colour vision can tell apart.
BLUE, VERMILION, GREEN, YELLOW = "#0072B2", "#D55E00", "#009E73", "#F0E442"
INK, LINES = "#333333", "#BBBBBB"
_PIXELS = 480
_DPI = 100


class Drawing:
    """One picture in the making.

    Args:
        width, height: of what is shown, in the environment's own units.
        origin: its lower left corner.
        downward: whether the second coordinate grows downward, as in the rows of a grid.

    Attributes:
        axes: of matplotlib, filling the whole picture.
    """

    def __init__(
        self,
        width: float,
        height: float,
        origin: tuple[float, float] = (0.0, 0.0),
        downward: bool = False,
    ) -> None:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        scale = _PIXELS / max(width, height)
        # Video codecs take even sizes only.
        across, up = (2 * max(round(scale * side / 2), 1) / _DPI for side in (width, height))
        figure = Figure(figsize=(across, up), dpi=_DPI)
        self._canvas: Any = FigureCanvasAgg(figure)
        self.axes: Axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
        self.axes.set_axis_off()
        (left, first), (right, last) = origin, (origin[0] + width, origin[1] + height)
        self.axes.set_xlim(left, right)
        self.axes.set_ylim(*((last, first) if downward else (first, last)))

    def circle(self, x: float, y: float, radius: float, **style: Any) -> None:
        from matplotlib.patches import Circle

        self.axes.add_patch(Circle((x, y), radius, **style))

    def gauge(self, x: float, y: float, radius: float, share: float, colour: Any) -> None:
        """A circle of which a share is filled, clockwise from its top."""
        from matplotlib.patches import Wedge

        self.circle(x, y, radius, facecolor="white", edgecolor=colour, linewidth=1.0)
        end = 90.0 - 360.0 * min(max(share, 0.0), 1.0)
        self.axes.add_patch(Wedge((x, y), radius, end, 90.0, color=colour, linewidth=0.0))

    def square(self, x: float, y: float, size: float, **style: Any) -> None:
        """Around its middle."""
        from matplotlib.patches import Rectangle

        self.axes.add_patch(Rectangle((x - size / 2, y - size / 2), size, size, **style))

    def line(self, xs: Sequence[float], ys: Sequence[float], **style: Any) -> None:
        self.axes.plot(xs, ys, **style)

    def text(self, x: float, y: float, words: str, **style: Any) -> None:
        given = {"ha": "center", "va": "center", "color": INK, "fontsize": 9, **style}
        self.axes.text(x, y, words, **given)

    def note(self, *lines: str) -> None:
        """Words in the upper left corner, above everything."""
        given: dict[str, Any] = {"ha": "left", "va": "top", "zorder": 10}
        given["transform"] = self.axes.transAxes
        self.text(0.01, 0.99, "\n".join(lines), **given)

    def frame(self) -> np.ndarray:
        """Uint8 ``[height, width, 3]``; the longer side has 480 pixels."""
        self._canvas.draw()
        return np.array(self._canvas.buffer_rgba(), np.uint8)[..., :3]


def grid(rows: int, columns: int) -> Drawing:
    """A drawing with the lines of a grid: the cell in row r and column c has its middle at
    ``(c + 0.5, r + 0.5)``, and row 0 is on top."""
    drawing = Drawing(columns, rows, downward=True)
    for row in range(rows + 1):
        drawing.line((0, columns), (row, row), color=LINES, linewidth=0.8, zorder=0)
    for column in range(columns + 1):
        drawing.line((column, column), (0, rows), color=LINES, linewidth=0.8, zorder=0)
    return drawing


def colours(number: int) -> list[Any]:
    """As many colours, apart from each other in hue."""
    from matplotlib import colormaps

    hues = colormaps["hsv"]
    return [hues(index / number) for index in range(number)]
