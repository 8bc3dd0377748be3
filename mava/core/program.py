"""Turns a system into a program: a handful of pure functions over explicit state."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Protocol

import jax
import jax.numpy as jnp

from mava.core import lifecycle as lc
from mava.core import wiring
from mava.core.acting import Acting
from mava.core.calling import call
from mava.core.component import Component
from mava.core.contexts import Transition
from mava.core.dry_run import dry_run
from mava.core.learner import LearnerState, Variables
from mava.core.learning import Learning
from mava.core.plans import BufferPlan, Rounds, Sampling, check_count, rounds_of
from mava.errors import WiringError
from mava.functional.loops import shapes_of
from mava.types import Array, EnvironmentSpec, PyTree, TimeStep


class Act(Protocol):
    """Acts in one environment; the topology vmaps it.

    Args:
        variables: what the trainer published.
        memory: from ``init_memory`` or the last call; reset here where the timestep starts an
            episode.
        timestep: without leading axes.
        clock: int32 ``[]``, the index of this transition over the whole run.
        key: the run's key for acting; the clock and the component's name are folded in here.
        explore: static; ``False`` for greedy.

    Returns:
        Actions by group, extras by group, and the memory.
    """

    def __call__(
        self,
        variables: Variables,
        memory: dict[str, PyTree],
        timestep: TimeStep,
        clock: Array,
        key: jax.Array,
        explore: bool = True,
    ) -> tuple[dict[str, Array], dict[str, dict[str, Array]], dict[str, PyTree]]: ...


@dataclasses.dataclass(frozen=True)
class Program:
    """All that a topology needs. Topologies never see a component beyond this.

    Attributes:
        system: the system's name.
        spec: the environment, as it is.
        network_spec: the same, with observations as the networks see them.
        init_learner: key -> the trainer's state.
        init_memory: the memory of one environment at the start of an episode.
        publish: the trainer's state -> what acting needs.
        act: see ``Act``.
        record: transition of one environment -> batch fields.
        learn: learner, batch ``[B, T, ...]``, key (, all_mean) -> learner, metrics, priorities or
            ``None``.
        item: shapes and dtypes of what ``record`` returns.
        plan: the buffer.
        rounds: when trainer steps run.
        num_environments: environments stepped together.
        evaluator, observers, stops, refusers: host-side components.
    """

    system: str
    spec: EnvironmentSpec
    network_spec: EnvironmentSpec
    init_learner: Callable[[jax.Array], LearnerState]
    init_memory: Callable[[], dict[str, PyTree]]
    publish: Callable[[LearnerState], Variables]
    act: Act
    record: Callable[[Transition], dict[str, PyTree]]
    learn: Callable[..., tuple[LearnerState, dict[str, Array], Array | None]]
    item: dict[str, PyTree]
    plan: BufferPlan
    rounds: Rounds
    num_environments: int
    evaluator: lc.Evaluate | None
    observers: tuple[lc.Observe, ...]
    stops: tuple[lc.Stop, ...]
    refusers: tuple[lc.Refuse, ...]


def build_program(name: str, components: Sequence[Component], spec: EnvironmentSpec) -> Program:
    """Checks the wiring, composes the hooks, and runs them once on shapes alone: nothing compiles.

    Raises:
        WiringError: with what is wrong, where, and what to do.
        HookError: when a component fails on the shapes.
    """
    wiring.check(components)
    acting = Acting(components, spec)
    owners = _owners(components, acting.network_spec)
    wiring.check_params(components, owners)
    learning = Learning(components, acting)
    trainer = wiring.one(components, lc.Update)
    executor = wiring.one(components, lc.Act)
    check_count(f"{executor.name}.num_environments", executor.num_environments)
    unpublished = _learning_only(components, acting)

    def publish(learner: LearnerState) -> Variables:
        params = {n: p for n, p in learner.params.items() if owners[n] not in unpublished}
        return Variables(params, learner.components)

    preparers = wiring.find(components, lc.PrepareBatch)
    more_steps: int = sum(preparer.more_steps for preparer in preparers)
    plan = wiring.one(components, lc.Plan).plan().placed(executor.num_environments, more_steps)
    item = _item_shapes(acting, learning, publish)
    wiring.check_fields(components, [*item, "probability"])
    _check_memory(plan, item, acting)
    program = Program(
        system=name,
        spec=spec,
        network_spec=acting.network_spec,
        init_learner=learning.init,
        init_memory=acting.init_memory,
        publish=publish,
        act=acting.act,
        record=acting.record,
        learn=learning.learn,
        item=item,
        plan=plan,
        rounds=rounds_of(plan, trainer.update_every, trainer.updates),
        num_environments=executor.num_environments,
        evaluator=wiring.optional(components, lc.Evaluate),
        observers=tuple(wiring.find(components, lc.Observe)),
        stops=tuple(wiring.find(components, lc.Stop)),
        refusers=tuple(wiring.find(components, lc.Refuse)),
    )
    dry_run(program)
    return program


def _learning_only(components: Sequence[Component], acting: Acting) -> set[str]:
    """Components whose parameters nobody needs to act: critics and mixers."""
    hooks: tuple[type[Component], ...] = (lc.Mix,) if acting.critic_acts else (lc.Mix, lc.Value)
    acts = (lc.Score, lc.SelectAction, lc.TransformObservation)
    return {c.name for c in components if isinstance(c, hooks) and not isinstance(c, acts)}


def _item_shapes(
    acting: Acting, learning: Learning, publish: Callable[[LearnerState], Variables]
) -> dict[str, PyTree]:
    """Shapes and dtypes of one recorded transition."""

    def first_transition() -> dict[str, PyTree]:
        key, timestep = jax.random.key(0), acting.spec.zero_timestep()
        variables = publish(learning.init(key))
        memory = acting.init_memory()
        clock = jnp.zeros((), jnp.int32)
        actions, extras, _ = acting.act(variables, memory, timestep, clock, key)
        return acting.record(Transition(timestep, actions, extras, memory, timestep))

    item: dict[str, PyTree] = shapes_of(first_transition)
    return item


def _check_memory(plan: BufferPlan, item: dict[str, PyTree], acting: Acting) -> None:
    """Rollouts follow each other, so most begin in mid-episode, and are learned from as they were
    acted: with the memory that there was. (Replayed sequences may do without.)"""
    if plan.sampling is not Sampling.ON_POLICY:
        return
    memory, recorded = acting.init_memory(), item.get("memory", {})
    for hook, component in (("score", acting.scorer), ("value", acting.critic)):
        if component is not None and jax.tree.leaves(memory[hook]) and hook not in recorded:
            raise WiringError(
                f"{component.name} has memory, rollouts begin in mid-episode, and no component "
                f"records the memory before each step; add RecordMemory()"
            )


def _owners(components: Sequence[Component], spec: EnvironmentSpec) -> dict[str, str]:
    owners: dict[str, str] = {}
    for component in wiring.find(components, lc.InitParams):
        made = shapes_of(lambda c=component: call(c, "init_params", jax.random.key(0), spec))
        for name in made:
            if name in owners:
                raise WiringError(
                    f"parameters {name!r} are made by both {owners[name]} and {component.name}; "
                    "rename one"
                )
            owners[name] = component.name
    return owners
