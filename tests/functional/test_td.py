"""Targets against numbers worked out by hand, and n-step returns against a loop in numpy."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mava.functional import td

Q = jnp.asarray([[1.0, 5.0, 3.0], [4.0, 0.0, 2.0]])
SOME = jnp.asarray([[True, False, True], [False, True, True]])
NONE = jnp.zeros((2, 3), bool)


def test_chosen_picks_along_the_last_axis() -> None:
    np.testing.assert_array_equal(td.chosen(Q, jnp.asarray([2, 0])), [3.0, 4.0])


def test_best_is_the_best_of_the_legal() -> None:
    np.testing.assert_array_equal(td.masked_argmax(Q, SOME), [2, 2])
    np.testing.assert_array_equal(td.masked_max(Q, SOME), [3.0, 2.0])


def test_legal_actions_win_whatever_the_illegal_are_worth() -> None:
    q = jnp.asarray([[-1e30, 1e30]])
    assert td.masked_argmax(q, jnp.asarray([[True, False]]))[0] == 0


def test_without_a_legal_action_it_is_the_no_op() -> None:
    np.testing.assert_array_equal(td.masked_argmax(Q, NONE), [0, 0])
    np.testing.assert_array_equal(td.masked_max(Q, NONE), [1.0, 4.0])
    np.testing.assert_array_equal(td.double_q_value(Q, 10 * Q, NONE), [10.0, 40.0])


def test_double_q_chooses_by_one_and_values_by_the_other() -> None:
    value = jnp.asarray([[10.0, 20.0, 30.0], [40.0, 50.0, 60.0]])
    everything = jnp.ones((2, 3), bool)
    np.testing.assert_array_equal(td.double_q_value(Q, value, everything), [20.0, 40.0])
    np.testing.assert_array_equal(td.double_q_value(Q, value, SOME), [30.0, 60.0])


def test_target_of_a_truncation_and_of_a_termination() -> None:
    ten, one = jnp.asarray([10.0]), jnp.asarray([1.0])
    assert td.td_target(one, jnp.asarray([0.9]), ten)[0] == pytest.approx(10.0)
    assert td.td_target(one, jnp.asarray([0.0]), ten)[0] == 1.0


def test_what_follows_a_termination_has_no_influence() -> None:
    worthless = jnp.asarray([jnp.nan])
    assert td.td_target(jnp.asarray([2.0]), jnp.asarray([0.0]), worthless)[0] == 2.0


def test_target_has_no_gradient() -> None:
    def loss(x: Any) -> Any:
        return td.td_target(x, jnp.asarray([0.9]), x).sum()

    assert jax.grad(loss)(jnp.asarray([3.0]))[0] == 0.0


def n_step(reward: Any, terminated: Any, ended: Any, discount: float = 0.5) -> list[float]:
    flags = (jnp.asarray(x, bool) for x in (terminated, ended))
    result = td.n_step_return(jnp.asarray(reward, jnp.float32), *flags, discount)
    return [float(x) for x in result]


def test_n_step_return_in_the_middle_of_an_episode() -> None:
    # 1 + 2/2 + 4/4 = 3, and what follows counts an eighth.
    assert n_step([1, 2, 4], [0, 0, 0], [0, 0, 0]) == [3.0, 0.125, 2]


def test_one_step_return() -> None:
    assert n_step([1], [0], [0], 0.9) == [1.0, pytest.approx(0.9), 0]
    assert n_step([1], [1], [1], 0.9) == [1.0, 0.0, 0]
    assert n_step([1], [0], [1], 0.9) == [1.0, pytest.approx(0.9), 0]


@pytest.mark.parametrize(("at", "reward"), [(0, 1.0), (1, 2.0), (2, 3.0)])
def test_cut_at_each_position(at: int, reward: float) -> None:
    ended = [index == at for index in range(3)]
    assert n_step([1, 2, 4], ended, ended) == [reward, 0.0, at]  # nothing follows a termination
    assert n_step([1, 2, 4], [0, 0, 0], ended) == [reward, 0.5 ** (at + 1), at]


def test_termination_of_one_agent_before_the_end_of_the_episode() -> None:
    assert n_step([1, 2, 4], [1, 1, 1], [0, 0, 1]) == [1.0, 0.0, 0]


def test_the_next_episode_weighs_nothing() -> None:
    assert n_step([1, 1e6, 1e6], [0, 0, 1], [1, 0, 1]) == [1.0, 0.5, 0]


def test_value_of_a_constant_reward_under_a_time_limit() -> None:
    """Reward 1 and V = 10 at the true last observation: 10 if truncated, at every step."""
    for n in (1, 2, 3):
        reward, factor, last = n_step([1] * 3, [0] * 3, [i == n - 1 for i in range(3)], 0.9)
        assert reward + factor * 10.0 == pytest.approx(10.0, abs=1e-5)
        assert last == n - 1


def slow_n_step(
    reward: np.ndarray, terminated: np.ndarray, ended: np.ndarray, discount: float
) -> tuple[float, float, int]:
    total, factor = 0.0, 1.0
    for index in range(len(reward)):
        total += factor * reward[index]
        factor *= discount
        if terminated[index]:
            return total, 0.0, index
        if ended[index]:
            return total, factor, index
    return total, factor, len(reward) - 1


@pytest.mark.parametrize("n", [1, 2, 5])
def test_n_step_return_equals_a_loop(n: int) -> None:
    rng = np.random.default_rng(n)
    shape = (n, 6, 3)  # leading axes are free
    reward = rng.normal(size=shape).astype(np.float32)
    terminated, ended = rng.random(shape) < 0.2, rng.random(shape) < 0.2
    result = td.n_step_return(*map(jnp.asarray, (reward, terminated, ended)), 0.9)
    for index in np.ndindex(shape[1:]):
        at = (slice(None), *index)
        expected = slow_n_step(reward[at], terminated[at], ended[at], 0.9)
        np.testing.assert_allclose([x[index] for x in result], expected, rtol=1e-5, atol=1e-6)


def test_only_what_is_not_finite_is_replaced_in_dead_rows() -> None:
    x = jnp.asarray([[1.0, jnp.nan], [2.0, jnp.nan]])
    shown = td.finite_where_dead(x, jnp.asarray([True, False]))
    np.testing.assert_array_equal(shown, [[1.0, np.nan], [2.0, 0.0]])
    pixels = jnp.ones((2, 2), jnp.uint8)
    assert td.finite_where_dead(pixels, jnp.asarray([True, False])) is pixels


@pytest.mark.parametrize(
    "call",
    [
        lambda: td.chosen(Q, jnp.zeros(3, int)),
        lambda: td.masked_argmax(Q, jnp.ones(3, bool)),
        lambda: td.td_target(jnp.ones(2), jnp.ones(1), jnp.ones(2)),
        lambda: td.n_step_return(jnp.ones(2), jnp.ones(2, bool), jnp.ones(3, bool), 0.9),
    ],
)
def test_shapes_are_never_broadcast_silently(call: Any) -> None:
    with pytest.raises(AssertionError):
        call()
