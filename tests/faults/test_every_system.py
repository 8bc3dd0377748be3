"""Faults that any system can have, on every system of the shelf: sizes, masks, spaces, the dead."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest
from gymnasium import spaces

import mava
from mava.core.system import build
from mava.errors import ConfigurationError, MavaError
from mava.systems import SYSTEMS
from mava.testing.toys import Masked, Spaces
from tests.core.test_learning import inputs
from tests.faults.collecting import Collecting, Kept
from tests.faults.test_f04_to_f06_names_and_sizes import Watched
from tests.systems.every import ON_POLICY, RECURRENT, TEAMS, VARIANTS, every
from tests.systems.solving import evaluated
from tests.topologies.running import params, ran, started

PLAIN = [name for name in VARIANTS if name not in RECURRENT] + ["rec_iql", "rec_madqn"]


def test_every_system_has_a_row() -> None:
    assert {system for system, _ in VARIANTS.values()} == SYSTEMS.keys()


def seldom(variant: str) -> dict[str, Any]:
    """Options for few trainer steps."""
    if variant in ON_POLICY:
        return {"num_environments": 2, "rollout_length": 50, "epochs": 1, "minibatches": 1}
    return {"num_environments": 2, "update_every": 100, "updates": 1}


@pytest.mark.slow
@pytest.mark.parametrize("variant", PLAIN)
@pytest.mark.parametrize("name", ["simple_speaker_listener_v4", "simple_tag_v3"])
def test_f5_groups_of_different_sizes(variant: str, name: str, tmp_path: Any) -> None:
    """The environment fails on an action outside of an agent's own space."""
    watched = Kept(Watched, f"mpe2/{name}")
    if variant in TEAMS and "tag" in name:
        # Batches large enough for what is opposed to be decided.
        system = every(variant, watched, batch_size=1_024, update_every=8)
        with pytest.raises(ConfigurationError, match="opposed"):
            mava.launch(system, total_steps=1_000, run_dir=tmp_path)
        return
    runner = ran(every(variant, watched, **seldom(variant)), 1_000)
    assert runner.trainer_steps > 5
    toys = watched.made[:2]
    assert [len(toy.taken) for toy in toys] == [500, 500]
    for agent in toys[0].possible_agents:
        used = {actions[agent] for toy in toys for actions in toy.taken}
        assert used == set(range(toys[0].action_space(agent).n))


@pytest.mark.slow
@pytest.mark.parametrize("variant", [name for name in VARIANTS if name != "madqn"])
def test_f7_f8_one_legal_action_or_none(variant: str) -> None:
    """The environment raises on any but the one action that is legal now; from time 3 on an agent
    has none. MADQN has a longer test of its own."""
    masked = Kept(Masked, "info", num_actions=30, length=10, none_from=3)
    system = every(variant, masked)
    runner = started(system)
    report = runner.advance(2_000)
    assert runner.trainer_steps > 25
    assert all(np.isfinite(value).all() for value in report.metrics.values())
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(params(runner)))
    assert evaluated(system, runner, 3).lengths == (10, 10, 10)
    training = masked.made[: runner.program.num_environments]
    assert sum(len(toy.actions) for toy in training) == 2_000
    assert {actions["agent_0"] for toy in training for actions in toy.actions[3::10]} == {0}


SPACES = {
    "multi_discrete": spaces.MultiDiscrete([3, 2, 5]),
    "continuous": spaces.Box(np.float32([-2.0, 0.0]), np.float32([-1.0, 5.0])),
    "unbounded": spaces.Box(-np.inf, np.inf, (2,)),
}
TAKES = {
    "multi_discrete": {"ippo", "mappo", "rec_ippo", "rec_mappo", "maddpg", "matd3"},
    "continuous": {"ippo", "mappo", "rec_ippo", "rec_mappo", "maddpg", "matd3"},
    "unbounded": set(),
}


@pytest.mark.slow
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("kind", SPACES)
def test_f10_actions_of_a_kind_are_taken_or_refused_by_name(variant: str, kind: str) -> None:
    box = spaces.Box(-1.0, 1.0, (2,))
    acts = {"left": SPACES[kind], "right": SPACES[kind]}
    toys = Kept(Spaces, dict.fromkeys(acts, box), acts)
    system = every(variant, toys)
    if variant not in TAKES[kind]:
        with pytest.raises(MavaError) as refused:
            build(system)
        message = str(refused.value)
        kinds = {"multi_discrete": "MultiDiscreteActions", "continuous": "ContinuousActions"}
        assert "left" in message
        assert kinds.get(kind, "inf") in message
        return
    runner = Collecting(system, 0)
    runner.start(lambda text: None)
    runner.advance(32)
    given = [action for toy in toys.made for joint in toy.actions for action in joint.values()]
    assert len(given) == 2 * 32
    assert all(SPACES[kind].contains(action) for action in given)
    assert len(np.unique(np.stack(given), axis=0)) > 8


@pytest.mark.slow
@pytest.mark.parametrize("variant", VARIANTS)
def test_f17_f19_what_the_dead_saw_and_were_paid_weighs_nothing(variant: str) -> None:
    """Garbage in rows of the dead, within sequences that run over ends of episodes.

    Two things count by definition: what a team's member is paid after its death, and what an
    environment goes on showing of the dead to MAPPO's critic of the whole state (there is
    ``DeathMasking`` for it).
    """
    program = build(every(variant, "mpe2/simple_speaker_listener_v4"))
    learner, batch, key = inputs(program)
    alive = {n: _dead_until_a_start(x, batch["start"]) for n, x in batch["alive"].items()}
    batch["alive"] = alive
    legal = batch["next_legal_actions"]
    batch["next_legal_actions"] = {n: x & alive[n][..., None] for n, x in legal.items()}
    learn = jax.jit(program.learn)

    def spoiled(reward: float, observation: float) -> Any:
        def filled(field: str, value: float) -> Any:
            rows = batch[field]
            return {n: np.where(_rows(alive[n], x), x, np.float32(value)) for n, x in rows.items()}

        paid = 0.0 if variant in TEAMS else reward
        return {
            **batch,
            "reward": filled("reward", paid),
            "observation": filled("observation", observation),
        }

    far = 0.0 if VARIANTS[variant][0] == "mappo" else 1e6
    plain, _, _ = learn(learner, spoiled(0.0, 0.0), key)
    for garbage in ((1e6, far), (np.nan, np.nan)):
        other, metrics, _ = learn(learner, spoiled(*garbage), key)
        assert all(np.isfinite(x).all() for x in jax.tree.leaves(metrics))
        for a, b in zip(*map(jax.tree.leaves, (plain.params, other.params)), strict=True):
            np.testing.assert_allclose(a, b, atol=1e-6)


def _dead_until_a_start(alive: Any, start: Any) -> Any:
    """Whom a step finds dead stays so until the next episode."""
    result = np.array(alive)
    for t in range(1, result.shape[1]):
        result[:, t] &= result[:, t - 1] | np.asarray(start)[:, t, None]
    return result


def _rows(alive: Any, x: Any) -> Any:
    return np.asarray(alive).reshape(*alive.shape, *[1] * (x.ndim - alive.ndim))
