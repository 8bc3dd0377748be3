"""Environments by name."""

from __future__ import annotations

import functools
import importlib
import importlib.util
import inspect
import os
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from mava.environments import foraging
from mava.environments.base import Environment, JaxEnvironment
from mava.environments.jaxmarl.names import NAMES as JAXMARL
from mava.environments.jaxmarl.names import REFUSED
from mava.environments.jumanji.names import NAMES as JUMANJI
from mava.errors import ConfigurationError, nearest

AnyEnvironment = Environment | JaxEnvironment

_JAX: dict[str, tuple[str, str]] = {
    "matrix/climbing": ("mava.environments.matrix", "climbing"),
    "matrix/penalty": ("mava.environments.matrix", "penalty"),
    "matrix/two_step": ("mava.environments.matrix", "TwoStep"),
    "probe/constant_reward": ("mava.testing.probes", "ConstantReward"),
    "probe/observation_decides": ("mava.testing.probes", "ObservationDecides"),
    "probe/delayed_reward": ("mava.testing.probes", "DelayedReward"),
    "probe/own_action_decides": ("mava.testing.probes", "OwnActionDecides"),
    "probe/agreement": ("mava.testing.probes", "Agreement"),
    "probe/truncation": ("mava.testing.probes", "Truncation"),
    "probe/termination": ("mava.testing.probes", "Termination"),
    "probe/two_groups": ("mava.testing.group_probes", "TwoGroups"),
    "probe/opposed_groups": ("mava.testing.group_probes", "OpposedGroups"),
    "probe/continuous_target": ("mava.testing.probes", "ContinuousTarget"),
    "probe/choices": ("mava.testing.probes", "Choices"),
    "probe/image_cue": ("mava.testing.probes", "ImageCue"),
    "probe/hidden_cue": ("mava.testing.probes", "HiddenCue"),
}
_FORAGING = "lbforaging"
_ADAPTED = {
    "jaxmarl": ("mava.environments.jaxmarl.adapter", "JaxMarlEnvironment", JAXMARL),
    "jumanji": ("mava.environments.jumanji.adapter", "JumanjiEnvironment", JUMANJI),
}
_PACKAGES = {
    "mpe2": "mpe2",
    "pettingzoo": "pettingzoo",
    _FORAGING: "'mava[lbf]'",
    "jaxmarl": "'mava[jaxmarl]'",
    "jumanji": "'mava[jumanji]'",
}
_FAMILIES = ("atari", "butterfly", "classic", "sisl")
WRAPPER_OPTIONS = ("frame_stack", "death_masking")
ADAPTER_OPTIONS = ("groups", "global_state", "reset_kwargs", "parallel", "waiting")


def list_environments() -> list[str]:
    """The names that ``make`` knows here, sorted. Imports no environment.

    Of ``lbforaging`` these are the published tasks; ``make`` knows those of other sizes too.
    """
    names = [*_JAX, *(f"mpe2/{name}" for name in _modules("mpe2"))]
    if importlib.util.find_spec(_FORAGING) is not None:
        names += [f"{_FORAGING}/{name}" for name in foraging.NAMES]
    for package, (_, _, tasks) in _ADAPTED.items():
        if importlib.util.find_spec(package) is not None:
            names += [f"{package}/{task}" for task in tasks]
    for family in _FAMILIES:
        names += [f"pettingzoo/{family}/{name}" for name in _modules("pettingzoo", family)]
    return sorted(names)


def _modules(package: str, folder: str = "") -> list[str]:
    """The versioned environment modules that lie in an installed package."""
    found = importlib.util.find_spec(package)
    if found is None or not found.submodule_search_locations:
        return []
    place = Path(next(iter(found.submodule_search_locations)), folder)
    return [file.stem for file in place.glob("*_v[0-9]*.py") if re.search(r"_v\d+$", file.stem)]


def check_name(name: str) -> None:
    """Raises ``ConfigurationError`` with the nearest name, or with what to install."""
    package, _, task = name.partition("/")
    if package in _PACKAGES and importlib.util.find_spec(package) is None:
        newer = ", on Python 3.11 or newer" if package == "jaxmarl" else ""
        raise ConfigurationError(
            f"environment {name!r} needs the package {package!r}: "
            f"pip install {_PACKAGES[package]}{newer}"
        )
    if package == _FORAGING and foraging.arguments_of(task) is not None:
        return
    if package == "jaxmarl" and task in REFUSED:
        raise ConfigurationError(f"environment {name!r} has no adapter: it {REFUSED[task]}")
    known = list_environments()
    if name not in known:
        raise ConfigurationError(f"unknown environment {name!r}{nearest(name, known)}")


