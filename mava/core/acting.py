"""The act stage: composes transformations, network and exploration into one pure function."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import jax
import jax.numpy as jnp

from mava.core import lifecycle as lc
from mava.core import wiring
from mava.core.calling import call
from mava.core.component import Component
from mava.core.contexts import (
    ActContext,
    ActHooks,
    GroupContext,
    Selection,
    Transition,
    ValueContext,
    ValueInputs,
)
from mava.core.keys import address
from mava.core.learner import Variables, strongly_typed
from mava.errors import WiringError
from mava.functional.loops import where_tree
from mava.types import Array, ArraySpec, EnvironmentSpec, GroupSpec, PyTree, TimeStep

Memory = dict[str, PyTree]


class Acting:
    """The act hooks of a system, for one environment.

    Attributes:
        specs: each link of the observation chain with the groups as they enter it.
        network_spec: the environment's specification, observations as the networks see them.
    """

    def __init__(self, components: Sequence[Component], spec: EnvironmentSpec) -> None:
        self.spec = spec
        self.executor = wiring.one(components, lc.Act)
        self.scorer = wiring.one(components, lc.Score)
        self.selector = wiring.one(components, lc.SelectAction)
        self.critic = wiring.optional(components, lc.Value)
        self.recorders = wiring.find(components, lc.Record)
        self.transforms: list[tuple[lc.TransformObservation, EnvironmentSpec]] = []
        for transform in wiring.find(components, lc.TransformObservation):
            self.transforms.append((transform, spec))
            spec = dataclasses.replace(
                spec, groups=tuple(_transformed(transform, group) for group in spec.groups)
            )
        self.network_spec = spec

    def init_memory(self) -> Memory:
        """Memory at the start of an episode: by hook, then by group."""
        memory: Memory = strongly_typed(
            {
                "score": self._initial(self.scorer),
                "select_action": self._initial(self.selector),
                "value": {} if self.critic is None else self._initial(self.critic),
            }
        )
        return memory

    @property
    def critic_acts(self) -> bool:
        """Whether the critic has memory to carry along while acting."""
        return bool(jax.tree.leaves(self.init_memory()["value"]))

    @property
    def is_recurrent(self) -> bool:
        return bool(jax.tree.leaves(self.init_memory()["score"]))

    def _initial(self, component: lc.Score | lc.SelectAction | lc.Value) -> dict[str, PyTree]:
        groups = self.network_spec.groups
        return {group.name: call(component, "init_memory", group) for group in groups}

    def transform(
        self, components: dict[str, PyTree], observation: dict[str, Array]
    ) -> dict[str, Array]:
        """Observations ``[..., N, *O]`` by group, through the whole chain."""
        for transform, spec in self.transforms:
            state = components.get(transform.name, ())
            observation = {
                group.name: _checked_transform(transform, observation[group.name], group, state)
                for group in spec.groups
            }
        return observation

    def act(
        self,
        variables: Variables,
        memory: Memory,
        timestep: TimeStep,
        clock: Array,
        key: jax.Array,
        explore: bool = True,
    ) -> tuple[dict[str, Array], dict[str, dict[str, Array]], Memory]:
        """See ``mava.core.program.Act``."""
        memory = where_tree(timestep.start, self.init_memory(), memory)
        key = address(key, clock)
        groups = self.network_spec.groups

        def transform_observation(observation: dict[str, Array]) -> dict[str, Array]:
            return self.transform(variables.components, observation)

        def score(
            observation: dict[str, Array], memory: Memory
        ) -> tuple[dict[str, PyTree], Memory]:
            outputs = {}
            for group in groups:
                context = GroupContext(group, variables.components.get(self.scorer.name, ()))
                outputs[group.name] = call(
                    self.scorer,
                    "score",
                    variables.params,
                    observation[group.name],
                    memory["score"][group.name],
                    context,
                )
            scores = {name: output[0] for name, output in outputs.items()}
            return scores, {
                **memory,
                "score": {name: output[1] for name, output in outputs.items()},
            }

        def select_action(
            scores: dict[str, PyTree], legal_actions: dict[str, Array], memory: Memory
        ) -> tuple[dict[str, Selection], Memory]:
            outputs = {}
            for index, group in enumerate(groups):
                context = ActContext(
                    group=group,
                    state=variables.components.get(self.selector.name, ()),
                    clock=clock,
                    key=address(key, self.selector.name, index),
                    explore=explore,
                )
                outputs[group.name] = call(
                    self.selector,
                    "select_action",
                    scores[group.name],
                    legal_actions[group.name],
                    memory["select_action"][group.name],
                    context,
                )
                _check_action(self.selector, "select_action", outputs[group.name][0], group)
            selections = {name: output[0] for name, output in outputs.items()}
            after = {name: output[1] for name, output in outputs.items()}
            return selections, {**memory, "select_action": after}

        hooks = ActHooks(transform_observation, score, select_action)
        selections, memory = call(self.executor, "act", hooks, timestep, memory)
        actions = {name: selection.action for name, selection in selections.items()}
        for group in groups:
            _check_action(self.executor, "act", selections[group.name], group)
        extras = {name: selection.extras for name, selection in selections.items()}
        if explore and self.critic_acts:
            memory = {**memory, "value": self._carry_critic(variables, memory, timestep, actions)}
        return actions, extras, memory

    def _carry_critic(
        self, variables: Variables, memory: Memory, timestep: TimeStep, actions: dict[str, Array]
    ) -> dict[str, PyTree]:
        assert self.critic is not None
        inputs = ValueInputs(
            self.transform(variables.components, timestep.observation), actions, timestep.state
        )
        after = {}
        for group in self.network_spec.groups:
            state = variables.components.get(self.critic.name, ())
            context = ValueContext(group, state, self.network_spec)
            before = memory["value"][group.name]
            after[group.name] = call(
                self.critic, "value", variables.params, inputs, before, context
            )[1]
        return after

    def record(self, transition: Transition) -> dict[str, PyTree]:
        """Joins what the recorders choose to store of one transition."""
        fields: dict[str, PyTree] = {}
        # Acting resets the memory of an episode that ended; what it acted with is what is stored.
        memory = where_tree(transition.timestep.start, self.init_memory(), transition.memory)
        transition = transition._replace(memory=memory)
        for recorder in self.recorders:
            made = call(recorder, "record", transition)
            for name in made.keys() & fields.keys():
                raise WiringError(
                    f"batch field {name!r} is recorded twice, the second time by {recorder.name}"
                )
            fields.update(made)
        return fields


def _check_action(
    component: Component, method: str, selection: Selection, group: GroupSpec
) -> None:
    if not isinstance(selection, Selection):
        raise WiringError(
            f"{component.name}.{method}() returned {type(selection).__name__} for group "
            f"{group.name!r}; return a Selection(action, extras) and the memory"
        )
    expected = group.actions.array
    promised = f"{expected.dtype}{[group.num_agents, *expected.shape]}"
    found = f"{jnp.result_type(selection.action)}{list(jnp.shape(selection.action))}"
    if found != promised:
        raise WiringError(
            f"{component.name}.{method}() returned {found} for group {group.name!r}, but its "
            f"actions are {promised}"
        )


def _transformed(transform: lc.TransformObservation, group: GroupSpec) -> GroupSpec:
    return dataclasses.replace(group, observation=call(transform, "transformed", group))


def _checked_transform(
    transform: lc.TransformObservation, observation: Array, group: GroupSpec, state: PyTree
) -> Array:
    promised: ArraySpec = call(transform, "transformed", group)
    result: Array = call(
        transform, "transform_observation", observation, GroupContext(group, state)
    )
    leading = observation.shape[: observation.ndim - len(group.observation.shape)]
    if result.shape != (*leading, *promised.shape) or result.dtype != promised.dtype:
        raise WiringError(
            f"{transform.name}.transform_observation() returned "
            f"{result.dtype}{list(result.shape)} for "
            f"group {group.name!r}, but its transformed() promises "
            f"{promised.dtype}{[*leading, *promised.shape]}; make them agree"
        )
    return result
