"""Cases of the hooks that initialise and act."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from mava.core import lifecycle as lc
from mava.core.contexts import ActHooks, Params, Selection
from mava.testing import builders
from mava.testing.case import Case, Inputs
from mava.types import Array, EnvironmentSpec, GroupSpec, PyTree

_MEMORIES = ("score", "select_action")


def init_params(component: Any, inputs: Inputs) -> Iterator[Case]:
    yield Case(
        "init_params",
        lambda key: component.init_params(key, inputs.spec),
        lambda seed: (jax.random.key(seed),),
        key=0,
    )


def _state(component: Any, spec: EnvironmentSpec) -> PyTree:
    return component.init_state(spec) if isinstance(component, lc.PrepareBatch) else ()


def transform_observation(component: Any, inputs: Inputs) -> Iterator[Case]:
    for group in inputs.spec.groups:

        def function(observation: Array, state: PyTree, group: GroupSpec = group) -> Array:
            context = builders.group_context(group, state)
            return component.transform_observation(observation, context)  # type: ignore[no-any-return]

        for leading in ((), (2, 3)):

            def arguments(
                seed: int, group: GroupSpec = group, leading: tuple[int, ...] = leading
            ) -> tuple[PyTree, ...]:
                rng = np.random.default_rng(seed)
                shown = builders.random_array(group.observation, rng, *leading, group.num_agents)
                return shown, _state(component, inputs.spec)

            detail = f"of {group.name} under {list(leading)}"
            yield Case("transform_observation", function, arguments, group=group, detail=detail)


def score(component: Any, inputs: Inputs) -> Iterator[Case]:
    for group in inputs.spec.groups:
        context = builders.group_context(group, _state(component, inputs.spec))

        def score(params: Params, x: Array, memory: PyTree, context: Any = context) -> PyTree:
            return component.score(params, x, memory, context)

        def unroll(
            params: Params, x: Array, start: Array, memory: PyTree, context: Any = context
        ) -> PyTree:
            return component.unroll(params, x, start, memory, context)

        def one(seed: int, group: GroupSpec = group) -> tuple[PyTree, ...]:
            rng = np.random.default_rng(seed)
            shown = builders.random_array(group.observation, rng, group.num_agents)
            return inputs.params(seed), shown, component.init_memory(group)

        def many(seed: int, group: GroupSpec = group) -> tuple[PyTree, ...]:
            batch = inputs.batch(seed)
            size = len(batch["start"])
            memory = jax.tree.map(
                lambda x: np.broadcast_to(x, (size, *np.shape(x))), component.init_memory(group)
            )
            return inputs.params(seed), batch["observation"][group.name], batch["start"], memory

        detail = f"of {group.name}"
        carried = (2, lambda output: output[1])
        yield Case("score", score, one, carried, group=group, detail=detail)
        yield Case("unroll", unroll, many, group=group, detail=detail)


def select_action(component: Any, inputs: Inputs) -> Iterator[Case]:
    for group in inputs.spec.groups:

        def arguments(seed: int, group: GroupSpec = group) -> tuple[PyTree, ...]:
            rng = np.random.default_rng(seed)
            scores = inputs.scores(group, rng, group.num_agents)
            legal = builders.random_legal(group.actions, rng, group.num_agents)
            memory = component.init_memory(group)
            return scores, legal, memory, np.int32(seed), jax.random.key(seed)

        for explore in (True, False):

            def function(
                scores: Array,
                legal: Array,
                memory: PyTree,
                clock: Array,
                key: jax.Array,
                group: GroupSpec = group,
                explore: bool = explore,
            ) -> PyTree:
                state = _state(component, inputs.spec)
                context = builders.act_context(group, clock, key, explore, state)
                return component.select_action(scores, legal, memory, context)

            detail = f"of {group.name}, {'exploring' if explore else 'greedy'}"
            carried = (2, lambda output: output[1])
            yield Case(
                "select_action", function, arguments, carried, 4, group, detail, explores=explore
            )


def act(component: Any, inputs: Inputs) -> Iterator[Case]:
    groups = inputs.spec.groups
    rng = np.random.default_rng(0)
    scores: dict[str, Array] = {g.name: inputs.scores(g, rng, g.num_agents) for g in groups}
    actions = inputs.spec.zero_actions()

    def function(timestep: Any, memory: PyTree) -> PyTree:
        hooks = ActHooks(
            transform_observation=lambda observation: observation,
            score=lambda observation, memory: (scores, memory),
            select_action=lambda scores, legal, memory: (
                {name: Selection(jnp.asarray(x), {}) for name, x in actions.items()},
                memory,
            ),
        )
        return component.act(hooks, timestep, memory)

    memory = {hook: {g.name: np.zeros(1, np.float32) for g in groups} for hook in _MEMORIES}
    yield Case(
        "act",
        function,
        lambda seed: (builders.timestep(inputs.spec, seed), memory),
        carried=(1, lambda output: output[1]),
    )


def record(component: Any, inputs: Inputs) -> Iterator[Case]:
    yield Case(
        "record",
        lambda transition: component.record(transition),
        lambda seed: (builders.transition(inputs.spec, seed),),
    )
