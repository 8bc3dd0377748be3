"""What every component owes to a system: inherit the contract, name the component, run pytest.

    class TestMine(ComponentContract):
        def make_component(self):
            return MyLoss(discount=0.9)

Inputs are made up from specifications; a component that reads batch fields, parameters or scores of
another kind overrides the method that makes them.
"""

from __future__ import annotations

import dataclasses
import functools
import pathlib
import pickle
import random
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from mava.core import lifecycle as lc
from mava.core.contexts import Batch, Params
from mava.core.evaluation import ActFunction, Evaluation
from mava.core.plans import BufferPlan
from mava.core.wiring import check_component
from mava.functional.loops import plain_python, stack_trees
from mava.testing import act_cases, builders, learn_cases
from mava.testing.case import FAST, Case, CompiledCase, Inputs, equal, plain, shapes
from mava.types import DiscreteActions, EnvironmentSpec, GroupSpec, PyTree

_KEYS = 16


class ComponentContract:
    """Tests for a component of any kind.

    Attributes:
        specs: environments that the component must work on, by name.
        tolerance: relative and absolute, between plain Python and compiled code.
        recurrent: whether the network of the system has memory.
        strict: hooks must not mix dtypes or ranks silently. Optimisers are free to, as Optax does.
    """

    specs: ClassVar[Mapping[str, EnvironmentSpec]] = builders.DISCRETE_SPECS
    tolerance: float = 2e-5
    strict: bool = True
    recurrent: bool = False

    def make_component(self) -> Any:
        """The component. Override this."""
        raise NotImplementedError

    def make_params(self, spec: EnvironmentSpec, seed: int) -> Params:
        """Parameters by name: the component's own, else made-up ones for the sets that it names."""
        component = self.make_component()
        if isinstance(component, lc.InitParams):
            return _compiled_init(component, spec)(jax.random.key(seed))  # type: ignore[no-any-return]
        named = getattr(component, "trains", None) or getattr(component, "targets", None)
        rng = np.random.default_rng(seed)
        return {
            name: {g.name: {"w": rng.normal(size=3).astype(np.float32)} for g in spec.groups}
            for name in named or ("network",)
        }

    def make_batch(self, spec: EnvironmentSpec, seed: int) -> Batch:
        """Batch fields ``[B, T, ...]``."""
        return builders.batch(spec, seed=seed)

    def make_scores(self, group: GroupSpec, rng: np.random.Generator, *leading: int) -> np.ndarray:
        """Scores ``[*leading, ...]`` as the system's network gives them: by default one number per
        flag of a mask, or a mean and a spread for continuous actions. ``leading`` ends with N."""
        actions = group.actions
        size = actions.num_choices or 2 * int(np.prod(actions.array.shape))
        return rng.normal(size=(*leading, size)).astype(np.float32)

    def test_it_is_a_frozen_value(self) -> None:
        component = self.make_component()
        check_component(component)
        copy = pickle.loads(pickle.dumps(component))
        assert copy == component == dataclasses.replace(component)
        assert hash(copy) == hash(component)
        assert copy.name == component.name
        names = {field.name for field in dataclasses.fields(component)}
        assert set(vars(component)) <= names, "keeps state outside its fields"

    def test_its_name_is_in_snake_case(self) -> None:
        assert re.fullmatch(r"[a-z][a-z0-9]*(_[a-z0-9]+)*", self.make_component().name)

    def test_compiled_equals_plain_python(self) -> None:
        for case in self._cases_of_a_loop():
            arguments = case.arguments(0)
            with plain_python():
                plain = case.function(*jax.tree.map(jnp.asarray, arguments))
            self._assert_close(
                plain, case.compiled(*arguments), f"{case.name}: plain Python and jit differ"
            )

    def test_vmap_equals_a_loop(self) -> None:
        for case in self._cases_of_a_loop():
            each = [jax.tree.map(jnp.asarray, case.arguments(seed)) for seed in (0, 1)]
            result = jax.jit(jax.vmap(case.function), compiler_options=FAST)(*stack_trees(each))
            loop = stack_trees([case.compiled(*arguments) for arguments in each])
            self._assert_close(loop, result, f"{case.name}: a loop and vmap differ")

    def test_hooks_are_traced_once(self) -> None:
        for case in self._cases():
            case.compiled(*case.arguments(0))
            once = case.traces()
            result = case.compiled(*case.arguments(1))
            if case.carried is not None:
                index, read = case.carried
                arguments = list(case.arguments(2))
                before, arguments[index] = arguments[index], read(result)
                assert shapes(before) == shapes(arguments[index]), (
                    f"{case.name} changes the structure, the shapes or the dtypes of its state"
                )
                case.compiled(*arguments)
            assert case.traces() == once, (
                f"{case.name} was traced again in a second call, so it would compile again in a "
                f"run: its state changes in weak type, or its output depends on a Python value"
            )

    def test_randomness_comes_from_the_key(self) -> None:
        for case in self._cases():
            if case.key is None:
                assert not case.draws(), f"{case.name} draws random numbers, but is given no key"
                continue
            arguments = list(case.arguments(0))
            results = []
            for seed in (*range(_KEYS), 0):
                arguments[case.key] = jax.random.key(seed)
                results.append(case.compiled(*arguments))
            assert equal(results[0], results[-1]), f"{case.name} differs for one key"
            differ = any(not equal(results[0], other) for other in results[1:-1])
            assert differ == case.draws(), f"{case.name}: another key must give another result"

    def test_it_reads_and_writes_no_global_state(self) -> None:
        before = _global_randomness()
        component = self.make_component()
        for case in self._cases():
            first = case.traced(3)
            case.traced(4)
            assert case.traced(3) == first, f"{case.name} computes another thing the second time"
        assert before == _global_randomness()
        assert component == self.make_component()

    def test_transformed_observations_are_as_promised(self) -> None:
        component = self.make_component()
        for case in self._cases("transform_observation"):
            group, given = case.group, case.arguments(0)[0]
            result = jax.eval_shape(case.function, *case.arguments(0))
            promised = component.transformed(group)
            leading = given.shape[: given.ndim - len(group.observation.shape)]
            assert result.shape == (*leading, *promised.shape), case.name
            assert result.dtype == promised.dtype, case.name

    def test_unroll_equals_score_step_by_step(self) -> None:
        scoring = {case.group: case for case in self._cases("score")}
        for case in self._cases("unroll"):
            component, one = self.make_component(), scoring[case.group]
            params, shown, start, memory = case.arguments(0)
            scores, memories = case.compiled(params, shown, start, memory)
            for row in range(start.shape[0]):
                carry = jax.tree.map(lambda x, row=row: x[row], memory)
                for t in range(start.shape[1]):
                    carry = component.init_memory(case.group) if start[row, t] else carry
                    score, carry = one.compiled(params, shown[row, t], carry)
                    at = f"{case.name} in row {row}, step {t}"
                    self._assert_close(score, scores[row, t], at)
                    if jax.tree.leaves(carry):
                        after = jax.tree.map(lambda x, i=(row, t): x[i], memories)
                        self._assert_close(carry, after, f"memory of {at}")

    def test_actions_are_in_their_space(self) -> None:
        for case in self._cases("select_action"):
            actions, agents = case.group.actions, case.group.num_agents
            for seed in range(_KEYS):
                arguments = list(case.arguments(seed))
                action = np.asarray(case.compiled(*arguments)[0].action)
                assert action.shape == (agents, *actions.array.shape), case.name
                assert action.dtype == actions.array.dtype, case.name
                if isinstance(actions, DiscreteActions):
                    legal = arguments[1][np.arange(agents), action]
                    assert legal.all(), f"{case.name} chose an illegal action"
                    arguments[1] = np.zeros_like(arguments[1])
                    idle = case.compiled(*arguments)[0].action
                    assert not np.any(idle), f"{case.name}: without a legal action it must take 0"
            assert case.explores or not case.draws(), f"{case.name} draws random numbers"

    def test_the_plan_is_a_value(self) -> None:
        component = self.make_component()
        if isinstance(component, lc.Plan):
            assert isinstance(component.plan(), BufferPlan)
            assert component.plan() == self.make_component().plan()

    def test_it_observes_a_run(self) -> None:
        component = self.make_component()
        if isinstance(component, lc.Observe):
            for run_dir in (None, pathlib.Path(tempfile.mkdtemp())):
                observer = component.open_observer(builders.run(run_dir))
                observer.on_message("compiling")
                for step in (0, 50, 100):
                    observer.on_progress(builders.progress(step))
                    observer.on_metrics({"loss": 0.5}, builders.progress(step))
                    observer.on_evaluation(builders.evaluation(step), builders.progress(step))
                observer.on_absolute_metric(builders.evaluation(50), builders.progress(100))
                observer.on_end("all steps are done", builders.progress(100))
                observer.close()
                observer.close()
                component.open_observer(builders.run(run_dir)).close()

    def test_it_stops_with_a_sentence_or_not_at_all(self) -> None:
        component = self.make_component()
        if isinstance(component, lc.Stop):
            for progress in (
                builders.progress(0),
                dataclasses.replace(builders.progress(0), evaluation=None),
            ):
                reason = component.stop_reason(progress)
                assert reason is None or reason

    def test_it_refuses_no_run_that_has_not_begun(self) -> None:
        component: Any = self.make_component()
        if isinstance(component, lc.Refuse):
            keeps = isinstance(component, lc.PrepareBatch)
            for spec in self.specs.values():
                state = component.init_state(spec) if keeps else ()  # type: ignore[attr-defined]
                assert component.refusal(state, spec) is None
                assert isinstance(component.is_decided(state), bool)

    def test_it_evaluates_an_act_function(self) -> None:
        component = self.make_component()
        if isinstance(component, lc.Evaluate):
            act = ActFunction(lambda variables, memory, timestep, key: ({}, memory))
            assert isinstance(component.evaluate(act, builders.ConstantEpisodes(), 0), Evaluation)

    def _cases(self, prefix: str = "") -> Iterator[CompiledCase]:
        component = self.make_component()
        for name, spec in self.specs.items():
            address = (type(self), component, name)
            if address not in _CASES:
                inputs = Inputs(
                    spec,
                    params=functools.cache(functools.partial(self.make_params, spec)),
                    batch=functools.cache(functools.partial(self.make_batch, spec)),
                    scores=self.make_scores,
                    recurrent=self.recurrent,
                )
                _CASES[address] = [
                    CompiledCase(name, component, case, self.strict)
                    for case in _cases_of(component, inputs)
                ]
            yield from (case for case in _CASES[address] if case.hook == (prefix or case.hook))

    def _cases_of_a_loop(self) -> Iterator[CompiledCase]:
        """On the first specification: what these show does not depend on shapes."""
        first = next(iter(self.specs))
        yield from (c for c in self._cases() if c.spec == first and c.hook != "init_params")

    def _assert_close(self, left: PyTree, right: PyTree, message: str) -> None:
        first, second = jax.tree.leaves(left), jax.tree.leaves(right)
        assert str(jax.tree.structure(left)) == str(jax.tree.structure(right)), message
        for a, b in zip(first, second, strict=True):
            assert jnp.shape(a) == b.shape, message
            assert jnp.result_type(a) == b.dtype, message
            tolerance = self.tolerance
            np.testing.assert_allclose(
                plain(a), plain(b), rtol=tolerance, atol=tolerance, err_msg=message
            )


