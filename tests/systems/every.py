"""Every system of the shelf, small and quick: feed-forward and, where it has one, recurrent."""

from __future__ import annotations

from typing import Any

from mava.core.system import System
from mava.functional.schedules import Linear
from mava.systems import SYSTEMS

REPLAY: dict[str, Any] = {
    "num_environments": 4,
    "capacity": 10_000,
    "min_size": 64,
    "batch_size": 64,
    "update_every": 8,
    "updates": 2,
    "discount": 0.9,
    "hidden_sizes": (32,),
}
VALUES: dict[str, Any] = {
    **REPLAY,
    "learning_rate": 3e-3,
    "epsilon": Linear(1.0, 0.05, 600),
}
SEQUENCES: dict[str, Any] = {
    **VALUES,
    "min_size": 128,
    "batch_size": 16,
    "sequence_length": 8,
    "period": 2,
    "learning_rate": 5e-3,
    "epsilon": Linear(1.0, 0.05, 1_000),
    "hidden_sizes": (16,),
    "memory_size": 16,
}
ACTORS: dict[str, Any] = {
    **REPLAY,
    "random_steps": 200,
    "actor_learning_rate": 3e-3,
    "critic_learning_rate": 5e-3,
    "target_rate": 0.05,
}
POLICIES: dict[str, Any] = {
    "num_environments": 8,
    "rollout_length": 8,
    "epochs": 4,
    "minibatches": 2,
    "discount": 0.9,
    "hidden_sizes": (32,),
    "learning_rate": 5e-3,
}
TORSO = {"torso_sizes": (16,), "head_sizes": ()}
_GRU = {name: value for name, value in SEQUENCES.items() if name != "hidden_sizes"} | TORSO
_MEMORY = {"recurrent": True, "hidden_sizes": (16,), "memory_size": 16}

VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    "madqn": ("madqn", {**VALUES, "target_period": 50}),
    "vdn": ("vdn", VALUES),
    "qmix": ("qmix", VALUES),
    "maddpg": ("maddpg", ACTORS),
    "matd3": ("matd3", ACTORS),
    "ippo": ("ippo", POLICIES),
    "mappo": ("mappo", POLICIES),
    "rec_iql": ("rec_iql", {**_GRU, "target_rate": 0.02}),
    "rec_madqn": ("rec_madqn", {**_GRU, "burn_in": 4, "target_period": 20}),
    "rec_vdn": ("vdn", {**SEQUENCES, "recurrent": True}),
    "rec_qmix": ("qmix", {**SEQUENCES, "recurrent": True}),
    "rec_ippo": ("ippo", {**POLICIES, **_MEMORY}),
    "rec_mappo": ("mappo", {**POLICIES, **_MEMORY}),
}
"""By name: the system, and options under which it learns a probe in about a thousand steps."""

TEAMS = {name for name, (system, _) in VARIANTS.items() if system in ("vdn", "qmix")}
RECURRENT = {name for name in VARIANTS if name.startswith("rec_")}
ON_POLICY = {name for name, (system, _) in VARIANTS.items() if system in ("ippo", "mappo")}


def every(variant: str, environment: Any, **options: Any) -> System:
    """A variant by name; ``options`` that its system does not take fail."""
    system, defaults = VARIANTS[variant]
    return SYSTEMS[system](environment, **{**defaults, **options})
