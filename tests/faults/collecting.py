"""Whole systems that collect: acting, environments and recording as in a real run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mava.core.system import System
from mava.topologies.base import policy_of
from mava.topologies.single_process import SingleProcess


class Collecting(SingleProcess):
    """Compiles each function when it is first called, so a run that ends before ``min_size`` never
    compiles learning."""

    def _compile(self, say: Callable[[str], None]) -> None:
        pass


def collected(system: System, steps: int, seed: int = 0) -> Collecting:
    """``steps`` environment steps, without a trainer step; the Q-network becomes a linear one."""
    system = system.replace("uniform_replay", min_size=system["uniform_replay"].capacity)
    if any(component.name == "q_network" for component in system):
        system = system.replace("q_network", hidden_sizes=(), convolutions=())
    runner = Collecting(system, seed)
    runner.start(lambda text: None)
    runner.advance(steps)
    assert runner.trainer_steps == 0
    return runner


class Kept:
    """A factory that keeps what it made; training takes the first ``num_environments``."""

    def __init__(self, make: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
        self.make, self.args, self.kwargs = make, args, kwargs
        self.made: list[Any] = []

    def __call__(self) -> Any:
        self.made.append(self.make(*self.args, **self.kwargs))
        return self.made[-1]


def greedy_actions(runner: SingleProcess) -> dict[str, np.ndarray]:
    """Of the greedy policy, on the timestep that training acts on next, in environment 0."""
    timestep = runner._environment.current
    first = type(timestep)(*(_first(field) for field in timestep))
    policy = policy_of(runner.program, runner.variables())
    actions, _ = policy.act(policy.variables, policy.init_memory(), first, runner._collector._key)
    return {name: np.asarray(action) for name, action in actions.items()}


def _first(field: Any) -> Any:
    if isinstance(field, dict):
        return {name: leaf[0] for name, leaf in field.items()}
    return None if field is None else field[0]
