"""Tasks of the learning table, and the settings of each system on them.

Settings are those that a user would write: arguments of the system's function, and nothing else.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from mava.core.system import System
from mava.environments.factory import EnvironmentFactory
from mava.functional.schedules import Linear
from mava.systems import SYSTEMS

ENVIRONMENTS = 8
EVALUATIONS = 10
EPISODES = 32


@dataclasses.dataclass(frozen=True)
class Task:
    """A task.

    Attributes:
        environment: a name for ``mava.make``.
        kwargs: its arguments.
        steps: environment steps of training.
        discount: of every system.
        scale, shift: ``scale * return + shift`` is the return in the convention of published
            figures, where there are any.
        published: by system, five-seed means at 2M steps (20M on-policy) in that convention.
        settings: by system, what differs from ``SETTINGS``.
        systems: the systems that are run by default.
        topology: that they run in.
        metric: the environment's own scalar that the table shows in place of the return.
    """

    environment: str
    kwargs: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    steps: int = 100_000
    discount: float = 0.99
    scale: float = 1.0
    shift: float = 0.0
    published: Mapping[str, float] = dataclasses.field(default_factory=dict)
    settings: Mapping[str, Mapping[str, Any]] = dataclasses.field(default_factory=dict)
    systems: tuple[str, ...] = ("madqn", "rec_iql", "vdn", "qmix", "maddpg", "ippo", "mappo")
    topology: str = "single_process"
    metric: str | None = None


_SPREAD = {"madqn": -132.6, "vdn": -131.0, "qmix": -126.6, "maddpg": -141.7}
_LISTENER = {"madqn": -18.4, "vdn": -16.0, "qmix": -11.6, "maddpg": -13.6}

_SEQUENCES = {
    "num_environments": 16,
    "update_every": 32,
    "batch_size": 32,
    "sequence_length": 20,
    "target_rate": 0.01,
}
_ON_MANY = {
    name: {"num_environments": 32, "epochs": 4, "minibatches": 4} for name in ("ippo", "mappo")
}


def _smax(scenario: str) -> Task:
    """Networks with memory everywhere."""
    team = {**_SEQUENCES, "recurrent": True, "hidden_sizes": (128,)}
    policy = {"recurrent": True, "hidden_sizes": (128,), "memory_size": 64}
    return Task(
        f"jaxmarl/smax/{scenario}",
        steps=500_000,
        settings={
            "rec_iql": {**_SEQUENCES, "head_sizes": ()},
            "vdn": team,
            "qmix": team,
            "ippo": {**_ON_MANY["ippo"], **policy},
            "mappo": {**_ON_MANY["mappo"], **policy},
        },
        systems=("rec_iql", "vdn", "qmix", "ippo", "mappo"),
        topology="compiled",
        metric="won",
    )


TASKS: dict[str, Task] = {
    "spread": Task(
        "mpe2/simple_spread_v3",
        discount=0.9,
        scale=6.0,
        shift=-75.0,
        published={**_SPREAD, "ippo": -133.9, "mappo": -133.5},
    ),
    "speaker_listener": Task(
        "mpe2/simple_speaker_listener_v4",
        discount=0.9,
        scale=2.0,
        published={**_LISTENER, "ippo": -13.1, "mappo": -10.7},
    ),
    "foraging": Task(
        "lbforaging/Foraging-8x8-2p-2f-coop-v3",
        scale=2.0,
        published={
            **dict.fromkeys(("madqn", "vdn", "qmix", "ippo", "mappo"), 1.0),
            "maddpg": 0.46,
        },
        steps=300_000,
        settings={
            name: {"n_step": 3, "update_every": 8} for name in ("madqn", "vdn", "qmix", "maddpg")
        },
    ),
    "reference": Task("mpe2/simple_reference_v3", discount=0.9, systems=("madqn", "qmix", "mappo")),
    "adversary": Task("mpe2/simple_adversary_v3", discount=0.9, systems=("madqn", "maddpg")),
    "tag": Task("mpe2/simple_tag_v3", discount=0.9, systems=("madqn", "maddpg", "ippo")),
    "pursuit": Task("pettingzoo/sisl/pursuit_v5", systems=("madqn", "ippo")),
    "continuous_spread": Task(
        "mpe2/simple_spread_v3",
        {"continuous_actions": True},
        discount=0.9,
        scale=6.0,
        shift=-75.0,
        systems=("maddpg",),
    ),
    **{f"smax_{name}": _smax(name) for name in ("3m", "2s3z")},
    "jax_spread": Task(
        "jaxmarl/mpe/simple_spread_v3",
        steps=1_000_000,
        discount=0.9,
        settings=_ON_MANY,
        systems=("ippo", "mappo"),
        topology="compiled",
    ),
    "jax_foraging": Task(
        "jumanji/LevelBasedForaging-v0",
        steps=1_000_000,
        settings=_ON_MANY,
        systems=("ippo", "mappo"),
        topology="compiled",
    ),
}


def make_system(name: str, task: Task, steps: int) -> System:
    """The system of a task, its exploration over three tenths of the steps."""
    options = {
        "num_environments": ENVIRONMENTS,
        "discount": task.discount,
        **_settings(name, steps),
        **task.settings.get(name, {}),
    }
    environment = EnvironmentFactory(task.environment, tuple(sorted(task.kwargs.items())))
    system = SYSTEMS[name](environment, **options)
    every = max(1, steps // EVALUATIONS)
    return system.replace("evaluator", every=every, episodes=EPISODES)


def _settings(name: str, steps: int) -> dict[str, Any]:
    epsilon = Linear(1.0, 0.05, steps * 3 // 10)
    q_learning = {"update_every": 16, "epsilon": epsilon}
    return {
        "madqn": {**q_learning, "hidden_sizes": (128, 128)},
        "vdn": {**q_learning, "hidden_sizes": (128, 128)},
        "qmix": {**q_learning, "hidden_sizes": (128, 128)},
        "rec_iql": {"epsilon": epsilon},
        "maddpg": {"update_every": 16, "hidden_sizes": (128, 128)},
        "ippo": {"hidden_sizes": (128, 128)},
        "mappo": {"hidden_sizes": (128, 128)},
    }.get(name, {})
