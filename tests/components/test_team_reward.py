"""One reward and one end for a team, by hand."""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mava.components.batches.n_step import NStepReturn
from mava.components.batches.opposition import first_moments, most_opposed, seen
from mava.components.batches.team_reward import TeamEpisode, TeamReward
from mava.core.system import build
from mava.errors import ConfigurationError, WiringError
from mava.systems import madqn
from mava.testing import builders

SPEC = builders.environment_spec(
    builders.group_spec(1, (1,), 2, "one"), builders.group_spec(2, (1,), 2, "two")
)
T, F = True, False


def split(rows: Any, dtype: Any = bool) -> dict[str, Any]:
    """``[T, 3]`` of all agents -> by group ``[1, T, N]``."""
    x = jnp.asarray(rows, dtype)[None]
    return {"one": x[..., :1], "two": x[..., 1:]}


def of_steps(**rows: Any) -> dict[str, Any]:
    length = len(rows["alive"])
    off = [[F] * 3] * length
    flags = {n: split(rows.get(n, off)) for n in ("alive", "termination", "truncation")}
    legal = {n: x[..., None] for n, x in split(rows.get("legal", off)).items()}
    reward = split(rows.get("reward", [[0.0] * 3] * length), jnp.float32)
    end, start = (jnp.asarray([rows.get(n, [F] * length)]) for n in ("end", "start"))
    following = split(np.arange(length * 3).reshape(length, 3), jnp.float32)
    return {
        **flags,
        "reward": reward,
        "end": end,
        "start": start,
        "next_legal_actions": legal,
        "next_observation": {n: x[..., None] for n, x in following.items()},
    }


def prepared(component: Any, batch: Any) -> Any:
    return compiled(component)(batch)


@functools.cache
def compiled(component: Any) -> Any:
    context, state = builders.learn_context(SPEC), component.init_state(SPEC)
    return jax.jit(lambda batch: component.prepare_batch(batch, state, {}, context)[0])


def joined(field: dict[str, Any]) -> list[Any]:
    return np.concatenate([field["one"], field["two"]], axis=-1)[0].tolist()


@pytest.mark.parametrize(
    ("kind", "expected"), [("mean", [3.0, 2.0, 0.0]), ("sum", [9.0, 6.0, 0.0])]
)
def test_the_reward_of_all_agents_is_given_to_each(kind: str, expected: list[float]) -> None:
    """The second agent dies in the first step, and is paid for it; NaN is paid to the dead."""
    batch = of_steps(
        alive=[[T, T, T], [T, F, T], [F, F, F]],
        reward=[[1.0, 5.0, 3.0], [2.0, np.nan, 4.0], [np.nan, 7.0, 7.0]],
    )
    made = prepared(TeamReward(kind=kind), batch)
    assert joined(made["reward"]) == [[x] * 3 for x in expected]
    assert joined(made["individual_reward"])[0] == joined(batch["reward"])[0]


GOES_ON, TERMINATED, CUT = (F, F), (T, F), (F, T)


@pytest.mark.parametrize(
    ("alive", "termination", "truncation", "end", "team", "next_alive"),
    [
        ([T, T, T], [F, F, F], [F, F, F], F, GOES_ON, [T, T, T]),
        ([T, T, T], [F, T, F], [F, F, F], F, GOES_ON, [T, F, T]),
        ([T, F, T], [F, T, F], [F, F, F], F, GOES_ON, [T, F, T]),
        ([T, T, T], [F, F, F], [F, T, F], F, GOES_ON, [T, F, T]),
        ([T, T, T], [T, T, T], [F, F, F], T, TERMINATED, [F, F, F]),
        ([T, F, T], [T, T, T], [F, F, F], T, TERMINATED, [F, F, F]),
        ([T, F, T], [T, F, T], [F, F, F], T, TERMINATED, [F, F, F]),
        ([T, T, T], [F, F, F], [T, T, T], T, CUT, [T, T, T]),
        ([T, F, T], [F, T, F], [T, F, T], T, CUT, [T, F, T]),
        ([T, T, T], [T, T, F], [F, F, T], T, CUT, [F, F, T]),
        ([T, F, T], [T, F, T], [F, T, F], T, TERMINATED, [F, F, F]),
    ],
    ids=[
        "all go on",
        "one dies",
        "one is dead",
        "one leaves, cut, and the others go on",
        "all terminate",
        "the last two terminate",
        "one was never there",
        "all are cut",
        "the last two are cut",
        "two terminate and one is cut",
        "one had left, and the last two terminate",
    ],
)
def test_the_team_goes_on_while_any_agent_does(
    alive: Any, termination: Any, truncation: Any, end: bool, team: Any, next_alive: Any
) -> None:
    batch = of_steps(alive=[alive], termination=[termination], truncation=[truncation], end=[end])
    made = prepared(TeamEpisode(), batch)
    assert joined(made["termination"]) == [[team[0]] * 3]
    assert joined(made["truncation"]) == [[team[1]] * 3]
    assert joined(made["next_alive"]) == [next_alive]


