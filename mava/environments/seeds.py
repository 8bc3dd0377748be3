"""The seed of each episode, the same on the host and in a compiled program."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from mava.types import Array

_MASK = 0xFFFFFFFF
_FIRST, _FIRST_FACTOR = 0x43B0D7E5, 0x931E8875
_LAST, _LAST_FACTOR = 0x8B51F9DD, 0x58F38DED
_LEFT, _RIGHT = np.uint32(0xCA01F9DD), np.uint32(0x4973F715)
_SHIFT = np.uint32(16)


def episode_seed(seed: int, stream: int, environment: int, episode: int) -> int:
    """The seed of one episode, below 2**31.

    Args:
        seed: of the run.
        stream: keeps users of the same seed apart (training, evaluation).
        environment: index among environments stepped together.
        episode: counts the resets of that environment.
    """
    entropy = np.random.SeedSequence((seed, stream, environment, episode))
    return int(entropy.generate_state(1)[0] >> 1)


def episode_seeds(
    seed: Array | int, stream: Array | int, environment: Array | int, episode: Array | int
) -> jax.Array:
    """The same of arrays that broadcast, inside a compiled program: uint32.

    It is numpy's ``SeedSequence`` of four words (after O'Neill's ``seed_seq_fe``), whose values
    numpy promises to keep.
    """
    words = jnp.broadcast_arrays(
        *(jnp.asarray(x).astype(jnp.uint32) for x in (seed, stream, environment, episode))
    )
    constant = _FIRST
    pool = []
    for word in words:
        mixed, constant = _hash(word, constant, _FIRST_FACTOR)
        pool.append(mixed)
    for source in range(4):
        for target in range(4):
            if source != target:
                mixed, constant = _hash(pool[source], constant, _FIRST_FACTOR)
                joined = _LEFT * pool[target] - _RIGHT * mixed
                pool[target] = joined ^ (joined >> _SHIFT)
    return _hash(pool[0], _LAST, _LAST_FACTOR)[0] >> np.uint32(1)


def _hash(word: jax.Array, constant: int, factor: int) -> tuple[jax.Array, int]:
    """A word mixed with a constant, and the next constant."""
    following = (constant * factor) & _MASK
    word = (word ^ np.uint32(constant)) * np.uint32(following)
    return word ^ (word >> _SHIFT), following
