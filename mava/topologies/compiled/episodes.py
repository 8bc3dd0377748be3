"""Runs whole episodes of an act function in one compiled loop."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from mava.core.evaluation import ActFunction, Episodes
from mava.core.keys import address
from mava.environments.base import JaxEnvironment
from mava.environments.seeds import episode_seeds
from mava.errors import EnvironmentFault
from mava.topologies.compiled.environments import leaves, mended
from mava.topologies.host_episodes import (
    EVALUATION_STREAM,
    HostEpisodes,
    Interrupted,
    most_steps_of,
)
from mava.types import Array, PyTree, TimeStep

MOST_ENVIRONMENTS = 128
_STEPS_AT_ONCE = 512


class Wave(NamedTuple):
    """One episode in each of ``W`` environments.

    Attributes:
        state, timestep, memory: ``[W, ...]``.
        returns: per group, float32 ``[W, N]``.
        lengths: int32 ``[W]``.
        bad: bool ``[W, L]``; whether a leaf was ever not finite.
        t: int32 ``[]``; steps of the longest.
    """

    state: PyTree
    timestep: TimeStep
    memory: PyTree
    returns: dict[str, Array]
    lengths: Array
    bad: Array
    t: Array


class CompiledEpisodes:
    """Episodes of a JAX environment, up to 128 side by side, each counted once.

    Episode i has the seed and keys that it has in ``HostEpisodes``, so both run the same ones, and
    how many run side by side changes nothing.

    Attributes:
        should_stop: asked every 512 steps.

    Args:
        environment: the environment.
        say: told when a policy is compiled.
        most_environments: side by side.
    """

    def __init__(
        self,
        environment: JaxEnvironment,
        say: Callable[[str], None] = lambda text: None,
        most_environments: int = MOST_ENVIRONMENTS,
    ) -> None:
        self.should_stop: Callable[[], bool] = lambda: False
        self._environment = environment
        self._say = say
        self._most = most_environments
        self._width = 0
        self._compiled: dict[Any, tuple[Callable[..., Wave], Callable[..., Wave]]] = {}

    def run(self, act: ActFunction, episodes: int, seed: int) -> Episodes:
        """See ``mava.core.evaluation.EpisodeRunner``.

        Raises:
            EnvironmentFault: the environment failed, or an episode does not end.
            Interrupted: ``should_stop`` said so.
        """
        if not act.jit:
            host = HostEpisodes(lambda: self._environment)
            host.should_stop = self.should_stop
            return host.run(act, episodes, seed)
        # The first call decides, so that later ones find the same program compiled.
        self._width = self._width or min(self._most, episodes)
        variables = jax.device_put(act.variables, jax.local_devices()[0])
        act = act._replace(variables=variables)
        found = []
        for first in range(0, episodes, self._width):
            # Places that are left over repeat the last episode.
            numbers = np.minimum(np.arange(first, first + self._width), episodes - 1)
            found.append(self._wave(act, numbers.astype(np.int32), seed))
        joined = jax.tree.map(lambda *x: np.concatenate(x)[:episodes], *found)
        returns, lengths, metrics = joined
        return Episodes(
            {name: x.astype(np.float64) for name, x in returns.items()},
            lengths.astype(int),
            {name: x.astype(np.float64) for name, x in metrics.items()},
        )

    def close(self) -> None:
        self._compiled.clear()

    def _wave(self, act: ActFunction, numbers: np.ndarray, seed: int) -> tuple[Any, Any, Any]:
        start, go_on = self._functions(act, numbers, seed)
        key = address(jax.random.key(seed), "evaluate")
        spec, limit = self._environment.spec, most_steps_of(self._environment.spec)
        wave = start(np.uint32(seed), numbers)
        while not np.all(wave.timestep.end):
            if self.should_stop():
                raise Interrupted
            if int(wave.t) >= limit:
                raise EnvironmentFault(
                    f"{spec.name}: an episode of evaluation has not ended after {int(wave.t):,} "
                    "steps; truncate episodes by a time limit"
                )
            wave = go_on(act.variables, key, numbers, wave)
            bad = np.argwhere(np.asarray(wave.bad))
            if len(bad):
                raise EnvironmentFault(f"{spec.name}, evaluation: {leaves(spec)[bad[0][1]]}")
        metrics = {name: wave.timestep.metrics[name] for name in spec.metrics}
        return jax.device_get((wave.returns, wave.lengths, metrics))  # type: ignore[no-any-return]

    def _functions(
        self, act: ActFunction, numbers: np.ndarray, seed: int
    ) -> tuple[Callable[..., Wave], Callable[..., Wave]]:
        """How a wave starts and goes on; compiled once for each ``act.act``."""
        place = (act.act, act.init_memory)
        if place not in self._compiled:
            began = time.perf_counter()
            self._say("compiling evaluation")
            start = jax.jit(self._start(act.init_memory))
            go_on = jax.jit(self._go_on(act.act), donate_argnums=3)
            key = jax.random.key(0)
            wave = jax.eval_shape(start, np.uint32(seed), numbers)
            compiled = (
                start.lower(np.uint32(seed), numbers).compile(),
                go_on.lower(act.variables, key, numbers, wave).compile(),
            )
            self._compiled[place] = compiled
            self._say(f"compiled evaluation in {time.perf_counter() - began:.1f} s")
        return self._compiled[place]

    def _start(self, init_memory: Callable[[], PyTree]) -> Callable[..., Wave]:
        environment = self._environment
        names, flags = environment.spec.group_names, len(leaves(environment.spec)) - 1

        def start(seed: Array, numbers: Array) -> Wave:
            width = numbers.shape[0]
            seeds = episode_seeds(seed, EVALUATION_STREAM, 0, numbers)
            state, timestep = jax.vmap(lambda s: environment.reset(jax.random.key(s)))(seeds)
            memory = jax.tree.map(
                lambda x: jnp.broadcast_to(x, (width, *jnp.shape(x))), init_memory()
            )
            returns: dict[str, Array] = {
                name: jnp.zeros_like(timestep.reward[name]) for name in names
            }
            return Wave(
                state,
                timestep,
                memory,
                returns,
                jnp.zeros(width, jnp.int32),
                jnp.zeros((width, flags), bool),
                jnp.zeros((), jnp.int32),
            )

        return start

    def _go_on(self, act: Callable[..., Any]) -> Callable[..., Wave]:
        """Up to ``_STEPS_AT_ONCE`` more steps, or until every episode has ended."""
        environment = self._environment

        def one(
            variables: PyTree, key: jax.Array, number: Array, t: Array, held: Any
        ) -> tuple[Any, Array, dict[str, Array]]:
            """One step of one environment; one whose episode has ended stays as it is."""
            state, timestep, memory = held
            actions, after = act(variables, memory, timestep, address(key, number, t))
            state_after, following = environment.step(state, actions)
            following, bad = mended(environment.spec, following, timestep)
            moved = (state_after, following, after)
            ended = timestep.end
            held = jax.tree.map(lambda x, y: jnp.where(ended, x, y), held, moved)
            paid: dict[str, Array] = {
                name: jnp.where(ended, 0.0, x) for name, x in following.reward.items()
            }
            return held, jnp.where(ended, False, bad), paid

        each = jax.vmap(one, in_axes=(None, None, 0, None, 0))

        def go_on(variables: PyTree, key: jax.Array, numbers: Array, wave: Wave) -> Wave:
            stop = wave.t + _STEPS_AT_ONCE

            def unfinished(wave: Wave) -> Array:
                return ~jnp.all(wave.timestep.end) & (wave.t < stop) & ~jnp.any(wave.bad)

            def step(wave: Wave) -> Wave:
                held = (wave.state, wave.timestep, wave.memory)
                ended = wave.timestep.end
                held, bad, paid = each(variables, key, numbers, wave.t, held)
                state, timestep, memory = held
                return Wave(
                    state,
                    timestep,
                    memory,
                    returns={name: x + paid[name] for name, x in wave.returns.items()},
                    lengths=wave.lengths + ~ended,
                    bad=wave.bad | bad,
                    t=wave.t + 1,
                )

            return jax.lax.while_loop(unfinished, step, wave)

        return go_on
