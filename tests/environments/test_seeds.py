"""Seeds of episodes, on the host and compiled."""

from __future__ import annotations

import jax
import numpy as np

from mava.environments import episode_seed, episode_seeds


def test_both_give_the_same_seeds() -> None:
    rng = np.random.default_rng(0)
    words = rng.integers(0, 2**32, (4, 200), np.uint32)
    words[:, 0], words[:, 1] = 0, 2**32 - 1
    expected = [episode_seed(*(int(x) for x in column)) for column in words.T]
    seed, stream, environment, episode = words
    found = [
        jax.jit(episode_seeds)(s, i, e, n)
        for s, i, e, n in zip(seed, stream, environment, episode, strict=True)
    ]
    np.testing.assert_array_equal(np.asarray(found), expected)


def test_seeds_of_many_environments_at_once() -> None:
    episodes = np.asarray([0, 7, 2], np.int32)
    found = jax.jit(lambda n: episode_seeds(3, 1, np.arange(3), n))(episodes)
    expected = [episode_seed(3, 1, index, int(n)) for index, n in enumerate(episodes)]
    np.testing.assert_array_equal(np.asarray(found), expected)


def test_a_seed_gives_the_same_key_inside_a_program() -> None:
    seed = episode_seeds(3, 0, 1, 2)
    inside = jax.random.key_data(jax.jit(jax.random.key)(seed))
    outside = jax.random.key_data(jax.random.key(episode_seed(3, 0, 1, 2)))
    np.testing.assert_array_equal(np.asarray(inside), np.asarray(outside))
