"""The rules that hold when a component's class is defined and when a component is made."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from mava.components.executors.executor import Executor
from mava.components.trainers.trainer import GradientNorm
from mava.core.component import HOOKS, Component, Hook, hooks_of, snake_case
from mava.core.lifecycle import InitParams, Measure, Record, Score, SelectAction
from mava.core.observing import Observer
from mava.core.wiring import check_component
from mava.errors import WiringError


def test_a_hook_method_without_its_hook() -> None:
    with pytest.raises(
        WiringError,
        match=r"Greedy defines select_action\(\) but does not inherit SelectAction, so it would "
        r"never run; write class Greedy\(SelectAction, \.\.\.\)",
    ):

        class Greedy(Component):
            def select_action(self, scores: Any, legal: Any, memory: Any, context: Any) -> Any: ...


def test_a_misspelt_hook_method() -> None:
    with pytest.raises(
        WiringError,
        match=r"Greedy defines select_acton\(\), which no hook calls; did you mean "
        r"select_action\(\) of SelectAction\? A helper's name should start with an underscore",
    ):

        class Greedy(SelectAction):
            def select_acton(self, scores: Any, legal: Any, memory: Any, context: Any) -> Any: ...


def test_a_misspelt_method_beside_a_hook() -> None:
    with pytest.raises(WiringError, match=r"init_memroy\(\).*did you mean init_memory\(\)"):

        class Recurrent(Score):
            def init_memroy(self, group: Any) -> Any: ...

            def score(self, params: Any, observation: Any, memory: Any, context: Any) -> Any: ...


def test_a_misspelt_hook_that_is_not_inherited() -> None:
    with pytest.raises(WiringError, match=r"did you mean transform_observation\(\)"):

        class Greedy(SelectAction):
            def transform_observations(self, observation: Any, context: Any) -> Any: ...


def test_a_hook_method_with_other_parameters() -> None:
    with pytest.raises(
        WiringError,
        match=r"Norms\.measure\(self, grads, batch\) does not match its hook; "
        r"write measure\(self, gradients, batch, context\)",
    ):

        class Norms(Measure):
            def measure(self, grads: Any, batch: Any) -> Any: ...  # type: ignore[override]


def test_helpers_are_free() -> None:
    class Norms(Measure):
        def measure(self, gradients: Any, batch: Any, context: Any) -> Any:
            return self._norm(gradients)

        def _select_action(self) -> Any: ...

        def _norm(self, gradients: Any) -> Any: ...

        def shape_of(self, gradients: Any) -> Any: ...

    assert hooks_of(Norms) == [Measure]


def test_an_observer_method_that_nothing_calls() -> None:
    with pytest.raises(
        WiringError, match=r"Plot\.on_evaluate\(\) is never called; did you mean on_evaluation\(\)"
    ):

        class Plot(Observer):
            def on_evaluate(self, evaluation: Any) -> None: ...


def test_hooks_are_in_the_order_of_the_lifecycle() -> None:
    names = list(HOOKS)
    stages = list(dict.fromkeys(hook.stage for hook in HOOKS.values()))
    assert stages == ["init", "act", "store", "learn", "evaluate", "observe"]
    assert names.index("score") < names.index("select_action") < names.index("record")
    assert names.index("prepare_batch") < names.index("loss") < names.index("update_targets")
    for name, hook in HOOKS.items():
        assert hook.method == name
        assert issubclass(hook, Hook)
        assert getattr(hook, name).__doc__ or hook.__doc__


@pytest.mark.parametrize(
    ("name", "snake"),
    [
        ("EpsilonGreedy", "epsilon_greedy"),
        ("QNetwork", "q_network"),
        ("MADQNLoss", "madqn_loss"),
        ("TD3Target", "td3_target"),
        ("A", "a"),
    ],
)
def test_snake_case(name: str, snake: str) -> None:
    assert snake_case(name) == snake


def test_a_class_in_place_of_a_component() -> None:
    with pytest.raises(WiringError, match=r"Executor is a class; .*: Executor\(\.\.\.\)"):
        check_component(Executor)


def test_something_else_in_place_of_a_component() -> None:
    with pytest.raises(WiringError, match=r"'adam' is not a Component; inherit the hook"):
        check_component("adam")


def test_a_component_that_is_not_frozen() -> None:
    class Bare(Measure):
        def measure(self, gradients: Any, batch: Any, context: Any) -> Any: ...

    @dataclasses.dataclass
    class Thawed(Measure):
        def measure(self, gradients: Any, batch: Any, context: Any) -> Any: ...

    class Inherits(GradientNorm):
        pass

    for kind in (Bare, Thawed, Inherits):
        message = (
            rf"{kind.__name__} is not a frozen dataclass; write @dataclasses.dataclass\(frozen"
        )
        with pytest.raises(WiringError, match=message):
            check_component(kind())


def test_a_component_that_implements_nothing() -> None:
    @dataclasses.dataclass(frozen=True)
    class Idle(Component):
        pass

    with pytest.raises(WiringError, match="idle implements no hook, so it would never run"):
        check_component(Idle())


def test_an_unhashable_field() -> None:
    @dataclasses.dataclass(frozen=True)
    class Norms(GradientNorm):
        names: Any = ()
        others: Any = ()

    with pytest.raises(
        WiringError, match=r"norms has unhashable fields \['names'\]; use tuples and frozen values"
    ):
        check_component(Norms(names=["a"]))


def test_one_class_may_implement_several_hooks() -> None:
    @dataclasses.dataclass(frozen=True)
    class Both(Record, InitParams):
        def record(self, transition: Any) -> Any: ...

        def init_params(self, key: Any, spec: Any) -> Any: ...

    assert hooks_of(Both()) == [InitParams, Record]
    check_component(Both())
