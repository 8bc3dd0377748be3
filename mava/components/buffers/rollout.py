"""The buffer of on-policy learning."""

from __future__ import annotations

import dataclasses

from mava.core.lifecycle import Plan
from mava.core.plans import BufferPlan, check_count


@dataclasses.dataclass(frozen=True)
class Rollout(Plan):
    """All that was collected in ``length`` steps of every environment: one batch, used once.

    Attributes:
        length: steps of each environment; episodes run on from one rollout to the next.

    Raises:
        ConfigurationError: for a length below 1.
    """

    length: int = 128

    def __post_init__(self) -> None:
        check_count(f"{self.name}.length", self.length)

    def plan(self) -> BufferPlan:
        return BufferPlan.on_policy(self.length)