_MAKERS: tuple[tuple[type, Callable[[Any, Inputs], Iterator[Case]]], ...] = (
    (lc.InitParams, act_cases.init_params),
    (lc.TransformObservation, act_cases.transform_observation),
    (lc.Score, act_cases.score),
    (lc.SelectAction, act_cases.select_action),
    (lc.Act, act_cases.act),
    (lc.Record, act_cases.record),
    (lc.PrepareBatch, learn_cases.prepare_batch),
    (lc.Value, learn_cases.value),
    (lc.Mix, learn_cases.mix),
    (lc.Loss, learn_cases.loss),
    (lc.Optimise, learn_cases.optimiser),
    (lc.UpdateTargets, learn_cases.update_targets),
    (lc.Measure, learn_cases.measure),
    (lc.Update, learn_cases.update),
)


def _cases_of(component: Any, inputs: Inputs) -> Iterator[Case]:
    """Every pure hook that the component implements."""
    for hook, make in _MAKERS:
        if isinstance(component, hook):
            yield from make(component, inputs)


_CASES: dict[Any, list[CompiledCase]] = {}


@functools.lru_cache(maxsize=64)
def _compiled_init(component: Any, spec: EnvironmentSpec) -> Any:
    init = functools.partial(component.init_params, spec=spec)
    return jax.jit(init, compiler_options=FAST)


def _global_randomness() -> Any:
    return random.getstate(), pickle.dumps(np.random.get_state())  # noqa: NPY002
