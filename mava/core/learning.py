"""The learn stage: composes batch preparation, losses, optimisers and targets into one pure
function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import optax

from mava.core import lifecycle as lc
from mava.core import wiring
from mava.core.acting import Acting
from mava.core.calling import call
from mava.core.component import Component
from mava.core.contexts import Batch, GroupContext, LearnContext, LearnHooks, LossOutput, Unrolled
from mava.core.keys import address
from mava.core.learner import LearnerState, Params, strongly_typed
from mava.errors import WiringError
from mava.functional.loops import is_plain, vmap
from mava.types import Array, PyTree

AllMean = Callable[[PyTree], PyTree]


def identity(tree: PyTree) -> PyTree:
    return tree


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
            components={p.name: call(p, "init_state", self.spec) for p in self.preparers},
            updates=jnp.zeros((), jnp.int32),
        )
        return LearnerState(*strongly_typed(tuple(learner)))

    def learn(
        self, learner: LearnerState, batch: Batch, key: jax.Array, all_mean: AllMean = identity
    ) -> tuple[LearnerState, dict[str, Array], Array | None]:
        """One trainer step. The key is the run's; ``learner.updates`` is folded in here, at every
        gradient step anew."""
        hooks = LearnHooks(
            prepare=lambda state, batch: self._prepare(state, batch, key, all_mean),
            gradients=lambda state, batch: self._gradients(state, batch, key, all_mean),
            apply=self._apply,
            key=address(key, learner.updates, self.trainer.name),
        )
        return call(self.trainer, "update", learner, batch, hooks)  # type: ignore[no-any-return]

    def _of_targets(self, params: Params) -> Params:
        if self.targets is None:
            return {}
        return dict(params) if self.targets.targets is None else _pick(params, self.targets.targets)

    def _prepare(
        self, learner: LearnerState, batch: Batch, key: jax.Array, all_mean: AllMean
    ) -> tuple[LearnerState, Batch]:
        states = dict(learner.components)
        for preparer in self.preparers:
            context = self._context(preparer, learner._replace(components=states), key, all_mean)
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
            priorities = output.priorities if output.priorities is not None else priorities
        gradients, metrics = all_mean((gradients, metrics))
        for measure in self.measures:
            context = self._context(measure, learner, key, all_mean)
            measured = call(measure, "measure", gradients, batch, context)
            metrics.update({f"{measure.name}/{name}": x for name, x in measured.items()})
        return gradients, metrics, priorities

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
            return self._unroll(params, batch, learner.components)

        def value(params: Params, batch: Batch) -> dict[str, Array]:
            if self.critic is None:
                raise WiringError(
                    f"{component.name} calls context.value(), but no component implements "
                    "Value.value(); "
                    f"add a critic"
                )
            inner = self._context(self.critic, learner, key, all_mean)
            observed = {**batch, "observation": self._transformed(batch, "observation", learner)}
            return call(self.critic, "value", params, observed, inner)  # type: ignore[no-any-return]

        def mix(params: Params, values: dict[str, Array], state: Array | None) -> Array:
            if self.mixer is None:
                raise WiringError(
                    f"{component.name} calls context.mix(), but no component implements "
                    "Mix.mix(); add a mixer"
                )
            return call(self.mixer, "mix", params, values, state)  # type: ignore[no-any-return]

        return LearnContext(
            spec=self.spec,
            target_params=learner.target_params,
            updates=learner.updates,
            key=address(key, learner.updates, component.name),
            all_mean=all_mean,
            unroll=unroll,
            value=value,
            mix=mix,
        )

    def _transformed(self, batch: Batch, field: str, learner: LearnerState) -> dict[str, Array]:
        return self.acting.transform(learner.components, batch[field])

    def _unroll(self, params: Params, batch: Batch, components: dict[str, PyTree]) -> Unrolled:
        scorer = self.acting.scorer
        observation = self.acting.transform(components, batch["observation"])
        scores, memories = {}, {}
        for group in self.spec.groups:
            context = GroupContext(group, components.get(scorer.name, ()))
            scores[group.name], memories[group.name] = call(
                scorer,
                "unroll",
                params,
                observation[group.name],
                batch["start"],
                self._first_memory(batch, group.name),
                context,
            )

        def next_scores() -> dict[str, Array]:
            following = self.acting.transform(components, batch["next_observation"])
            found = {}
            for group in self.spec.groups:
                context = GroupContext(group, components.get(scorer.name, ()))
                found[group.name] = _score_each(
                    scorer,
                    params,
                    following[group.name],
                    batch["start"],
                    memories[group.name],
                    context,
                )
            return found

        return Unrolled(scores, next_scores)

    def _first_memory(self, batch: Batch, group: str) -> PyTree:
        """The memory before the first step ``[B, ...]``: as recorded, else as at an episode's
        start."""
        if "memory" in batch:
            return jax.tree.map(lambda x: x[:, 0], batch["memory"]["score"][group])
        size = batch["start"].shape[0]
        initial = self.acting.init_memory()["score"][group]
        return jax.tree.map(lambda x: jnp.broadcast_to(x, (size, *jnp.shape(x))), initial)


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


def _score_each(
    scorer: lc.Score,
    params: Params,
    observation: Array,
    start: Array,
    memory: PyTree,
    context: GroupContext,
) -> Array:
    """Scores of ``[B, T, N, *O]``, each step from a memory of its own ``[B, T, ...]``."""
    if not jax.tree.leaves(memory):
        return call(scorer, "unroll", params, observation, start, memory, context)[0]  # type: ignore[no-any-return]

    def one(x: Array, before: PyTree) -> Array:
        return call(scorer, "score", params, x, before, context)[0]  # type: ignore[no-any-return]

    return vmap(vmap(one))(observation, memory)


def _pick(params: Params, sets: Sequence[str]) -> dict[str, Any]:
    return {name: params[name] for name in sets}
