"""Nine questions about recurrent IQL, answered in docs/rec_iql.md, on the compiled topology."""

from __future__ import annotations

import dataclasses
import functools
import importlib
import inspect
import pathlib
import re
import sys
from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mava.components.batches.n_step import NStepReturn
from mava.components.batches.team_reward import TeamReward
from mava.components.evaluators.evaluator import Evaluator
from mava.components.executors.executor import RecordLegalActions, RecordPolicy
from mava.components.exploration.epsilon_greedy import EpsilonGreedy
from mava.core import lifecycle
from mava.core.contexts import ActContext, Selection
from mava.core.evaluation import ActFunction
from mava.core.system import System, build
from mava.environments import make
from mava.systems import rec_iql
from mava.testing import builders
from mava.testing.probe import ByGroup, Probe, ProbeState, group_spec, probe_spec
from mava.topologies.compiled import Compiled
from mava.topologies.compiled.episodes import CompiledEpisodes
from mava.topologies.host_episodes import HostEpisodes
from mava.types import DiscreteActions, EnvironmentSpec, TimeStep
from tests.core.test_learning import inputs
from tests.systems.test_rec_iql import small

ROOT = pathlib.Path(__file__).parents[2]
QUIET: dict[str, Any] = {"sharing": "none", "period": 4, "sequence_length": 4, "batch_size": 4}
PAID = (1.0, 3.0)


@dataclasses.dataclass(frozen=True)
class OneLegal(Probe):
    """Shows the time, pays the first agent 1 and the second 3 where they do what alone is legal,
    another action in each step, and else nothing. The end after 5 steps is a truncation."""

    length: int = dataclasses.field(default=5, init=False)
    truncates = True

    @property
    def spec(self) -> EnvironmentSpec:
        return probe_spec("one_legal", self.length, group_spec(2, (1,), DiscreteActions(4)))

    def begin(self, key: jax.Array) -> jax.Array:
        return jnp.zeros(())

    def observe(self, state: ProbeState) -> ByGroup:
        return {"agents": jnp.full((2, 1), state.time, jnp.float32)}

    def pay(self, state: ProbeState, actions: Mapping[str, jax.Array]) -> ByGroup:
        return {"agents": jnp.where(actions["agents"] == only(state.time), jnp.array(PAID), 0.0)}

    def reset(self, key: jax.Array) -> tuple[ProbeState, TimeStep]:
        return _masked(*super().reset(key))

    def step(
        self, state: ProbeState, actions: Mapping[str, jax.Array]
    ) -> tuple[ProbeState, TimeStep]:
        return _masked(*super().step(state, actions))


def only(time: Any) -> Any:
    """What is legal, ``[N]``."""
    return (3 * time + np.arange(2)) % 4


def _masked(state: ProbeState, timestep: TimeStep) -> tuple[ProbeState, TimeStep]:
    legal = jnp.arange(4) == only(state.time)[:, None]
    return state, timestep._replace(legal_actions={"agents": legal})


@dataclasses.dataclass(frozen=True)
class Clocked(EpsilonGreedy):
    """Also gives its clock, for the record."""

    def select_action(
        self, scores: Any, legal_actions: Any, memory: Any, context: ActContext
    ) -> tuple[Selection, Any]:
        selection, memory = super().select_action(scores, legal_actions, memory, context)
        clock = jnp.broadcast_to(context.clock, legal_actions.shape[:1])
        return selection._replace(extras={"clock": clock}), memory


@dataclasses.dataclass(frozen=True)
class Ran:
    """A run of 2 devices with 2 environments each: its report, and what it stored of 40 vectorised
    steps, ``[4, 40, ...]``."""

    report: Any
    stored: Mapping[str, Any]


@pytest.fixture(scope="module")
def ran() -> Ran:
    system = small(OneLegal, num_environments=4, epsilon=0.5, **QUIET).with_(Clocked(epsilon=0.5))
    system = system.with_(RecordPolicy(), RecordLegalActions(), after="record_transition")
    runner = Compiled(system, 0, num_devices=2)
    runner.start(lambda text: None)
    report = runner.advance(160)
    assert runner.trainer_steps == (160 - 128) // 8 + 1
    held = jax.tree.map(np.asarray, runner.state().arrays["place"].buffer.experience)
    return Ran(report, jax.tree.map(lambda x: x.reshape(4, *x.shape[2:])[:, :40], held))


