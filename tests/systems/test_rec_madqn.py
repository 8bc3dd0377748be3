"""Recurrent MADQN: what it adds to recurrent IQL, and that it learns."""

from __future__ import annotations

import dataclasses

import jax.numpy as jnp
import numpy as np
import pytest

from mava.components.losses.madqn import MADQNLoss
from mava.core.system import build
from mava.systems import rec_iql, rec_madqn
from mava.testing import builders
from tests.systems.solving import evaluated
from tests.systems.test_rec_iql import SMALL
from tests.topologies.running import ran

OPTIONS = {name: value for name, value in SMALL.items() if name != "target_rate"}


def small(**options: object):  # type: ignore[no-untyped-def]
    return rec_madqn(
        "probe/hidden_cue", **{**OPTIONS, "burn_in": 4, "target_period": 20, **options}
    )


def test_it_is_recurrent_iql_with_other_parts() -> None:
    ours = {component.name: component for component in rec_madqn("probe/hidden_cue")}
    theirs = {component.name: component for component in rec_iql("probe/hidden_cue")}
    assert ours.keys() - theirs.keys() == {"prioritised_replay", "burn_in", "hard_target_update"}
    assert theirs.keys() - ours.keys() == {"uniform_replay", "soft_target_update"}
    assert build(rec_madqn("probe/hidden_cue")).plan.sequence_length == 20 + 10


@pytest.mark.slow
def test_it_remembers_a_cue() -> None:
    system = small()
    assert evaluated(system, ran(system, 2_400)).mean_return == 1.0


def test_priorities_join_the_largest_error_and_the_mean() -> None:
    """Errors 1 and 3 of one agent, and 8 of a dead one: 0.9 * 3 + 0.1 * 2."""
    spec = builders.environment_spec(builders.group_spec(2, (1,), 2))
    batch = builders.batch(spec, size=1, length=2)
    batch["action"] = {"agents": jnp.zeros((1, 2, 2), jnp.int32)}
    batch["reward"] = {"agents": jnp.asarray([[[1.0, 8.0], [3.0, 8.0]]])}
    batch["discount"] = {"agents": jnp.zeros((1, 2, 2))}
    batch["alive"] = {"agents": jnp.asarray([[[True, False], [True, False]]])}
    zeros = {"agents": jnp.zeros((1, 2, 2, 2))}
    context = builders.learn_context(spec, unroll=builders.fixed_scores(zeros, zeros))
    for share, priority in ((0.9, 2.9), (0.0, 2.0), (1.0, 3.0)):
        loss = dataclasses.replace(MADQNLoss(), max_priority_share=share)
        output = loss.loss({}, batch, context)
        np.testing.assert_allclose(output.priorities, [priority], atol=1e-5)
