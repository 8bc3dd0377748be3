"""Every system solves every probe environment that it claims."""

from __future__ import annotations

import pytest

from mava.core.system import System
from mava.environments import as_factory
from mava.systems import SYSTEMS
from tests.systems.every import ON_POLICY, RECURRENT, VARIANTS, every
from tests.systems.solving import evaluated
from tests.topologies.running import ran

DISCRETE = {
    *("observation_decides", "delayed_reward", "own_action_decides"),
    *("agreement", "two_groups", "image_cue"),
}
ACTORS = {"continuous_target", "choices", "opposed_groups"}
OPPOSED = {"seekers": 1.0, "hiders": -0.5}
ENDS = {"truncation": 10.0, "termination": 1.0}
"""Probes that say what a step is worth, at discount 0.9."""

CLAIMS: dict[str, set[str]] = {
    "madqn": {*DISCRETE, *ENDS, "opposed_groups"},
    "vdn": {*DISCRETE, *ENDS},
    "qmix": {*DISCRETE, *ENDS},
    **{name: {*DISCRETE, *ENDS, *ACTORS} for name in ("maddpg", "matd3", "ippo", "mappo")},
    "rec_iql": {"hidden_cue", "truncation"},
    "rec_madqn": {"hidden_cue", "truncation"},
    "rec_vdn": {"hidden_cue", "truncation"},
    "rec_qmix": {"hidden_cue", "truncation"},
    "rec_ippo": {"hidden_cue"},
    "rec_mappo": {"hidden_cue"},
}
SHOWN: dict[str, set[str]] = {
    "madqn": {*DISCRETE, *ENDS},
    "vdn": {*DISCRETE, *ENDS} - {"observation_decides", "agreement"},
    "qmix": {*DISCRETE, *ENDS} - {"observation_decides"},
    "maddpg": {"delayed_reward", "continuous_target", "opposed_groups"},
    "matd3": {"delayed_reward", "continuous_target"},
    "ippo": {"observation_decides", "own_action_decides", "continuous_target", "choices", *ENDS},
    "mappo": {"two_groups", "own_action_decides", *ENDS},
    **{name: {"hidden_cue"} for name in RECURRENT},
}
"""What the tests of the systems themselves show, beside this table."""

LEFT = {
    (variant, probe)
    for variant, probes in CLAIMS.items()
    for probe in probes - SHOWN.get(variant, set())
}
WORTH = {
    "maddpg": "ddpg_critic_loss/mean_q",
    "matd3": "ddpg_critic_loss/mean_q",
    "rec_iql": "madqn_loss/mean_q",
    "rec_madqn": "madqn_loss/mean_q",
    "rec_vdn": "value_decomposition_loss/mean_q_total",
    "rec_qmix": "value_decomposition_loss/mean_q_total",
}
"""The metric that says what the steps of a batch are worth."""


def learner_of(variant: str, probe: str) -> System:
    """A critic that values all four joint choices right may still slope the wrong way at one of
    them, which is all that a straight-through choice sees: by seed, such actors part again."""
    system = every(variant, f"probe/{probe}")
    if probe == "agreement" and variant in ("maddpg", "matd3"):
        return system.replace("ddpg_actor_loss", choices="relaxed")
    return system


def test_every_system_has_claims() -> None:
    assert CLAIMS.keys() == VARIANTS.keys()
    assert {VARIANTS[variant][0] for variant in CLAIMS} == SYSTEMS.keys()
    assert all(SHOWN[variant] <= CLAIMS[variant] for variant in SHOWN)


@pytest.mark.slow
@pytest.mark.parametrize(("variant", "probe"), sorted(p for p in LEFT if p[1] not in ENDS))
def test_every_greedy_episode_is_the_best_there_is(variant: str, probe: str) -> None:
    system = learner_of(variant, probe)
    found = evaluated(system, ran(system, 2_400 if variant in ON_POLICY else 1_200))
    if probe == "continuous_target":
        assert found.mean_return > -0.1  # the middle of the bounds gets -2.3
    elif probe == "opposed_groups":
        assert {name: set(x) for name, x in found.agent_returns.items()} == {
            name: {best} for name, best in OPPOSED.items()
        }
    else:
        assert found.returns == (1.0,) * 16


@pytest.mark.slow
@pytest.mark.parametrize(("variant", "probe"), sorted(p for p in LEFT if p[1] in ENDS))
def test_f15_a_truncated_step_is_worth_what_follows_and_a_terminal_one_its_reward(
    variant: str, probe: str
) -> None:
    # A network with memory is never trained on what follows an episode of one step.
    factory = as_factory(f"probe/{probe}", length=10 if variant in RECURRENT else 1)
    system = every(variant, factory, updates=4)
    name = next(c.name for c in system if c.name.endswith("target_update"))
    fast = {"rate": 0.2} if name == "soft_target_update" else {"period": 10}
    runner = ran(system.replace(name, **fast), 1_200)
    found = runner.advance(1_248).metrics[WORTH[variant]][-1]
    assert abs(found - ENDS[probe]) < 1.0
