"""Cases of the hooks that learn."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from mava.core.contexts import (
    Batch,
    LearnContext,
    LearnHooks,
    Params,
    Unrolled,
    UnrolledValues,
    ValueContext,
    ValueInputs,
)
from mava.core.learner import LearnerState
from mava.testing.case import Case, Inputs
from mava.types import Array, GroupSpec, PyTree


def made_up_context(
    inputs: Inputs, target_params: Params, updates: Array, key: jax.Array
) -> LearnContext:
    """Its functions depend on parameters and batch, and on nothing else."""

    def scale(params: Params) -> Array:
        leaves = [jnp.mean(x) for x in jax.tree.leaves(params)]
        return jnp.tanh(jnp.sum(jnp.stack(leaves)))

    def scores(params: Params, batch: Batch, field: str, seed: int) -> dict[str, Array]:
        found: dict[str, Array] = {}
        for group in inputs.spec.groups:
            rng = np.random.default_rng(seed)
            shown = batch[field][group.name].astype(jnp.float32)
            axes = tuple(range(3, shown.ndim))
            made = jnp.asarray(inputs.scores(group, rng, *shown.shape[:3]))
            mean = jnp.tanh(shown.mean(axes)).reshape(*shown.shape[:3], *[1] * (made.ndim - 3))
            found[group.name] = made * (1.0 + scale(params)) + mean
        return found

    def unroll(params: Params, batch: Batch) -> Unrolled:
        following = batch if "next_observation" in batch else {**batch, "next_observation": None}
        return Unrolled(
            scores(params, batch, "observation", 0),
            lambda: scores(params, following, "next_observation", 1),
        )

    def value(params: Params, batch: Batch) -> UnrolledValues:
        def of(prefix: str) -> dict[str, Array]:
            found = {}
            for name, x in batch[f"{prefix}observation"].items():
                found[name] = scale(params) + _mean_of_agents(x)
                for field in (f"{prefix}action", f"{prefix}own_action"):
                    if field in batch:
                        found[name] += _mean_of_agents(batch[field][name])
            return found

        return UnrolledValues(of(""), lambda: of("next_"))

    def mix(params: Params, values: dict[str, Array], batch: Batch) -> Array:
        return scale(params) * jnp.concatenate(list(values.values()), axis=-1).sum(-1)

    return LearnContext(
        inputs.spec,
        target_params,
        updates,
        key,
        lambda tree: tree,
        unroll,
        value,
        mix,
        inputs.recurrent,
    )


def _mean_of_agents(x: Array) -> Array:
    """``[B, T, N, ...]`` -> ``[B, T, N]``, a mean whose weights differ."""
    flat = x.astype(jnp.float32).reshape(*x.shape[:3], -1)
    return (flat * jnp.arange(1.0, flat.shape[-1] + 1.0)[None, None, None]).mean(-1)


def prepare_batch(component: Any, inputs: Inputs) -> Iterator[Case]:
    def function(
        batch: Batch, state: PyTree, params: Params, updates: Array, key: jax.Array
    ) -> PyTree:
        context = made_up_context(inputs, params, updates, key)
        return component.prepare_batch(batch, state, params, context)

    yield Case(
        "prepare_batch",
        function,
        lambda seed: (
            inputs.batch(seed),
            component.init_state(inputs.spec),
            inputs.params(seed),
            np.int32(seed),
            jax.random.key(seed),
        ),
        carried=(1, lambda output: output[1]),
        key=4,
    )


def _learn_arguments(inputs: Inputs, seed: int) -> tuple[PyTree, ...]:
    targets = inputs.params(seed + 100)
    batch, key = inputs.batch(seed), jax.random.key(seed)
    return inputs.params(seed), batch, targets, np.int32(seed), key


def value(component: Any, inputs: Inputs) -> Iterator[Case]:
    for group in inputs.spec.groups:
        context = ValueContext(group, (), inputs.spec)

        def function(
            params: Params, given: ValueInputs, memory: PyTree, context: ValueContext = context
        ) -> PyTree:
            return component.value(params, given, memory, context)

        def arguments(seed: int, group: GroupSpec = group) -> tuple[PyTree, ...]:
            batch = inputs.batch(seed)
            first = jax.tree.map(
                lambda x: x[0, 0], (batch["observation"], batch["action"], batch.get("state"))
            )
            return inputs.params(seed), ValueInputs(*first), component.init_memory(group)

        carried = (2, lambda output: output[1])
        yield Case("value", function, arguments, carried, group=group, detail=group.name)


def mix(component: Any, inputs: Inputs) -> Iterator[Case]:
    def function(
        params: Params, batch: Batch, targets: Params, updates: Array, key: jax.Array
    ) -> PyTree:
        context = made_up_context(inputs, targets, updates, key)
        return component.mix(params, batch["reward"], batch, context)

    yield Case("mix", function, lambda seed: _learn_arguments(inputs, seed), key=4)


def loss(component: Any, inputs: Inputs) -> Iterator[Case]:
    def function(
        params: Params, batch: Batch, targets: Params, updates: Array, key: jax.Array
    ) -> PyTree:
        context = made_up_context(inputs, targets, updates, key)

        def of_trained(trained: Params) -> tuple[Array, PyTree]:
            output = component.loss({**params, **trained}, batch, context)
            return output.loss, output

        trained = {name: params[name] for name in component.trains}
        return jax.value_and_grad(of_trained, has_aux=True)(trained)

    yield Case("loss", function, lambda seed: _learn_arguments(inputs, seed), key=4)


def optimiser(component: Any, inputs: Inputs) -> Iterator[Case]:
    def function(gradients: Params, state: PyTree, params: Params) -> PyTree:
        return component.optimiser().update(gradients, state, params)

    def arguments(seed: int) -> tuple[PyTree, ...]:
        params = inputs.params(seed)
        return inputs.params(seed + 100), component.optimiser().init(params), params

    yield Case("optimiser", function, arguments, carried=(1, lambda output: output[1]))


def update_targets(component: Any, inputs: Inputs) -> Iterator[Case]:
    yield Case(
        "update_targets",
        lambda params, targets, updates: component.update_targets(params, targets, updates),
        lambda seed: (inputs.params(seed), inputs.params(seed + 100), np.int32(seed)),
        carried=(1, lambda output: output),
    )


def measure(component: Any, inputs: Inputs) -> Iterator[Case]:
    def function(
        gradients: Params, batch: Batch, targets: Params, updates: Array, key: jax.Array
    ) -> PyTree:
        return component.measure(gradients, batch, made_up_context(inputs, targets, updates, key))

    yield Case("measure", function, lambda seed: _learn_arguments(inputs, seed), key=4)


def update(component: Any, inputs: Inputs) -> Iterator[Case]:
    def function(learner: LearnerState, batch: Batch, key: jax.Array) -> PyTree:
        def gradients(learner: LearnerState, batch: Batch) -> Any:
            rewards = jnp.concatenate([x.ravel() for x in jax.tree.leaves(batch["reward"])])
            found = jax.tree.map(lambda p: p * rewards.mean(), learner.params)
            return found, {"loss": rewards.mean()}, rewards[: len(batch["start"])]

        def apply(learner: LearnerState, gradients: Params) -> LearnerState:
            moved = jax.tree.map(lambda p, g: p - 0.1 * g, learner.params, gradients)
            return learner._replace(params=moved, updates=learner.updates + 1)

        hooks = LearnHooks(lambda learner, batch: (learner, batch), gradients, apply, key)
        return component.update(learner, batch, hooks)

    def arguments(seed: int) -> tuple[PyTree, ...]:
        learner = LearnerState(inputs.params(seed), {}, {}, {}, jnp.zeros((), jnp.int32))
        return learner, inputs.batch(seed), jax.random.key(seed)

    yield Case("update", function, arguments, carried=(0, lambda output: output[0]), key=2)
