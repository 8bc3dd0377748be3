"""Random policies: legal, in bounds, and over the whole of both."""

from typing import Any

import jax
import numpy as np

from mava.launcher.policy import random_policy
from mava.types import (
    ActionSpec,
    ArraySpec,
    ContinuousActions,
    DiscreteActions,
    EnvironmentSpec,
    GroupSpec,
    MultiDiscreteActions,
)


def draw(actions: ActionSpec, legal: Any = None, draws: int = 2000) -> np.ndarray:
    """Actions ``[draws, N, ...]`` of two agents."""
    group = GroupSpec("group", ("a", "b"), ArraySpec((1,), np.dtype(np.float32)), actions)
    spec = EnvironmentSpec("test", (group,))
    timestep = spec.zero_timestep()
    if legal is not None:
        timestep.legal_actions["group"][:] = legal
    act = random_policy(spec).act
    keys = jax.random.split(jax.random.key(0), draws)
    found = jax.vmap(lambda key: act((), (), timestep, key)[0]["group"])(keys)
    assert found.dtype == actions.array.dtype
    assert found.shape == (draws, 2, *actions.array.shape)
    return np.asarray(found)


def test_discrete_actions_are_uniform_over_the_legal_ones() -> None:
    found = draw(DiscreteActions(4), [[True, False, True, True], [False, True, False, False]])
    assert set(np.unique(found[:, 1])) == {1}
    counts = np.bincount(found[:, 0], minlength=4)
    assert counts[1] == 0
    assert all(abs(count - 2000 / 3) < 100 for count in counts[[0, 2, 3]])


def test_without_a_legal_action_it_is_the_no_op() -> None:
    assert (draw(DiscreteActions(3), np.zeros((2, 3), bool)) == 0).all()


def test_each_of_several_choices_is_legal() -> None:
    legal = [[True, False, False, True, True], [False, True, True, True, False]]
    found = draw(MultiDiscreteActions((2, 3)), legal)
    assert set(map(tuple, found[:, 0])) == {(0, 1), (0, 2)}
    assert set(map(tuple, found[:, 1])) == {(1, 0), (1, 1)}


def test_bounded_dimensions_are_uniform_and_others_normal() -> None:
    inf = float("inf")
    found = draw(ContinuousActions((4,), (-2.0, 10.0, -inf, 0.0), (-1.0, 30.0, inf, inf)))
    low, high = found.min((0, 1)), found.max((0, 1))
    for dimension, bounds in ((0, (-2, -1)), (1, (10, 30))):
        assert bounds[0] <= low[dimension] <= high[dimension] <= bounds[1]
        assert high[dimension] - low[dimension] > 0.95 * (bounds[1] - bounds[0])
    assert abs(found[..., 2].std() - 1) < 0.1
    assert low[3] >= 0


def test_the_widest_bounds_give_numbers() -> None:
    largest = float(np.finfo(np.float32).max)
    assert np.isfinite(draw(ContinuousActions((1,), (-largest,), (largest,)))).all()
