"""Generalised advantages against numbers by hand and a loop in numpy."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mava.functional.gae import generalised_advantage
from mava.functional.loops import plain_python


def by_loop(
    reward: Any, value: Any, following: Any, terminated: Any, ended: Any, gamma: float, lam: float
) -> np.ndarray:
    advantage = np.zeros_like(reward)
    for agent in range(reward.shape[1]):
        later = 0.0
        for t in reversed(range(len(reward))):
            goes_on = not (terminated[t, agent] or ended[t, agent])
            bootstrap = 0.0 if terminated[t, agent] else gamma * following[t, agent]
            delta = reward[t, agent] + bootstrap - value[t, agent]
            later = delta + (gamma * lam * later if goes_on else 0.0)
            advantage[t, agent] = later
    return advantage


def column(*values: Any) -> Any:
    return jnp.asarray(values)[:, None]


def test_three_steps_by_hand() -> None:
    """Deltas are (1 + .5 * 2 - 1, 0 + .5 * 4 - 2, 3 - 4) = (1, 0, -1); they decay by .25."""
    advantage = generalised_advantage(
        r_t=column(1.0, 0.0, 3.0),
        v_tm1=column(1.0, 2.0, 4.0),
        v_t=column(2.0, 4.0, 100.0),
        termination_t=column(False, False, True),
        ended_t=column(False, False, True),
        discount=0.5,
        trace=0.5,
    )
    np.testing.assert_allclose(advantage[:, 0], [1.0 - 0.0625, -0.25, -1.0])


def test_f15_a_truncated_step_goes_on_from_its_true_last_observation() -> None:
    """V(final) = 10, V(reset) = 0, r = 1, discount 0.9: the target is 10, not 1; after a
    termination it is 1."""
    for terminated, target in ((False, 10.0), (True, 1.0)):
        reward, value = column(1.0, 7.0), column(3.0, 0.0)
        advantage = generalised_advantage(
            reward,
            value,
            column(10.0, 5.0),
            column(terminated, False),
            column(True, False),
            discount=0.9,
            trace=0.95,
        )
        assert advantage[0, 0] + value[0, 0] == pytest.approx(target)


def test_agents_end_apart() -> None:
    """The first agent dies at the second of three steps; the other's sum runs on."""
    ones = jnp.ones((3, 2))
    terminated = jnp.asarray([[False, False], [True, False], [False, True]])
    advantage = generalised_advantage(
        ones, 0 * ones, 0 * ones, terminated, jnp.zeros((3, 2), bool), 1.0, 1.0
    )
    np.testing.assert_allclose(advantage, [[2, 3], [1, 2], [1, 1]])


def test_what_follows_a_termination_has_no_influence() -> None:
    advantage = generalised_advantage(
        column(1.0, 1.0),
        column(0.0, 0.0),
        column(jnp.nan, 0.0),
        column(True, False),
        column(True, False),
        0.9,
        0.9,
    )
    assert np.isfinite(advantage).all()


@pytest.mark.parametrize(("gamma", "lam"), [(0.99, 0.95), (0.9, 0.0), (0.9, 1.0), (1.0, 1.0)])
def test_it_equals_a_loop(gamma: float, lam: float) -> None:
    rng = np.random.default_rng(0)
    reward, value, following = rng.normal(size=(3, 40, 5)).astype(np.float32)
    terminated, ended = rng.random((2, 40, 5)) < 0.15
    expected = by_loop(reward, value, following, terminated, ended, gamma, lam)
    arguments = (reward, value, following, terminated, ended, gamma, lam)
    np.testing.assert_allclose(generalised_advantage(*arguments), expected, rtol=1e-4, atol=1e-4)


def test_plain_python_gives_the_same_and_no_gradient_flows() -> None:
    x = column(1.0, 2.0)
    flags = column(False, True)
    with plain_python():
        plain = generalised_advantage(x, x, x, flags, flags, 0.9, 0.9)
    np.testing.assert_allclose(plain, generalised_advantage(x, x, x, flags, flags, 0.9, 0.9))
    slope = jax.grad(lambda v: generalised_advantage(x, v, v, flags, flags, 0.9, 0.9).sum())(x)
    assert not slope.any()