def make(
    name: str,
    *,
    groups: Mapping[str, Sequence[Any]] | None = None,
    global_state: bool = False,
    reset_kwargs: Mapping[str, Any] | None = None,
    parallel: bool = False,
    waiting: str = "pass",
    frame_stack: int | None = None,
    death_masking: bool = False,
    **kwargs: Any,
) -> AnyEnvironment:
    """Makes an environment.

    Args:
        name: one of ``list_environments()``, such as ``mpe2/simple_spread_v3``,
            ``pettingzoo/sisl/pursuit_v5``, ``lbforaging/Foraging-8x8-2p-2f-coop-v3``,
            ``jaxmarl/smax/3m``, ``jumanji/RobotWarehouse-v0`` or ``matrix/climbing``.
        groups: for those of packages, by name, in place of agents with equal spaces; see
            ``mava.environments.adapt``.
        global_state: whether timesteps have the environment's state. JAX environments that have one
            always show it.
        reset_kwargs: for PettingZoo's, as the next two; passed to each reset.
        parallel: whether the agents of a turn-based environment act together.
        waiting: what the others do in a turn.
        frame_stack: observations that agents see at once; see ``mava.environments.FrameStack``.
        death_masking: whether the dead are shown zeros; see ``mava.environments.DeathMasking``.
        kwargs: for the environment's own constructor.

    Raises:
        ConfigurationError: an unknown name or argument, with the nearest that exists, or a package
            that is not installed, with the command that installs it.
    """
    check_name(name)
    adapting = (groups, global_state, reset_kwargs, parallel, waiting)
    made = _made(name, adapting, kwargs)
    return wrapped(made, frame_stack, death_masking)


def wrapped(
    environment: AnyEnvironment, frame_stack: int | None = None, death_masking: bool = False
) -> AnyEnvironment:
    """The environment in the wrappers asked for, masking outermost."""
    if frame_stack is None and not death_masking:
        return environment
    from mava.environments.wrappers import DeathMasking, FrameStack, wrap

    stacked = wrap(environment, *([] if frame_stack is None else [FrameStack(frame_stack)]))
    return wrap(stacked, DeathMasking()) if death_masking else stacked


def _made(name: str, adapting: tuple[Any, ...], kwargs: dict[str, Any]) -> AnyEnvironment:
    if name in _JAX:
        if adapting != (None, False, None, False, "pass"):
            raise ConfigurationError(
                f"{name}: {', '.join(ADAPTER_OPTIONS)} are for PettingZoo environments"
            )
        module_name, attribute = _JAX[name]
        constructor = getattr(importlib.import_module(module_name), attribute)
        made: AnyEnvironment = _call(name, constructor, constructor, kwargs)
        return made
    if name.partition("/")[0] in _ADAPTED:
        return _adapted(name, adapting, kwargs)
    env = _foraging(name, kwargs) if name.startswith(f"{_FORAGING}/") else _make(name, kwargs)
    from mava.environments.pettingzoo import adapt

    return adapt(env, name, *adapting)


def _adapted(name: str, adapting: tuple[Any, ...], kwargs: dict[str, Any]) -> JaxEnvironment:
    groups, global_state, *rest = adapting
    if rest != [None, False, "pass"]:
        raise ConfigurationError(
            f"{name}: {', '.join(ADAPTER_OPTIONS[2:])} are for PettingZoo environments"
        )
    module, attribute, _ = _ADAPTED[name.partition("/")[0]]
    constructor = getattr(importlib.import_module(module), attribute)
    made: JaxEnvironment = constructor(name, kwargs, groups)
    spec = made.spec  # builds it, so that what cannot be is refused here
    if global_state and spec.state is None:
        raise ConfigurationError(f"{name} has no global state; leave global_state out")
    return made


def _make(name: str, kwargs: dict[str, Any]) -> Any:
    module = _import(name)
    constructor = getattr(module, "parallel_env", None) or module.env
    return _call(name, constructor, getattr(module, "raw_env", constructor), kwargs)


def _foraging(name: str, kwargs: dict[str, Any]) -> Any:
    signed = importlib.import_module("lbforaging.foraging.environment").ForagingEnv
    task = name.partition("/")[2]
    return _call(name, functools.partial(foraging.Foraging, task), signed, kwargs)


def _import(name: str) -> ModuleType:
    package, *rest = name.split("/")
    os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")
    if not os.environ.get("DISPLAY") and not os.environ.get("WAYLAND_DISPLAY"):
        os.environ.setdefault("SDL_VIDEODRIVER", "dummy")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            return importlib.import_module(".".join((package, *rest)))
    except ImportError as error:
        # `pettingzoo[sisl]` would also build Box2D, which pursuit does not use.
        extra = f"pettingzoo[{rest[0]}]" if package == "pettingzoo" else package
        extra = "mava[sisl]" if "pursuit" in name else extra
        raise ConfigurationError(
            f"environment {name!r} cannot be imported ({error}): pip install '{extra}'"
        ) from error


def _call(
    name: str, constructor: Callable[..., Any], signed: Callable[..., Any], kwargs: dict[str, Any]
) -> Any:
    """Calls the constructor; ``signed`` is the callable whose signature shows the arguments."""
    parameters = inspect.signature(signed).parameters
    if not any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        for key in kwargs:
            if key not in parameters:
                ours = WRAPPER_OPTIONS if name in _JAX else (*ADAPTER_OPTIONS, *WRAPPER_OPTIONS)
                hint = nearest(key, [*parameters, *ours])
                raise ConfigurationError(f"{name} has no argument {key!r}{hint}")
    try:
        return constructor(**kwargs)
    except TypeError as error:
        # Constructors that pass everything on hide their arguments from the check above.
        if "unexpected keyword argument" not in str(error):
            raise
        raise ConfigurationError(f"{name}: {error}") from error
