"""What a compiled chunk tells the host: episodes that ended, and metrics of trainer steps."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from mava.core.plans import Rounds
from mava.topologies.base import Report
from mava.types import Array

_MOST_ROWS = 4096
_MOST_ENTRIES = 2**20


class Sizes(NamedTuple):
    """How much one chunk may do: vectorised steps, and the trainer steps that may fall in them."""

    steps: int
    updates: int


def sizes_of(rounds: Rounds, num_environments: int, num_seeds: int = 1) -> Sizes:
    """Chunks whose log, of all seeds together, stays small."""
    steps = max(1, min(_MOST_ROWS, _MOST_ENTRIES // (num_environments * num_seeds)))
    most = _MOST_ENTRIES // (16 * num_seeds)
    while steps > 1 and _updates_in(rounds, steps * num_environments) > most:
        steps //= 2
    return Sizes(steps, _updates_in(rounds, steps * num_environments))


def _updates_in(rounds: Rounds, steps: int) -> int:
    return rounds.updates * (steps // rounds.every + 1)


class Log(NamedTuple):
    """Filled by a chunk, row by row.

    Attributes:
        returns: float32 ``[steps, E]``; of the episodes that ended in each vectorised step, the
            mean over agents of their undiscounted returns.
        lengths: int32 ``[steps, E]``; their lengths, 0 where none ended.
        metrics: by name ``[updates]``.
        by_agent: the last trainer step's shares of each loss, by name.
        fault: int32 ``[]``; 0, or 1 + the index of the first environment's leaf that was bad, over
            ``[E, L]`` of this device.
        fault_step: int32 ``[]``; the vectorised step of it.
        finite: bool ``[]``; whether every trainer step was.
    """

    returns: Array
    lengths: Array
    metrics: dict[str, Array]
    by_agent: dict[str, Array]
    fault: Array
    fault_step: Array
    finite: Array


BY_AGENT = "/by_agent/"


def empty(sizes: Sizes, num_environments: int, metrics: dict[str, jax.ShapeDtypeStruct]) -> Log:
    """A log without entries, for metrics of these shapes."""
    shape = (sizes.steps, num_environments)
    return Log(
        returns=jnp.zeros(shape),
        lengths=jnp.zeros(shape, jnp.int32),
        metrics={
            name: jnp.zeros(sizes.updates, x.dtype)
            for name, x in metrics.items()
            if BY_AGENT not in name
        },
        by_agent={
            name: jnp.zeros(x.shape, x.dtype) for name, x in metrics.items() if BY_AGENT in name
        },
        fault=jnp.zeros((), jnp.int32),
        fault_step=jnp.zeros((), jnp.int32),
        finite=jnp.asarray(True),
    )


def stepped(log: Log, row: Array, end: Array, returns: Array, lengths: Array, bad: Array) -> Log:
    """The log after a vectorised step. ``bad`` is ``[E, L]``."""
    flat = bad.reshape(-1)
    first = jnp.where(jnp.any(flat), 1 + jnp.argmax(flat).astype(jnp.int32), 0)
    return log._replace(
        returns=_put(log.returns, row, jnp.where(end, returns, 0.0)),
        lengths=_put(log.lengths, row, jnp.where(end, lengths, 0)),
        fault=jnp.where(log.fault > 0, log.fault, first),
        fault_step=jnp.where(log.fault > 0, log.fault_step, row),
    )


def trained(log: Log, row: Array, metrics: dict[str, Array], finite: Array) -> Log:
    """The log after a trainer step."""
    return log._replace(
        metrics={name: _put(held, row, metrics[name]) for name, held in log.metrics.items()},
        by_agent={name: metrics[name] for name in log.by_agent},
        finite=log.finite & finite,
    )


def _put(held: Array, row: Array, new: Array) -> Array:
    return jax.lax.dynamic_update_index_in_dim(held, new, row, 0)  # type: ignore[no-any-return]


def of_one(log: Log, at: int, shape: tuple[int, int]) -> Log:
    """The log of one device and seed, by its index over both; axes of one are not there."""
    lead = sum(size > 1 for size in shape)
    where = np.unravel_index(at, [size for size in shape if size > 1])
    found = jax.tree.map(lambda x: x[where] if lead else x, log)
    return found  # type: ignore[no-any-return]


def report(log: Log, steps: int, updates: int, shape: tuple[int, int]) -> Report:
    """What a chunk of so many vectorised steps and trainer steps did, on the host.

    Episodes come in order of time, then of device, seed and environment. Metrics are means over
    seeds.

    Args:
        log: numpy arrays, with axes of devices and of seeds where there are several.
        steps, updates: of the chunk.
        shape: devices and seeds.
    """
    logs = [of_one(log, at, shape) for at in range(shape[0] * shape[1])]
    lengths = np.concatenate([one.lengths[:steps] for one in logs], axis=1)
    returns = np.concatenate([one.returns[:steps] for one in logs], axis=1)
    ended = lengths > 0
    metrics = {
        name: tuple(np.mean([one.metrics[name][:updates] for one in logs], axis=0).tolist())
        for name in log.metrics
    }
    return Report(
        metrics if updates else {}, tuple(returns[ended].tolist()), tuple(lengths[ended].tolist())
    )
