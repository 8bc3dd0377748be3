"""Pictures of states of ``jaxmarl``."""

from __future__ import annotations

import string
from typing import Any

import numpy as np

from mava.environments.drawing import BLUE, GREEN, INK, VERMILION, Drawing, grid

_REACH = 1.5
"""What is always shown of MPE's plane; where landmarks and agents begin is within 1."""
_HEADINGS = ((0.0, -1.0), (0.0, 1.0), (1.0, 0.0), (-1.0, 0.0))
_ONION, _SOUP = "#E6B400", "#D55E00"
_COOKING = 20
"""A pot counts down from here until its soup is ready; above, it lacks that many onions."""


def battle(env: Any, state: Any) -> np.ndarray:
    """SMAX: the living units, allies blue and enemies red, filled by their share of health, with
    the letter of their type and a line to whom they shoot at.

    Args:
        env: of SMAX, or with an enemy around it.
        state: of SMAX itself.
    """
    drawing = Drawing(env.map_width, env.map_height)
    places, alive = np.asarray(state.unit_positions), np.asarray(state.unit_alive)
    types, health = np.asarray(state.unit_types), np.asarray(state.unit_health)
    full, radii = np.asarray(env.unit_type_health), np.asarray(env.unit_type_radiuses)
    for unit in np.flatnonzero(alive).tolist():
        (x, y), kind = places[unit], types[unit]
        colour = BLUE if unit < env.num_allies else VERMILION
        target = _target(env, state, unit)
        if target is not None:
            xs, ys = places[[unit, target]].T.tolist()
            drawing.line(xs, ys, color=colour, linewidth=0.8, alpha=0.6, zorder=1)
        drawing.gauge(x, y, radii[kind], health[unit] / full[kind], colour)
        letter = env.unit_type_shorthands[kind]
        drawing.text(x, y + radii[kind] + 0.45, letter, color=colour, fontsize=7)
    drawing.note(f"step {int(state.step)}")
    return drawing.frame()


def _target(env: Any, state: Any, unit: int) -> int | None:
    """The unit that this one's last action aimed at, where both live and it is within range."""
    shot = int(state.prev_attack_actions[unit]) - env.num_movement_actions
    if shot < 0:
        return None
    target = env.num_allies + shot if unit < env.num_allies else env.num_allies - 1 - shot
    places, alive = np.asarray(state.unit_positions), np.asarray(state.unit_alive)
    reach = float(env.unit_type_attack_ranges[int(state.unit_types[unit])])
    near = np.linalg.norm(places[unit] - places[target]) < reach
    return target if near and alive[target] else None


def particles(env: Any, state: Any) -> np.ndarray:
    """MPE: agents and, behind them, landmarks, in the environment's own colours and sizes; with
    what agents that speak say."""
    places, radii = np.asarray(state.p_pos), np.asarray(env.rad)
    reach = max(_REACH, float(np.max(np.abs(places) + radii[:, None])))
    drawing = Drawing(2 * reach, 2 * reach, (-reach, -reach))
    for entity, ((x, y), radius) in enumerate(zip(places, radii, strict=True)):
        colour = np.clip(np.asarray(env.colour[entity]) / 255, 0, 1)
        is_agent = entity < env.num_agents
        style = {"edgecolor": "black", "linewidth": 0.8} if is_agent else {"linewidth": 0.0}
        drawing.circle(x, y, radius, facecolor=colour, zorder=3 if is_agent else 2, **style)
    said = [
        f"{agent} says {_letter(state.c[index])}"
        for index, agent in enumerate(env.agents)
        if not env.silent[index]
    ]
    drawing.note(f"step {int(state.step)}", *said)
    return drawing.frame()


def _letter(message: Any) -> str:
    """Of the largest entry; messages that are all zeros are silence."""
    values = np.asarray(message)
    return string.ascii_uppercase[int(np.argmax(values))] if np.any(values) else "nothing"


def kitchen(env: Any, state: Any) -> np.ndarray:
    """Overcooked: counters grey; onions yellow, plates white, soups red on a plate; where soups are
    delivered is green; pots black, with what is in them and the steps that it still cooks. Cooks
    look along their line and carry what is drawn beside them."""
    from jaxmarl.environments.overcooked.common import OBJECT_TO_INDEX

    names = {number: name for name, number in OBJECT_TO_INDEX.items()}
    rows, columns = np.asarray(state.wall_map).shape
    drawing = grid(rows, columns)
    tiles = np.asarray(state.maze_map)
    around = (tiles.shape[0] - rows) // 2
    for row, column in np.ndindex(rows, columns):
        thing, _, status = tiles[around + row, around + column].tolist()
        if state.wall_map[row, column]:
            drawing.square(column + 0.5, row + 0.5, 1.0, facecolor="#999999", zorder=1)
        _thing(drawing, column + 0.5, row + 0.5, names[thing], status)
    cooks = zip(state.agent_pos, state.agent_dir_idx, state.agent_inv, strict=True)
    for cook, ((column, row), heading, carried) in enumerate(cooks):
        x, y, (dx, dy) = column + 0.5, row + 0.5, _HEADINGS[int(heading)]
        colour = BLUE if cook == 0 else VERMILION
        drawing.circle(x, y, 0.33, facecolor=colour, zorder=2)
        drawing.line((x, x + 0.45 * dx), (y, y + 0.45 * dy), color=INK, linewidth=2.0, zorder=3)
        _food(drawing, x + 0.25, y + 0.25, names[int(carried)], 0.15)
    drawing.text(0.1, 0.1, f"step {int(state.step)}", ha="left", va="top", zorder=10)
    return drawing.frame()


def _thing(drawing: Drawing, x: float, y: float, name: str, status: int) -> None:
    """What lies or stands on a tile."""
    if name == "goal":
        drawing.square(x, y, 0.8, facecolor=GREEN, zorder=2)
    elif name == "pot":
        drawing.square(x, y, 0.8, facecolor=INK, zorder=2)
        words = f"{_COOKING + 3 - status}/3" if status > _COOKING else f"{status}"
        drawing.text(x, y, words if status else "soup", color="white", zorder=3)
    elif name in ("onion_pile", "plate_pile"):
        for dx, dy in ((-0.2, 0.15), (0.2, 0.15), (0.0, -0.15)):
            _food(drawing, x + dx, y + dy, name.removesuffix("_pile"), 0.17)
    else:
        _food(drawing, x, y, name, 0.25)


def _food(drawing: Drawing, x: float, y: float, name: str, radius: float) -> None:
    if name in ("onion", "plate", "dish"):
        colour = _ONION if name == "onion" else "white"
        style = {"edgecolor": INK, "linewidth": 0.8, "zorder": 4}
        drawing.circle(x, y, radius, facecolor=colour, **style)
    if name == "dish":
        drawing.circle(x, y, 0.6 * radius, facecolor=_SOUP, zorder=5)