def test_an_agent_that_joins_late_is_there_in_the_outcome() -> None:
    batch = of_steps(alive=[[T, F, F]], legal=[[T, T, F]])
    assert joined(prepared(TeamEpisode(), batch)["next_alive"]) == [[T, T, F]]


def test_returns_over_several_steps_are_the_teams() -> None:
    """An agent's death in the first step cuts no sum; the team's end in the second does."""
    batch = of_steps(
        alive=[[T, T, T], [T, F, T], [T, T, T]],
        termination=[[F, T, F], [F, T, F], [F, F, F]],
        truncation=[[F, F, F], [T, F, T], [F, F, F]],
        end=[F, T, F],
        start=[T, F, T],
        reward=[[3.0, 3.0, 3.0], [6.0, 0.0, 6.0], [9.0, 9.0, 9.0]],
    )
    for component in (TeamReward(), TeamEpisode(), NStepReturn(steps=3, discount=0.5)):
        batch = prepared(component, batch)
    assert joined(batch["reward"]) == [[5.0] * 3]  # 3 + 4 / 2
    assert joined(batch["discount"]) == [[0.25] * 3]
    assert joined(batch["next_alive"]) == [[T, F, T]]
    assert joined({n: x[..., 0] for n, x in batch["next_observation"].items()}) == [[3.0, 4.0, 5.0]]


def test_they_stand_before_the_returns() -> None:
    system = madqn("matrix/climbing")
    for component in (TeamReward(), TeamEpisode()):
        build(system.with_(component, before="n_step_return"))
        with pytest.raises(WiringError, match=f"n_step_return must come after {component.name}"):
            build(system.with_(component, after="n_step_return"))


def test_other_words_are_refused() -> None:
    with pytest.raises(ConfigurationError, match=r"kind is 'average'; there are mean, sum"):
        TeamReward(kind="average")
    with pytest.raises(ConfigurationError, match=r"opposed is 'allowed'; did you mean 'allow'"):
        TeamReward(opposed="allowed")


after_one = jax.jit(lambda moments, x, alive: seen(moments, x, alive, lambda tree: tree))


def opposition(reward: np.ndarray, alive: np.ndarray | None = None, batches: int = 40) -> Any:
    """Of rewards ``[samples, N]`` in equal batches."""
    alive = np.ones(reward.shape, bool) if alive is None else alive
    moments = first_moments(reward.shape[1])
    for x, a in zip(np.split(reward, batches), np.split(alive, batches), strict=True):
        moments = after_one(moments, x[:, None], a[:, None])
    return most_opposed(moments)


def rewards(seed: int = 0, samples: int = 8_000, agents: int = 3) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(samples, agents)).astype(np.float32)


def test_opposed_rewards_are_found() -> None:
    x = rewards()
    zero_sum = np.stack([x[:, 0], x[:, 1], -x[:, 0]], axis=-1)
    assert opposition(zero_sum)[:2] == (0, 2)
    assert opposition(zero_sum)[2] == pytest.approx(-1.0, abs=1e-3)
    partly = np.stack([x[:, 0], x[:, 1] - 0.5 * x[:, 0], x[:, 2]], axis=-1)
    first, second, correlation = opposition(partly)
    assert (first, second) == (0, 1)
    assert correlation == pytest.approx(np.corrcoef(partly.T)[0, 1], abs=1e-3)


