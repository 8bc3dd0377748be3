"""What a user composes from MADQN keeps its meaning, or is refused with the remedy."""

from __future__ import annotations

from typing import Any

import pytest

from mava.components.buffers.replay import PrioritisedReplay
from mava.components.networks.agent_ids import AgentIds
from mava.components.trainers.trainer import Adam
from mava.core.plans import Sampling
from mava.core.system import System, build
from mava.errors import ConfigurationError, MavaError, WiringError
from mava.systems import madqn


def small(**options: Any) -> System:
    return madqn("matrix/climbing", **options)


def test_another_buffer_leaves_the_steps_of_returns_as_they_are() -> None:
    program = build(small(n_step=3).with_(PrioritisedReplay()))
    assert program.plan.sampling is Sampling.PRIORITISED
    assert program.plan.sequence_length == 3


def test_a_loss_without_targets_says_what_to_add() -> None:
    with pytest.raises(
        WiringError, match=r"madqn_loss reads the target parameters 'q_network'.*HardTargetUpdate"
    ):
        build(small().without("hard_target_update"))


def test_a_component_is_put_where_it_is_asked_for() -> None:
    bare = small().without(AgentIds)
    names = [c.name for c in bare.with_(AgentIds(), before="epsilon_greedy")]
    assert names.index("agent_ids") == names.index("epsilon_greedy") - 1
    names = [c.name for c in bare.with_(AgentIds(), after="executor")]
    assert names.index("agent_ids") == names.index("executor") + 1
    with pytest.raises(ConfigurationError, match="did you mean 'executor'"):
        bare.with_(AgentIds(), after="executer")


def test_optimisers_are_named_by_what_they_are_limited_to() -> None:
    optimiser = Adam(optimises=("q_network",))
    assert optimiser.name == "adam_q_network"
    with pytest.raises(WiringError, match="optimised by both adam and adam_q_network"):
        build(small().with_(optimiser))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"capacity": 1e5}, r"capacity is 100000\.0; it must be at least 1, and whole"),
        ({"batch_size": 32.0}, "batch_size is 32.0"),
        ({"num_environments": 0}, "num_environments is 0"),
        ({"num_environments": 2.0}, "num_environments is 2.0"),
        ({"update_every": True}, "update_every is True"),
        ({"hidden_sizes": 64}, r"hidden_sizes is 64; give a tuple such as \(64, 64\)"),
        ({"hidden_sizes": (64, 0)}, "a width in q_network.hidden_sizes is 0"),
        ({"n_step": 0}, "steps is 0"),
    ],
)
def test_sizes_are_whole_numbers(options: dict[str, Any], message: str) -> None:
    with pytest.raises(MavaError, match=message):
        build(small(**options))


def test_a_list_of_widths_is_as_good_as_a_tuple() -> None:
    assert small(hidden_sizes=[8, 8]) == small(hidden_sizes=(8, 8))
