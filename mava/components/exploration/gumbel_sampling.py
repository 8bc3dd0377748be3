"""Exploration by sampling from logits."""

from __future__ import annotations

import dataclasses

import jax
import jax.numpy as jnp

from mava.core.contexts import ActContext, Selection
from mava.core.lifecycle import SelectAction
from mava.core.plans import check_count
from mava.errors import WiringError
from mava.functional.actions import choose
from mava.types import Array, ContinuousActions, PyTree


@dataclasses.dataclass(frozen=True)
class GumbelSampling(SelectAction):
    """Samples each choice from the softmax of its logits, over what is legal: the largest of logits
    plus Gumbel noise (Gumbel, 1954; Maddison et al., 2014). The greedy choice is the largest legal
    logit.

    Attributes:
        random_steps: the first transitions, over all environments, in which choices are uniform.

    Raises:
        ConfigurationError: for a negative number of steps.
        WiringError: at build, for a group of continuous actions.
    """

    random_steps: int = 0

    def __post_init__(self) -> None:
        check_count(f"{self.name}.random_steps", self.random_steps, least=0)

    def select_action(
        self, scores: Array, legal_actions: Array, memory: PyTree, context: ActContext
    ) -> tuple[Selection, PyTree]:
        group = context.group
        if isinstance(group.actions, ContinuousActions):
            raise WiringError(
                f"{self.name} samples choices, but group {group.name!r} (agents "
                f"{', '.join(map(str, group.agents))}) has {group.actions}; use GaussianNoise"
            )
        return sample_choice(scores, legal_actions, context, self.random_steps), memory


def sample_choice(logits: Array, legal: Array, context: ActContext, random_steps: int) -> Selection:
    """See ``GumbelSampling``."""
    ranks = jnp.asarray(logits)
    if context.explore:
        ranks = jnp.where(context.clock < random_steps, jnp.zeros_like(ranks), ranks)
        ranks = ranks + jax.random.gumbel(context.key, ranks.shape, ranks.dtype)
    return Selection(choose(ranks, legal, context.group.actions), {})