# ------------------------------------------------------------------------- targets, by an own loop


@functools.cache
def learn_of(system: System) -> Any:
    return jax.jit(build(system).learn)


@functools.cache
def score_of(system: System) -> Any:
    network, (group,) = system["recurrent_q_network"], build(system).network_spec.groups
    context = builders.group_context(group)
    initial = network.init_memory(group)
    return initial, jax.jit(lambda params, x, memory: network.score(params, x, memory, context))


def shares(system: System, batch: Mapping[str, Any], learner: Any) -> np.ndarray:
    """Half the squared errors of each agent, summed over a batch, as the system reports them."""
    _, metrics, _ = learn_of(system)(learner, batch, jax.random.key(1))
    return np.asarray(metrics["madqn_loss/by_agent/agents"])


def expected(
    system: System, batch: Mapping[str, Any], learner: Any, masks: bool = True
) -> np.ndarray:
    """The same by definition, step by step, from the batch's own fields."""
    initial, scored = score_of(system)
    score = functools.partial(scored, learner.params)
    now, after = batch["observation"]["agents"], batch["next_observation"]["agents"]
    reward, action = batch["reward"]["agents"], batch["action"]["agents"]
    legal, terminated = batch["next_legal_actions"]["agents"], batch["termination"]["agents"]
    alive, total, agents = batch["alive"]["agents"], np.zeros(2), np.arange(2)
    for b in range(now.shape[0]):
        memory = batch["memory"]["score"]["agents"][b, 0]
        for t in range(now.shape[1]):
            memory = initial if batch["start"][b, t] else memory
            q, memory = score(now[b, t], memory)
            q_next = np.asarray(score(after[b, t], memory)[0])
            allowed = np.where(legal[b, t], q_next, -np.inf) if masks else q_next
            value = q_next[agents, np.argmax(allowed, axis=1)]
            follows = 0.9 * ~np.asarray(terminated[b, t]) * value
            delta = reward[b, t] + follows - np.asarray(q)[agents, action[b, t]]
            total += np.where(alive[b, t], 0.5 * delta**2, 0.0)
    return total


@functools.cache
def given() -> tuple[System, Any, dict[str, Any]]:
    """A system, its learner, and a random batch in which sequences run over ends of episodes."""
    system = small(OneLegal, **QUIET)
    learner, batch, _ = inputs(build(system), seed=3)
    assert 0 < batch["start"].sum() < batch["start"].size
    return system, learner, batch


# ----------------------------------------------------------------------------------- the questions


def test_the_page_names_tests_that_exist_and_one_of_here_for_each_question() -> None:
    page = (ROOT / "docs" / "rec_iql.md").read_text()
    named = set(re.findall(r"`(test_\w+)`", page))
    texts = [file.read_text() for file in (ROOT / "tests").rglob("test_*.py")]
    there = set(re.findall(r"^def (test_\w+)", "\n".join(texts), re.MULTILINE))
    assert named <= there
    assert {name for name in globals() if re.match(r"test_\d", name)} <= named
    answers = re.split(r"^### ", page, flags=re.MULTILINE)[1:]
    assert len(answers) == 9
    for number, answer in enumerate(answers, start=1):
        assert answer.startswith(f"{number}. ")
        assert f"`test_{number}_" in answer


@pytest.mark.slow
def test_1_masks_hold_in_exploration_in_the_greedy_choice_and_in_targets(ran: Ran) -> None:
    """Where do masks apply?"""
    legal, action = ran.stored["legal_actions"]["agents"], ran.stored["action"]["agents"]
    assert np.take_along_axis(legal, action[..., None], axis=-1).all()  # epsilon is 0.5
    assert set(action.ravel()) == set(range(4))
    system, learner, batch = given()
    right = expected(system, batch, learner)
    np.testing.assert_allclose(shares(system, batch, learner), right, rtol=1e-4)
    assert (abs(expected(system, batch, learner, masks=False) - right) > 1e-3).any()