@pytest.mark.parametrize("seed", range(3))
def test_other_rewards_are_not(seed: int) -> None:
    x = rewards(seed)
    shared = x[:, :1] + 0.1 * x
    shares = np.eye(3, dtype=np.float32)[np.abs(x).argmax(-1)]  # one is paid, the others are not
    for accepted in (x, shared, shares, np.zeros_like(x), np.ones_like(x), -np.abs(x)):
        assert opposition(accepted) is None


def test_a_few_samples_prove_nothing_and_the_dead_do_not_count() -> None:
    x = rewards(samples=40)
    opposed = np.stack([x[:, 0], -x[:, 0], x[:, 2]], axis=-1)
    assert opposition(opposed, batches=4) is None
    x = rewards()
    garbage = np.stack([x[:, 0], np.where(x[:, 1] > 0, -1e6 * x[:, 0], x[:, 0])], axis=-1)
    alive = np.stack([x[:, 1] < 9, x[:, 1] <= 0], axis=-1)
    assert opposition(garbage, alive) is None
    assert opposition(garbage) is not None


def judged(moments: Any) -> tuple[str | None, bool]:
    component = TeamReward()
    return component.refusal(moments, SPEC), component.is_decided(moments)


@pytest.mark.parametrize(("size", "batches"), [(2, 1_000), (50_000, 2)])
def test_opposition_is_decided_once_and_a_run_is_never_refused_later(
    size: int, batches: int
) -> None:
    """After 1,000 batches, or 100,000 transitions: the moments then stay as they are, to the
    bit."""
    x = rewards(samples=size)
    alive = np.ones((size, 1, 3), bool)
    opposed, shared = (np.stack([x[:, 0], x[:, 1], y], -1)[:, None] for y in (-x[:, 0], x[:, 0]))
    for first, refused in ((opposed, True), (shared, False)):
        moments = first_moments(3)
        for _ in range(batches):
            assert judged(moments) == (None, False)
            moments = after_one(moments, first, alive)
        reason, decided = judged(moments)
        assert decided
        assert (reason is not None) == refused
        for _ in range(3):
            later = after_one(moments, -opposed if refused else 100 * opposed, alive)
            jax.tree.map(np.testing.assert_array_equal, later, moments)


def test_opposed_rewards_that_are_allowed_are_decided_and_keep_nothing() -> None:
    component = TeamReward(opposed="allow")
    assert component.init_state(SPEC) == ()
    assert component.is_decided(())
    assert component.refusal((), SPEC) is None


@pytest.mark.parametrize("cut", [False, True])
def test_f16_an_episode_of_four_in_a_sequence_of_six(cut: bool) -> None:
    """No step is filler: the next episode follows. The last step of the first is worth its reward
    where the team terminated, and what follows its true last observation where it was cut."""
    last = [[step == 3] * 3 for step in range(6)]
    never = [[F] * 3] * 6
    batch = of_steps(
        alive=[[T] * 3] * 6,
        termination=never if cut else last,
        truncation=last if cut else never,
        end=[step == 3 for step in range(6)],
        start=[step in (0, 4) for step in range(6)],
    )
    for component in (TeamReward(), TeamEpisode(), NStepReturn(discount=0.5)):
        batch = prepared(component, batch)
    expected = [0.5, 0.5, 0.5, 0.5 if cut else 0.0, 0.5, 0.5]
    assert joined(batch["discount"]) == [[x] * 3 for x in expected]
    assert joined(batch["next_alive"]) == [[cut or step != 3] * 3 for step in range(6)]
    assert joined(batch["alive"]) == [[T] * 3] * 6
    following = joined({n: x[..., 0] for n, x in batch["next_observation"].items()})
    assert following == np.arange(18.0).reshape(6, 3).tolist()
