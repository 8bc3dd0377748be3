"""The learn stage: composes batch preparation, losses, optimisers and targets into one pure
function."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import optax

from mava.core import lifecycle as lc
from mava.core import wiring
from mava.core.acting import Acting
from mava.core.calling import call
from mava.core.component import Component
from mava.core.contexts import (
    Batch,
    LearnContext,
    LearnHooks,
    LossOutput,
    Unrolled,
    UnrolledValues,
)
from mava.core.keys import address
from mava.core.learner import LearnerState, Params, strongly_typed
from mava.core.unrolling import unroll_scores, unroll_values
from mava.errors import WiringError
from mava.functional.devices import AllMean, identity
from mava.functional.loops import is_plain
from mava.types import Array, PyTree


class Learning:
    """The learn hooks of a system."""

    def __init__(self, components: Sequence[Component], acting: Acting) -> None:
        self.acting = acting
        self.spec = acting.network_spec
        self.owners = wiring.find(components, lc.InitParams)
        self.preparers = wiring.find(components, lc.PrepareBatch)
        self.losses = wiring.find(components, lc.Loss)
        self.measures = wiring.find(components, lc.Measure)
        self.trainer = wiring.one(components, lc.Update)
        self.critic = wiring.optional(components, lc.Value)
        self.mixer = wiring.optional(components, lc.Mix)
        self.targets = wiring.optional(components, lc.UpdateTargets)
        trained = tuple(name for loss in self.losses for name in loss.trains)
        self.optimisers = [
            (o.name, call(o, "optimiser"), trained if o.optimises is None else o.optimises)
            for o in wiring.find(components, lc.Optimise)
        ]

    def init(self, key: jax.Array) -> LearnerState:
        """The trainer's state before the first step. Targets begin equal to their parameters."""
        params: Params = {}
        for owner in self.owners:
            params.update(call(owner, "init_params", address(key, owner.name), self.spec))
        learner = LearnerState(
            params=params,
            target_params=jax.tree.map(jnp.copy, self._of_targets(params)),
            optimiser={
                name: optimiser.init(_pick(params, sets))
                for name, optimiser, sets in self.optimisers
            },
            components={p.name: call(p, "init_state", self.acting.spec) for p in self.preparers},
            updates=jnp.zeros((), jnp.int32),
        )
        return LearnerState(*strongly_typed(tuple(learner)))

    def learn(
        self, learner: LearnerState, batch: Batch, key: jax.Array, all_mean: AllMean = identity
    ) -> tuple[LearnerState, dict[str, Array], Array | None]:
        """One trainer step. The key is the run's; ``learner.updates`` is folded in here, at every
        gradient step anew.

        Statistics that the batch changes take effect after the step: what was acted with them is
        trained with them, so that on policy the first gradient step meets the policy that acted.
        """
        acted_with = learner.components

        def gradients(
            state: LearnerState, batch: Batch
        ) -> tuple[Params, dict[str, Array], Array | None]:
            return self._gradients(state._replace(components=acted_with), batch, key, all_mean)

        hooks = LearnHooks(
            prepare=lambda state, batch: self._prepare(state, batch, key, all_mean),
            gradients=gradients,
            apply=self._apply,
            key=address(key, learner.updates, self.trainer.name),
            recurrent=self.acting.is_recurrent or self.acting.critic_acts,
        )
        return call(self.trainer, "update", learner, batch, hooks)  # type: ignore[no-any-return]

    def _of_targets(self, params: Params) -> Params:
        if self.targets is None:
            return {}
        return dict(params) if self.targets.targets is None else _pick(params, self.targets.targets)

    def _targets_for(self, component: Component, learner: LearnerState) -> Params:
        kept = learner.target_params
        if kept.keys() >= learner.params.keys():
            return kept
        remedy = (
            "no component implements UpdateTargets.update_targets(); add one, such as "
            "HardTargetUpdate"
            if self.targets is None
            else f"{self.targets.name} keeps targets of {', '.join(map(repr, kept)) or 'nothing'} "
            f"alone; add the set to its field targets, or set that to None for all"
        )
        return _SomeTargets(kept, component.name, remedy)

    def _prepare(
        self, learner: LearnerState, batch: Batch, key: jax.Array, all_mean: AllMean
    ) -> tuple[LearnerState, Batch]:
        states = dict(learner.components)
        for preparer in self.preparers:
            context = self._context(preparer, learner, key, all_mean)
            batch, states[preparer.name] = call(
                preparer, "prepare_batch", batch, states[preparer.name], learner.params, context
            )
        return learner._replace(components=states), batch

    def _gradients(
        self, learner: LearnerState, batch: Batch, key: jax.Array, all_mean: AllMean
    ) -> tuple[Params, dict[str, Array], Array | None]:
        gradients: Params = {}
        metrics: dict[str, Array] = {}
        priorities: Array | None = None
        for loss in self.losses:
            context = self._context(loss, learner, key, all_mean)

            def of_trained(
                trained: Params, loss: lc.Loss = loss, context: LearnContext = context
            ) -> tuple[Array, LossOutput]:
                output = call(loss, "loss", {**learner.params, **trained}, batch, context)
                _check_output(loss, output)
                return output.loss, output

            trained = _pick(learner.params, loss.trains)
            if is_plain():
                of_trained(trained)  # a breakpoint stops here first, on values, not on tracers
            (value, output), found = jax.value_and_grad(of_trained, has_aux=True)(trained)
            gradients.update(found)
            metrics[f"{loss.name}/loss"] = value
            metrics.update({f"{loss.name}/{name}": x for name, x in output.metrics.items()})
            for group, share in (output.per_agent or {}).items():
                metrics[f"{loss.name}/by_agent/{group}"] = share
            if output.priorities is not None:
                if priorities is not None:
                    raise WiringError(
                        f"{loss.name} returns priorities, and a loss before it did too; one may"
                    )
                priorities = output.priorities
        gradients = all_mean(gradients)
        for measure in self.measures:
            context = self._context(measure, learner, key, all_mean)
            measured = call(measure, "measure", gradients, batch, context)
            metrics.update({f"{measure.name}/{name}": x for name, x in measured.items()})
        return gradients, all_mean(metrics), priorities

    def _apply(self, learner: LearnerState, gradients: Params) -> LearnerState:
        params, states = dict(learner.params), dict(learner.optimiser)
        for name, optimiser, sets in self.optimisers:
            old = _pick(params, sets)
            changes, states[name] = optimiser.update(_pick(gradients, sets), states[name], old)
            params.update(optax.apply_updates(old, changes))
        updates = learner.updates + 1
        targets = learner.target_params
        if self.targets is not None:
            current = self._of_targets(params)
            targets = call(self.targets, "update_targets", current, targets, updates)
        return learner._replace(
            params=params, target_params=targets, optimiser=states, updates=updates
        )

    def _context(
        self, component: Component, learner: LearnerState, key: jax.Array, all_mean: AllMean
    ) -> LearnContext:
        def unroll(params: Params, batch: Batch) -> Unrolled:
            return unroll_scores(self.acting, params, batch, learner.components)

        def value(params: Params, batch: Batch) -> UnrolledValues:
            if self.critic is None:
                raise WiringError(
                    f"{component.name} calls context.value(), but no component implements "
                    f"Value.value(); add a critic"
                )
            return unroll_values(self.acting, self.critic, params, batch, learner.components)

        def mix(params: Params, values: dict[str, Array], batch: Batch) -> Array:
            if self.mixer is None:
                raise WiringError(
                    f"{component.name} calls context.mix(), but no component implements "
                    f"Mix.mix(); add a mixer"
                )
            inner = self._context(self.mixer, learner, key, all_mean)
            if "observation" in batch:
                shown = self.acting.transform(learner.components, batch["observation"])
                batch = {**batch, "observation": shown}
            return call(self.mixer, "mix", params, values, batch, inner)  # type: ignore[no-any-return]

        return LearnContext(
            spec=self.spec,
            target_params=self._targets_for(component, learner),
            updates=learner.updates,
            key=address(key, learner.updates, component.name),
            all_mean=all_mean,
            unroll=unroll,
            value=value,
            mix=mix,
            recurrent=self.acting.is_recurrent,
        )


