"""Actions drawn from a policy's distribution."""

from __future__ import annotations

import dataclasses

from mava.core.contexts import ActContext, Selection
from mava.core.lifecycle import SelectAction
from mava.errors import ConfigurationError, WiringError, nearest
from mava.functional.distributions import CONTINUOUS, distribution_of
from mava.types import Array, ContinuousActions, GroupSpec, PyTree


@dataclasses.dataclass(frozen=True)
class SampleAction(SelectAction):
    """Draws from the distribution that the scores stand for; greedy choices are its mode.

    Extras while exploring: ``log_prob`` ``[N]``; and for continuous actions what was drawn, before
    it was squashed or clipped, ``[N, *actions.array.shape]``, under the name of the distribution,
    by which losses know it. An agent with no legal action gets action 0, with certainty.

    Attributes:
        continuous: the distribution of continuous actions: ``"tanh_normal"``, squashed between the
            bounds, or ``"gaussian"``, clipped to the bounds where there are any.

    Raises:
        ConfigurationError: for another distribution.
        WiringError: at build, for a tanh-normal distribution without finite bounds.
    """

    continuous: str = "tanh_normal"

    def __post_init__(self) -> None:
        if self.continuous not in CONTINUOUS:
            raise ConfigurationError(
                f"{self.name}.continuous is {self.continuous!r}"
                f"{nearest(self.continuous, CONTINUOUS)}"
            )

    def select_action(
        self, scores: Array, legal_actions: Array, memory: PyTree, context: ActContext
    ) -> tuple[Selection, PyTree]:
        actions = context.group.actions
        self._check_bounds(context.group)
        policy = distribution_of(actions, scores, legal_actions, self.continuous)
        if not context.explore:
            return Selection(policy.to_action(policy.mode()), {}), memory
        raw = policy.sample(context.key)
        extras = {"log_prob": policy.log_prob(raw)}
        if isinstance(actions, ContinuousActions):
            extras[self.continuous] = raw
        return Selection(policy.to_action(raw), extras), memory

    def _check_bounds(self, group: GroupSpec) -> None:
        actions = group.actions
        if not isinstance(actions, ContinuousActions) or self.continuous == "gaussian":
            return
        if not actions.is_bounded:
            raise WiringError(
                f"{self.name} squashes actions between their bounds, but group {group.name!r} "
                f"(agents {', '.join(map(str, group.agents))}) has {actions}, which are not "
                f"bounded; set {self.name}.continuous to 'gaussian', or bound the actions"
            )
