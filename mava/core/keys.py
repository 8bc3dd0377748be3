"""Random keys by address: the same address gives the same key, whatever else a system contains."""

from __future__ import annotations

import zlib

import jax

from mava.types import Array


def address(key: jax.Array, *parts: str | int | Array) -> jax.Array:
    """Folds names and numbers into a key, one after the other.

    Args:
        key: a typed PRNG key.
        parts: strings (by their CRC-32) and integers, traced or not, that fit 32 bits.
    """
    for part in parts:
        key = jax.random.fold_in(key, zlib.crc32(part.encode()) if isinstance(part, str) else part)
    return key
