"""A system is a value: composed, compared, printed, changed by copying, pickled."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from mava.components.buffers.replay import PrioritisedReplay, UniformReplay
from mava.components.exploration.epsilon_greedy import EpsilonGreedy
from mava.components.networks.agent_ids import AgentIds
from mava.components.networks.q_network import QNetwork
from mava.components.trainers.trainer import Adam, GradientNorm, HardTargetUpdate, SoftTargetUpdate
from mava.core.lifecycle import Loss, PrepareBatch
from mava.core.system import System, build
from mava.environments import as_factory
from mava.errors import ConfigurationError, WiringError
from mava.functional.schedules import Exponential, Linear
from tests.core.composing import AnyLoss, system

SYSTEM = system()


def names(of: System) -> list[str]:
    return [component.name for component in of]


def test_a_system_holds_components_in_order() -> None:
    listed = System("test", list(SYSTEM), SYSTEM.environment)  # type: ignore[arg-type]
    assert listed == SYSTEM
    assert isinstance(listed.components, tuple)
    assert names(SYSTEM)[:3] == ["executor", "q_network", "epsilon_greedy"]


@pytest.mark.parametrize("part", [Adam, "adam", None])
def test_only_components_are_taken(part: Any) -> None:
    with pytest.raises(WiringError):
        System("test", (part,), SYSTEM.environment)
    with pytest.raises(WiringError):
        SYSTEM.with_(part)


def test_a_component_is_found_by_name_class_and_hook() -> None:
    adam: Adam = SYSTEM["adam"]
    assert adam is SYSTEM[Adam]
    assert SYSTEM[Loss].name == "madqn_loss"
    assert SYSTEM[PrepareBatch].name == "n_step_return"
    with pytest.raises(ConfigurationError, match="has no components 'adan'; did you mean 'adam'"):
        SYSTEM["adan"]
    with pytest.raises(ConfigurationError, match="has 2 components 'PrepareBatch'"):
        SYSTEM.with_(PrioritisedReplay())[PrepareBatch]


def test_with_replaces_the_one_of_its_name() -> None:
    changed = SYSTEM.with_(EpsilonGreedy(epsilon=0.1))
    assert names(changed) == names(SYSTEM)
    assert changed["epsilon_greedy"] == EpsilonGreedy(epsilon=0.1)
    assert SYSTEM["epsilon_greedy"] == EpsilonGreedy(epsilon=0.5)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("uniform_replay", PrioritisedReplay()),  # only one may plan
        ("hard_target_update", SoftTargetUpdate()),  # only one may move targets
        ("madqn_loss", AnyLoss()),  # trains the same parameters
    ],
)
def test_with_replaces_the_one_that_holds_its_place(old: str, new: Any) -> None:
    expected = [new.name if name == old else name for name in names(SYSTEM)]
    assert names(SYSTEM.with_(new)) == expected


def test_with_appends_what_replaces_nothing() -> None:
    assert names(SYSTEM.with_(GradientNorm(), AgentIds())) == [
        *names(SYSTEM),
        "gradient_norm",
        "agent_ids",
    ]
    other = AnyLoss(trains=("critic",))
    assert names(SYSTEM.with_(other)) == [*names(SYSTEM), "any_loss"]


def test_without_takes_out_by_name_class_and_hook() -> None:
    for key in ("adam", Adam):
        assert "adam" not in names(SYSTEM.without(key))
    assert names(SYSTEM.without(Loss, "executor"))[0] == "q_network"
    assert "madqn_loss" not in names(SYSTEM.without(Loss))
    with pytest.raises(ConfigurationError, match="test has no component 'adan'; did you mean"):
        SYSTEM.without("adan")
    with pytest.raises(ConfigurationError, match="test has no component 'AgentIds'"):
        SYSTEM.without(AgentIds)


def test_replace_changes_fields() -> None:
    changed = SYSTEM.replace("q_network", hidden_sizes=(8, 8), activation="tanh")
    assert changed["q_network"] == QNetwork(hidden_sizes=(8, 8), activation="tanh")
    assert names(changed) == names(SYSTEM)
    with pytest.raises(
        ConfigurationError, match="q_network has no field 'hidden_size'; did you mean 'hidden_siz"
    ):
        SYSTEM.replace(QNetwork, hidden_size=(8,))
    with pytest.raises(ConfigurationError, match="did you mean 'relu'"):
        SYSTEM.replace("q_network", activation="relo")


def test_equal_and_hashable() -> None:
    assert system() == SYSTEM
    assert hash(system()) == hash(SYSTEM)
    assert SYSTEM.with_(Adam(learning_rate=0.1)) != SYSTEM
    assert SYSTEM.without(Adam).with_(Adam()) != SYSTEM  # another order


@pytest.mark.parametrize(
    ("setting", "component"),
    [
        (
            "epsilon_greedy.epsilon=Linear(1.0, 0.05, 10000)",
            EpsilonGreedy(Linear(1.0, 0.05, 10000)),
        ),
        (
            "epsilon_greedy.epsilon=Exponential(start=1.0, end=0.05, steps=10)",
            EpsilonGreedy(Exponential(1.0, 0.05, 10)),
        ),
        ("epsilon_greedy.epsilon=0.2", EpsilonGreedy(0.2)),
        ("q_network.hidden_sizes=(8, 8)", QNetwork(hidden_sizes=(8, 8))),
        ("q_network.hidden_sizes=[8]", QNetwork(hidden_sizes=(8,))),
        (" q_network.activation = tanh ", QNetwork(hidden_sizes=(4,), activation="tanh")),
        ("q_network.sharing=none", QNetwork(hidden_sizes=(4,), sharing="none")),
        ("q_network.layer_norm=true", QNetwork(hidden_sizes=(4,), layer_norm=True)),
        ("adam.max_gradient_norm=none", Adam(max_gradient_norm=None)),
        ("adam.optimises=('q_network',)", Adam(optimises=("q_network",))),
    ],
)
def test_set(setting: str, component: Any) -> None:
    assert component in SYSTEM.set(setting).components


def test_settings_of_one_component_are_applied_together() -> None:
    """Neither alone fits the old value of the other."""
    changed = SYSTEM.set("uniform_replay.min_size=100", "uniform_replay.capacity=200")
    assert changed["uniform_replay"] == UniformReplay(capacity=200, min_size=100, batch_size=4)
    with pytest.raises(ConfigurationError, match="training would never begin"):
        SYSTEM.set("uniform_replay.min_size=100")


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("epsilon", "'epsilon' is not of the form component.field=value"),
        ("adam=1", "is not of the form"),
        ("adan.learning_rate=1", "has no components 'adan'; did you mean 'adam'"),
        ("adam.learning_rat=1", "adam has no field 'learning_rat'; did you mean 'learning_rate'"),
        (
            "adam.learning_rate=fast",
            r"adam\.learning_rate takes a number or a schedule, not 'fast'; it is 0\.0005 now",
        ),
        (
            "uniform_replay.capacity=1.5",
            r"uniform_replay\.capacity takes a whole number, not 1\.5; it is 64 now",
        ),
        (
            "q_network.layer_norm=1",
            r"q_network\.layer_norm takes true or false, not 1; it is False now",
        ),
        ("uniform_replay.capacity=true", "takes a whole number, not True"),
        ("adam.max_gradient_norm='5'", "takes a number or none, not '5'"),
        ("q_network.hidden_sizes=8", r"takes tuple\[int, \.\.\.\], not 8; it is \(4,\) now"),
        ("epsilon_greedy.epsilon=Linaer(1, 0, 5)", "no schedule 'Linaer'; did you mean 'Linear'"),
        ("epsilon_greedy.epsilon=Linear(1, 0)", "missing a required argument: 'steps'"),
        ("epsilon_greedy.epsilon=Linear(1, 0, 0.5)", "steps takes a whole number, not 0.5"),
        ("epsilon_greedy.epsilon=Linear(2.0, 0.0, 5)", r"must lie in \[0.0, 1.0\]"),
    ],
)
def test_a_setting_that_cannot_work_is_refused(setting: str, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        SYSTEM.set(setting)


def test_settings_run_no_code() -> None:
    with pytest.raises(ConfigurationError, match="takes a number or a schedule"):
        SYSTEM.set("epsilon_greedy.epsilon=__import__('os').abort()")


def test_describe_lists_hooks_in_the_order_of_the_lifecycle() -> None:
    text = SYSTEM.with_(AgentIds(), PrioritisedReplay()).describe()
    lines = [line.split() for line in text.splitlines()]
    assert lines[0] == ["test", "on", "test/made_up"]
    assert ["transform_observation", "agent_ids"] in lines
    assert ["prepare_batch", "prioritised_replay", "->", "n_step_return"] in lines
    hooks = [line[0] for line in lines]
    order = ["init_params", "score", "select_action", "record", "store", "plan", "loss"]
    assert [name for name in hooks if name in order] == order
    assert "evaluate" not in hooks
    assert "    EpsilonGreedy(epsilon=0.5)" in text.splitlines()


def test_pickled() -> None:
    made = System("test", SYSTEM.components, as_factory("matrix/climbing"))
    copy = pickle.loads(pickle.dumps(made))
    assert copy == made
    assert hash(copy) == hash(made)
    assert copy.describe() == made.describe()


def test_build_makes_an_environment_only_for_its_specification() -> None:
    made = System("test", SYSTEM.components, as_factory("matrix/climbing"))
    assert build(made).spec == made.environment.build().spec
    with pytest.raises(AssertionError, match="no environment is needed"):
        build(SYSTEM)


def test_a_soft_update_takes_the_place_of_a_hard_one_and_back() -> None:
    there = SYSTEM.with_(SoftTargetUpdate())
    assert there.with_(HardTargetUpdate()) == SYSTEM
