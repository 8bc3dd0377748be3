"""What a critic is given: all groups, the specification, and each agent's own action."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mava.core.acting import Acting
from mava.core.contexts import Params, ValueContext, ValueInputs
from mava.core.lifecycle import InitParams, Value
from mava.core.unrolling import unroll_values
from mava.testing import builders
from mava.testing.small_systems import q_learning
from mava.types import Array, EnvironmentSpec, PyTree

SPEC = builders.environment_spec(
    builders.group_spec(1, (2,), 2, "scouts"), builders.group_spec(2, (3,), 4, "carriers"), state=4
)


@dataclasses.dataclass(frozen=True)
class CountingCritic(InitParams, Value):
    """Values ``[own action, number of actions of all groups]``, as two critics."""

    def init_params(self, key: jax.Array, spec: EnvironmentSpec) -> dict[str, PyTree]:
        return {"critic": jnp.zeros(())}

    def value(
        self, params: Params, inputs: ValueInputs, memory: PyTree, context: ValueContext
    ) -> tuple[Array, PyTree]:
        assert inputs.action is not None
        name = context.group.name
        own = inputs.action if inputs.own_action is None else inputs.own_action
        choices = sum(group.actions.num_choices for group in context.spec.groups)
        first = own[name].astype(jnp.float32)
        return jnp.stack([first, jnp.full_like(first, choices)], axis=-1), memory


@pytest.mark.parametrize("prefix", ["", "next_"])
def test_a_critic_sees_all_groups_and_the_own_action_in_place_of_the_one_taken(prefix: str) -> None:
    acting = Acting(q_learning("matrix/climbing", CountingCritic()).components, SPEC)
    batch = builders.batch(SPEC)
    batch["next_action"] = batch["action"]

    def values(batch: Any) -> Any:
        unrolled = unroll_values(acting, CountingCritic(), {}, batch, {})
        return unrolled.next_values() if prefix else unrolled.values

    taken = values(batch)
    own = values({**batch, f"{prefix}own_action": {n: 7 - x for n, x in batch["action"].items()}})
    for name, action in batch["action"].items():
        assert taken[name].shape == (*action.shape, 2)
        np.testing.assert_array_equal(taken[name][..., 0], action)
        np.testing.assert_array_equal(own[name][..., 0], 7 - action)
        assert (np.asarray(own[name][..., 1]) == 2 + 4).all()
