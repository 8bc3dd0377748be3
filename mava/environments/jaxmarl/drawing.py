"""Pictures of states of ``jaxmarl``."""

from __future__ import annotations

import string
from typing import Any

import numpy as np

from mava.environments.drawing import BLUE, VERMILION, Drawing

_REACH = 1.5
"""What is always shown of MPE's plane; where landmarks and agents begin is within 1."""


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
