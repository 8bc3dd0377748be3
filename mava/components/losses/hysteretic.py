"""Optimistic independent learners: bad outcomes may be the others' fault."""

from __future__ import annotations

import dataclasses

from mava.components.losses.madqn import MADQNLoss
from mava.functional.schedules import check_range
from mava.functional.td_errors import optimistic_weight
from mava.types import Array


@dataclasses.dataclass(frozen=True)
class HystereticMADQNLoss(MADQNLoss):
    """``MADQNLoss`` that learns less from what turns out worse than expected (hysteretic
    Q-learning: Matignon et al., 2007; with deep networks: Omidshafiei et al., 2017).

    An agent that acts well while the others explore is punished for their mistakes. Where a value
    lies above its target the penalty is multiplied by ``beta``, so that the best joint action stays
    in sight. Use it in place of ``MADQNLoss`` in games of coordination:
    ``madqn(environment).with_(HystereticMADQNLoss(beta=0.1))``. Values are of the luckier outcomes,
    so with noise in the rewards they come out too high.

    Attributes:
        beta: of the penalty where the value is above its target, against 1 below it. 1 is
            ``MADQNLoss``; 0 never lowers a value.

    Raises:
        ConfigurationError: for a ``beta`` outside ``[0, 1]``, or what ``MADQNLoss`` refuses.
    """

    beta: float = 0.1

    def __post_init__(self) -> None:
        super().__post_init__()
        check_range(self.name, "beta", self.beta, 0.0, 1.0)

    def _penalty(self, delta: Array) -> Array:
        return optimistic_weight(delta, self.beta) * super()._penalty(delta)
