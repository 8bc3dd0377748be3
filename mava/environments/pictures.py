"""Frames of environments, and how to build an environment that gives some."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from mava.environments.base import Environment
from mava.environments.factory import Buildable, EnvironmentFactory, as_factory
from mava.environments.host import to_host
from mava.errors import ConfigurationError, EnvironmentFault

_MODE: Mapping[str, Any] = {"render_mode": "rgb_array"}
_DRAWN_BY_PETTINGZOO = ("mpe2", "pettingzoo")


def build_to_draw(recipe: Buildable) -> Environment:
    """The environment, made to give frames where that has to be asked of its constructor, by
    ``render_mode="rgb_array"``.

    Raises:
        ConfigurationError: as ``EnvironmentFactory.build``.
    """
    if not isinstance(recipe, EnvironmentFactory):
        return to_host(recipe.build())
    if isinstance(recipe.source, str):
        asks = recipe.source.partition("/")[0] in _DRAWN_BY_PETTINGZOO
        return to_host((as_factory(recipe, **_MODE) if asks else recipe).build())
    takes, hides = _render_mode_in(recipe.source)
    if takes:
        return to_host(as_factory(recipe, **_MODE).build())
    if hides:
        try:
            return to_host(as_factory(recipe, **_MODE).build())
        except TypeError:  # so what it passes everything on to takes no such argument
            pass
    return to_host(recipe.build())


def frame_of(environment: Environment) -> np.ndarray:
    """The current frame, uint8 ``[height, width, 3]``.

    Raises:
        ConfigurationError: the environment has no picture.
        EnvironmentFault: drawing failed, or gave something else.
    """
    name = environment.spec.name
    try:
        frame = environment.render()
    except Exception as error:
        raise EnvironmentFault(
            f"{name}: render() raised {type(error).__name__}: {error}"
        ) from error
    if frame is None:
        raise ConfigurationError(
            f"{name} has no picture; an environment of your own gets one by a render method, one "
            f"of PettingZoo's by a constructor that takes render_mode='rgb_array'"
        )
    if not isinstance(frame, np.ndarray) or frame.dtype != np.uint8 or frame.shape[2:] != (3,):
        found = type(frame).__name__
        if isinstance(frame, np.ndarray):
            found = f"{frame.dtype}{list(frame.shape)}"
        raise EnvironmentFault(f"{name}: render() gave {found}, not uint8 [height, width, 3]")
    return frame


def _render_mode_in(source: Callable[..., Any]) -> tuple[bool, bool]:
    """Whether a callable has the argument, and whether it takes any."""
    try:
        parameters = inspect.signature(source).parameters
    except (TypeError, ValueError):
        return False, False
    kinds = {parameter.kind for parameter in parameters.values()}
    return "render_mode" in parameters, inspect.Parameter.VAR_KEYWORD in kinds