@pytest.mark.slow
def test_1_masks_never_enter_a_network() -> None:
    """Where do masks apply? Other masks, greedily: other actions, and the same memory."""
    system, learner, _ = given()
    program, (_, timestep) = build(system), OneLegal().reset(jax.random.key(0))
    timestep = timestep._replace(observation={"agents": jnp.ones((2, 1))})
    act = jax.jit(functools.partial(program.act, explore=False))
    variables, found = program.publish(learner), []
    for legal in np.eye(4, dtype=bool):
        masked = timestep._replace(legal_actions={"agents": np.stack([legal, legal[::-1]])})
        found.append(act(variables, program.init_memory(), masked, np.int32(0), jax.random.key(0)))
    assert [actions["agents"].tolist() for actions, _, _ in found] == [
        *([0, 3], [1, 2], [2, 1], [3, 0])
    ]
    memories = [np.asarray(memory["score"]["agents"]) for _, _, memory in found]
    assert memories[0].any()
    assert all(np.array_equal(memories[0], memory) for memory in memories[1:])


def test_2_docstrings_state_arguments_shapes_errors_and_sources() -> None:
    """What do docstrings state? Every argument and field, the errors of each constructor, the
    axes of each hook's arrays, and where the method comes from."""
    text = inspect.getdoc(rec_iql) or ""
    arguments = text.split("Args:")[1].split("Returns:")[0]
    for name in inspect.signature(rec_iql).parameters:
        assert re.search(rf"^    [a-z_, ]*\b{name}\b[a-z_, ]*:", arguments, re.MULTILINE), name
    assert re.search(r"\(.*, (19|20)\d\d\)", text)
    assert "Raises:\n    ConfigurationError:" in text
    for component in rec_iql("probe/hidden_cue", burn_in=1, prioritised=True):
        text = inspect.getdoc(type(component)) or ""
        for field in dataclasses.fields(component):
            assert re.search(rf"\b{field.name}\b", text), f"{component.name}.{field.name}"
        if "__post_init__" in vars(type(component)):
            assert "ConfigurationError: " in text.partition("Raises:")[2], component.name
    for hook in ("TransformObservation.transform_observation", "Score.score", "Score.unroll"):
        owner, method = hook.split(".")
        assert "[" in (getattr(getattr(lifecycle, owner), method).__doc__ or ""), hook
    assert "[" in (lifecycle.SelectAction.select_action.__doc__ or "")


@pytest.mark.slow
def test_3_each_transition_has_its_own_clock_over_devices_and_environments(ran: Ran) -> None:
    """How fine is exploration under devices x environments? Environment ``i`` of all devices has
    the clock ``t * E + i`` in vectorised step ``t``, and epsilon follows it."""
    clock = ran.stored["extras"]["agents"]["clock"]
    each = np.arange(40)[None] * 4 + np.arange(4)[:, None]
    np.testing.assert_array_equal(clock, np.broadcast_to(each[..., None], clock.shape))


@pytest.mark.slow
def test_4_rewards_are_individual_and_sharing_them_is_a_component(ran: Ran) -> None:
    """Are rewards shared or individual?"""
    assert np.unique(ran.stored["reward"]["agents"].reshape(-1, 2), axis=0).tolist() == [[*PAID]]
    system, learner, batch = given()
    np.testing.assert_allclose(
        shares(system, batch, learner), expected(system, batch, learner), rtol=1e-4
    )
    team = system.with_(TeamReward(), before=NStepReturn)
    mean = jnp.where(batch["alive"]["agents"].any(-1), batch["reward"]["agents"].mean(-1), 0.0)
    joined = {**batch, "reward": {"agents": np.stack([mean, mean], axis=-1)}}
    learner_of_team, _, _ = inputs(build(team), seed=3)
    np.testing.assert_allclose(
        shares(team, batch, learner_of_team), expected(system, joined, learner), rtol=1e-4
    )