class _SomeTargets(dict[str, PyTree]):
    """Says what to do when a hook asks for a target that nobody keeps."""

    def __init__(self, kept: Params, component: str, remedy: str) -> None:
        super().__init__(kept)
        self.component, self.remedy = component, remedy

    def __missing__(self, name: str) -> PyTree:
        raise WiringError(
            f"{self.component} reads the target parameters {name!r}, but {self.remedy}"
        )


def _parts(some: _SomeTargets) -> tuple[tuple[PyTree, ...], tuple[Any, ...]]:
    return tuple(some.values()), (tuple(some), some.component, some.remedy)


def _whole(about: tuple[Any, ...], parts: Iterable[PyTree]) -> _SomeTargets:
    names, component, remedy = about
    return _SomeTargets(dict(zip(names, parts, strict=True)), component, remedy)


# Else JAX takes it, a class that it does not know, for a leaf.
jax.tree_util.register_pytree_node(_SomeTargets, _parts, _whole)


def _check_output(loss: lc.Loss, output: LossOutput) -> None:
    if not isinstance(output, LossOutput):
        raise WiringError(
            f"{loss.name}.loss() returned {type(output).__name__}; return LossOutput(loss, metrics)"
        )
    if jnp.shape(output.loss) != ():
        raise WiringError(
            f"{loss.name}.loss() returned a loss of shape {list(jnp.shape(output.loss))}; a loss "
            f"is a scalar, so reduce it"
        )


def _pick(params: Params, sets: Sequence[str]) -> dict[str, Any]:
    return {name: params[name] for name in sets}
