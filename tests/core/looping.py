"""A whole run of a program: compiled as one function, or as a loop in Python over its parts."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from mava.core.contexts import Transition
from mava.core.keys import address
from mava.core.plans import Sampling
from mava.core.program import Program
from mava.core.system import System, build
from mava.environments.base import JaxEnvironment
from mava.topologies.buffers import make_buffer


class Carry(NamedTuple):
    learner: Any
    memory: Any
    state: Any
    timestep: Any
    buffer: Any


class Way(NamedTuple):
    """How to map, how to scan, and what to do with each function of the program."""

    vmap: Callable[..., Any]
    scan: Callable[..., Any]
    each: Callable[..., Any]


def loop_map(function: Any, in_axes: Any = 0) -> Any:
    def call(*args: Any) -> Any:
        axes = (0,) * len(args) if in_axes == 0 else in_axes
        mapped = [arg for arg, axis in zip(args, axes, strict=True) if axis == 0]
        size = len(jax.tree.leaves(mapped)[0])
        args = tuple(jax.tree.map(on_host, arg) for arg in args)
        rows = [
            function(
                *(
                    jax.tree.map(lambda x, i=i: x[i], arg) if axis == 0 else arg
                    for arg, axis in zip(args, axes, strict=True)
                )
            )
            for i in range(size)
        ]
        return stack(rows)

    return call


def loop_scan(step: Any, carry: Any, inputs: Any) -> Any:
    outputs = []
    for x in on_host(inputs):
        carry, output = step(carry, x)
        outputs.append(output)
    return carry, stack(outputs)


def stack(trees: list[Any]) -> Any:
    return jax.tree.map(lambda *x: np.stack(list(map(on_host, x))), *trees)


def on_host(x: Any) -> Any:
    """In numpy, where slicing compiles nothing; random keys stay."""
    return x if jnp.issubdtype(jnp.result_type(x), jax.dtypes.prng_key) else np.asarray(x)


def lenient(function: Any) -> Any:
    """Flashbax promotes ranks silently."""

    def call(*args: Any) -> Any:
        with jax.numpy_rank_promotion("allow"):
            return function(*args)

    return call


COMPILED = Way(jax.vmap, jax.lax.scan, lambda function: function)
LOOPED = Way(loop_map, loop_scan, jax.jit)


@functools.cache
def parts(system: System, way: Way) -> tuple[Program, JaxEnvironment, Any]:
    """The program, the environment, and a function of carry, key and rounds."""
    environment: JaxEnvironment = system.environment.build()
    program = build(system, environment.spec)
    play = rounds_of(program, environment, way)
    return program, environment, jax.jit(play, static_argnums=2) if way is COMPILED else play


def run(system: System, rounds: int = 3, seed: int = 0, way: Way = COMPILED) -> tuple[Carry, Any]:
    """Rounds of acting, adding and one trainer step; and all that was done and measured."""
    program, environment, play = parts(system, way)
    key = jax.random.key(seed)
    return play(first(program, environment, key), key, rounds)  # type: ignore[no-any-return]


def first(program: Program, environment: JaxEnvironment, key: jax.Array) -> Carry:
    """The state of everything before the first step."""
    count = program.num_environments
    keys = jax.random.split(address(key, "reset"), count)
    state, timestep = jax.jit(jax.vmap(environment.reset))(keys)
    memory = jax.tree.map(lambda x: jnp.stack([x] * count), program.init_memory())
    buffer = make_buffer(program.plan, count)
    learner = jax.jit(program.init_learner)(address(key, "init"))
    return Carry(learner, memory, state, timestep, lenient(buffer.init)(program.item))


def rounds_of(
    program: Program, environment: JaxEnvironment, way: Way
) -> Callable[[Carry, jax.Array, int], tuple[Carry, Any]]:
    count, plan = program.num_environments, program.plan
    steps = plan.sequence_length if plan.sampling is Sampling.ON_POLICY else 7
    buffer = make_buffer(plan, count)
    act, record, learn = map(way.each, (program.act, program.record, program.learn))
    env_step, env_reset = way.each(environment.step), way.each(environment.reset)
    add, sample = map(way.each, map(lenient, (buffer.add, buffer.sample)))

    def choose(end: Any, on_true: Any, on_false: Any) -> Any:
        def one(x: Any, y: Any) -> Any:
            where = np.where if isinstance(x, np.ndarray) else jnp.where
            return where(end.reshape(-1, *[1] * (x.ndim - 1)), x, y)

        return jax.tree.map(one, on_true, on_false)

    def play(carry: Carry, key: jax.Array, rounds: int) -> tuple[Carry, Any]:
        def step(carry: Carry, time: Any) -> tuple[Carry, Any]:
            clocks = time * count + jnp.arange(count)
            variables = program.publish(carry.learner)
            actions, extras, memory = way.vmap(act, (None, 0, 0, 0, None))(
                variables, carry.memory, carry.timestep, clocks, address(key, "act")
            )
            state, following = way.vmap(env_step)(carry.state, actions)
            item = way.vmap(record)(
                Transition(carry.timestep, actions, extras, carry.memory, following)
            )
            keys = jax.random.split(address(key, "reset", time + 1), count)
            fresh, beginning = way.vmap(env_reset)(keys)
            carry = carry._replace(
                memory=memory,
                state=choose(following.end, fresh, state),
                timestep=choose(following.end, beginning, following),
            )
            return carry, item

        def round_(carry: Carry, index: Any) -> tuple[Carry, Any]:
            carry, items = way.scan(step, carry, index * steps + jnp.arange(steps))
            state = add(carry.buffer, jax.tree.map(lambda x: x.swapaxes(0, 1), items))
            drawn = sample(state, address(key, "sample", index))
            batch = {**drawn.batch, "probability": drawn.probability}
            learner, metrics, priorities = learn(carry.learner, batch, address(key, "learn"))
            if plan.sampling is Sampling.PRIORITISED:
                state = lenient(buffer.set_priorities)(state, drawn.indices, priorities)
            return carry._replace(learner=learner, buffer=state), (items, metrics)

        return way.scan(round_, carry, jnp.arange(rounds))

    return play