@pytest.mark.slow
def test_5_every_metric_is_defined(ran: Ran) -> None:
    """Which metrics are standard? Those of the table in docs/definitions.md; a return is the mean
    over agents of undiscounted sums."""
    table = (ROOT / "docs" / "definitions.md").read_text().split("## Metrics")[1]
    defined = set(re.findall(r"`([a-z_]+(?:/[a-z_<>]+)?)`", table.split("\n\n")[1]))
    found = {name for name in ran.report.metrics if "/by_agent/" not in name}
    assert {"madqn_loss/loss", "madqn_loss/mean_q", "madqn_loss/mean_abs_td_error"} < found
    assert {re.sub("^gradient_norm/.*", "gradient_norm/<set>", name) for name in found} <= defined
    assert set(ran.report.returns) == {5 * np.mean(PAID)}


def test_6_baseline_runs_use_what_a_user_would_write(monkeypatch: pytest.MonkeyPatch) -> None:
    """Are there baseline runs? ``benchmarks/learning.py`` trains it on several tasks, its defaults
    as they are but for the task's own and the length of exploration."""
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    tasks = importlib.import_module("learning_tasks")
    monkeypatch.delitem(sys.modules, "learning_tasks")
    assert sum("rec_iql" in task.systems for task in tasks.TASKS.values()) >= 2
    task = tasks.TASKS["spread"]
    system = tasks.make_system("rec_iql", task, 100_000)
    plain = rec_iql(system.environment, num_environments=8, discount=task.discount)
    other = {one.name for one, usual in zip(system, plain, strict=True) if one != usual}
    assert other <= {"epsilon_greedy", "evaluator"}


@pytest.mark.slow
def test_7_a_truncated_step_bootstraps_from_its_true_last_observation(ran: Ran) -> None:
    """What becomes of truncated transitions?"""
    held = ran.stored
    end, start = held["end"], held["start"]
    assert end[0].tolist() == 8 * [False, False, False, False, True]
    assert start[0].tolist() == 8 * [True, False, False, False, False]
    assert held["truncation"]["agents"][end].all()
    assert not held["termination"]["agents"].any()
    assert (held["next_observation"]["agents"][end] == 5.0).all()  # and not the 0 of a new episode
    assert (held["next_legal_actions"]["agents"][end].argmax(-1) == only(5)).all()
    system, learner, batch = given()
    flags = batch["termination"]["agents"]
    for terminated in (np.zeros_like(flags), np.ones_like(flags)):
        ends = {"truncation": {"agents": ~terminated}, "termination": {"agents": terminated}}
        one = {**batch, **ends, "end": np.ones_like(batch["end"])}
        np.testing.assert_allclose(
            shares(system, one, learner), expected(system, one, learner), rtol=1e-4
        )


@pytest.mark.slow
def test_8_total_steps_are_of_all_devices_and_environments() -> None:
    """What are total steps? 5 devices of 5 environments, a trainer step after every 2 vectorised
    steps, and a total of 100: exactly two updates."""
    options = {**QUIET, "sequence_length": 2, "period": 2, "batch_size": 5}
    system = small(num_environments=25, min_size=50, update_every=50, **options)
    runner = Compiled(system, 0, num_devices=5)
    runner.start(lambda text: None)
    runner.advance(100)
    assert (runner.environment_steps, runner.trainer_steps) == (100, 2)
    runner.advance(124)  # not one vectorised step more fits
    assert (runner.environment_steps, runner.trainer_steps) == (100, 2)


@pytest.mark.slow
def test_9_an_evaluator_needs_an_act_function_and_no_network() -> None:
    """What does an evaluator take? Here a rule of two lines, with a memory: the cue."""

    def act(variables: Any, memory: Any, timestep: TimeStep, key: Any) -> Any:
        shown = timestep.observation["agents"][:, :2]
        memory = jnp.where(timestep.start, shown.argmax(-1), memory)
        return {"agents": memory.astype(jnp.int32)}, memory

    rule = ActFunction(act, lambda: jnp.zeros(2, jnp.int32))
    cue = make("probe/hidden_cue")
    for episodes in (CompiledEpisodes(cue), HostEpisodes(lambda: cue)):
        evaluation = Evaluator(episodes=20).evaluate(rule, episodes, seed=1)
        assert evaluation.returns == (1.0,) * 20
    assert list(inspect.signature(Evaluator.evaluate).parameters) == [
        *("self", "act", "environment", "seed")
    ]
