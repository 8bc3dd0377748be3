"""Pictures of states of ``jumanji``."""

from __future__ import annotations

from typing import Any

import numpy as np

from mava.environments.drawing import BLUE, GREEN, INK, VERMILION, YELLOW, Drawing, colours, grid

_KINDS = ("path", "head", "target")
_HEADINGS = ((0.0, -1.0), (1.0, 0.0), (0.0, 1.0), (-1.0, 0.0))


def foraging(env: Any, state: Any) -> np.ndarray:
    """Level-based foraging: agents blue and round, food that is left green and square, each with
    its level."""
    drawing = grid(env.grid_size, env.grid_size)
    food, agents = state.food_items, state.agents
    for (row, column), level, eaten in zip(food.position, food.level, food.eaten, strict=True):
        if not eaten:
            drawing.square(column + 0.5, row + 0.5, 0.6, facecolor=GREEN)
            drawing.text(column + 0.5, row + 0.5, f"{level}", color="white", weight="bold")
    for (row, column), level in zip(agents.position, agents.level, strict=True):
        drawing.circle(column + 0.5, row + 0.5, 0.32, facecolor=BLUE)
        drawing.text(column + 0.5, row + 0.5, f"{level}", color="white", weight="bold")
    return drawing.frame()


def warehouse(env: Any, state: Any) -> np.ndarray:
    """RobotWarehouse: shelves grey, those asked for green; goals yellow; robots blue, or red with a
    shelf, and a line to where they head."""
    rows, columns = state.grid.shape[1:]
    drawing = grid(rows, columns)
    for column, row in env.goals:
        drawing.square(column + 0.5, row + 0.5, 1.0, facecolor=YELLOW)
    shelves, robots = state.shelves, state.agents
    for row, column, asked in zip(*shelves.position, shelves.is_requested, strict=True):
        drawing.square(column + 0.5, row + 0.5, 0.8, facecolor=GREEN if asked else "#999999")
    for row, column, heading, loaded in zip(
        *robots.position, robots.direction, robots.is_carrying, strict=True
    ):
        x, y, (dx, dy) = column + 0.5, row + 0.5, _HEADINGS[int(heading)]
        drawing.circle(x, y, 0.3, facecolor=VERMILION if loaded else BLUE, zorder=3)
        drawing.line((x, x + 0.4 * dx), (y, y + 0.4 * dy), color=INK, linewidth=1.5, zorder=4)
    return drawing.frame()


def cleaning(env: Any, state: Any) -> np.ndarray:
    """Cleaner: walls black, dirty tiles brown, clean ones white; agents blue, with their number
    where several stand in one place."""
    from jumanji.environments.routing.cleaner.constants import DIRTY, WALL

    rows, columns = state.grid.shape
    drawing = grid(rows, columns)
    for (row, column), tile in np.ndenumerate(np.asarray(state.grid)):
        if tile in (DIRTY, WALL):
            colour = "#C8A678" if tile == DIRTY else INK
            drawing.square(column + 0.5, row + 0.5, 1.0, facecolor=colour, zorder=-1)
    places, counts = np.unique(np.asarray(state.agents_locations), axis=0, return_counts=True)
    for (row, column), count in zip(places, counts, strict=True):
        drawing.circle(column + 0.5, row + 0.5, 0.32, facecolor=BLUE)
        if count > 1:
            drawing.text(column + 0.5, row + 0.5, f"{count}", color="white", weight="bold")
    return drawing.frame()


def connecting(env: Any, state: Any) -> np.ndarray:
    """Connector: each agent's path pale, its head a full square and its target a round hole to
    fill, in a colour of its own."""
    board = np.asarray(state.grid)
    drawing = grid(*board.shape)
    palette = colours(env.num_agents)
    for (row, column), value in np.ndenumerate(board):
        if value > 0:
            agent, kind = divmod(int(value) - 1, len(_KINDS))
            _piece(drawing, column + 0.5, row + 0.5, _KINDS[kind], palette[agent])
    return drawing.frame()


def _piece(drawing: Drawing, x: float, y: float, kind: str, colour: Any) -> None:
    if kind == "target":
        drawing.circle(x, y, 0.3, facecolor="none", edgecolor=colour, linewidth=3.0)
    else:
        drawing.square(x, y, 0.96, facecolor=colour, alpha=0.3 if kind == "path" else 1.0)
