"""The loss of value decomposition, against an independent loop over every step, agent and unit."""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mava.components.batches.n_step import NStepReturn
from mava.components.batches.team_reward import TeamEpisode, TeamReward
from mava.components.losses.value_decomposition import ValueDecompositionLoss
from mava.components.networks.mixers import MonotonicMixer, SumMixer
from mava.core.contexts import LossOutput, Unrolled
from mava.errors import ConfigurationError
from mava.testing import builders

SPEC = builders.DISCRETE_SPECS["two_groups"]
NAMES = SPEC.group_names
DISCOUNT = 0.9


def scores(seed: int, size: int, length: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {
        g.name: rng.normal(size=(size, length, g.num_agents, g.actions.num_choices)).astype("f4")
        for g in SPEC.groups
    }


class Scene:
    """A batch as it is recorded, scores of three kinds, and a mixer with its targets."""

    def __init__(self, mixer: Any, size: int = 4, length: int = 3, seed: int = 0) -> None:
        self.mixer, self.size, self.length = mixer, size, length
        self.batch = builders.batch(SPEC, size, length, seed)
        for field in ("individual_reward", "next_alive", "discount"):
            del self.batch[field]
        self.now, self.online, self.target = (scores(s, size, length) for s in (1, 2, 3))
        keys = jax.random.split(jax.random.key(seed))
        self.params, self.target_params = (initial(mixer)(key) for key in keys)

    def loss(self, component: ValueDecompositionLoss) -> LossOutput:
        made = {"now": self.now, "online": self.online, "target": self.target}
        return compiled(component, self.mixer)(self.params, self.target_params, made, self.batch)

    def slopes(self, component: ValueDecompositionLoss) -> Any:
        """The loss and its gradients by the mixer's parameters."""

        def of(mixer: Any) -> Any:
            self.params = {**self.params, "mixer": mixer}
            return self.loss(component).loss

        return jax.value_and_grad(of)(self.params["mixer"])


@functools.cache
def initial(mixer: Any) -> Any:
    return jax.jit(functools.partial(mixer.init_params, spec=SPEC))


@functools.cache
def compiled(component: ValueDecompositionLoss, mixer: Any) -> Any:
    """The batch is prepared, and valued by scores that are given."""

    def loss(params: Any, target_params: Any, made: Any, batch: Any) -> LossOutput:
        context = builders.learn_context(SPEC)
        for part in (TeamReward(opposed="allow"), TeamEpisode(), NStepReturn(discount=DISCOUNT)):
            batch, _ = part.prepare_batch(batch, (), {}, context)

        def unroll(params: Any, batch: Any) -> Unrolled:
            after = made["online"] if params is own else made["target"]
            return Unrolled(made["now"], lambda: after)

        def mix(params: Any, values: Any, batch: Any) -> Any:
            return mixer.mix(params, values, batch, context)

        own = params
        learning = builders.learn_context(SPEC, target_params, unroll=unroll, mix=mix)
        return component.loss(params, batch, learning)

    return jax.jit(loss)


def dense(layers: Any, name: str, x: np.ndarray) -> np.ndarray:
    kernel, bias = np.asarray(layers[name]["kernel"]), np.asarray(layers[name]["bias"])
    found = np.zeros(len(bias))
    for out in range(len(bias)):
        found[out] = bias[out] + sum(x[i] * kernel[i, out] for i in range(len(x)))
    return found


def mixed(params: Any, values: list[float], state: np.ndarray) -> float:
    """``elu(q |W_1| + b_1) |w_2| + V``, one unit after the other; a sum without parameters."""
    if not params["mixer"]:
        return sum(values)
    layers = params["mixer"]["params"]

    def through(name: str) -> np.ndarray:
        return dense(layers, name, np.maximum(dense(layers, f"{name}_0", state), 0.0))

    w_1, b_1, w_2, bias = (
        through("w_1"),
        dense(layers, "b_1", state),
        through("w_2"),
        through("b_2"),
    )
    total = bias[0]
    for unit in range(len(b_1)):
        x = b_1[unit] + sum(q * abs(w_1[i * len(b_1) + unit]) for i, q in enumerate(values))
        total += abs(w_2[unit]) * (x if x > 0 else np.exp(x) - 1)
    return float(total)


def best(values: np.ndarray, legal: np.ndarray) -> int:
    found = 0
    for action in range(len(values)):
        if legal[action] and (not legal[found] or values[action] > values[found]):
            found = action
    return found


def by_loop(scene: Scene, weight: float = 1.0, double: bool = True) -> dict[str, Any]:
    raw = jax.tree.map(np.asarray, scene.batch)
    losses, weights, errors = [], [], np.zeros((scene.size, scene.length))
    for b in range(scene.size):
        for t in range(scene.length):
            own, following, rewards, anyone, goes_on = [], [], [], False, False
            for name in NAMES:
                for i in range(SPEC[name].num_agents):
                    at = (b, t, i)
                    alive = raw["alive"][name][at]
                    terminated = raw["termination"][name][at]
                    legal = raw["next_legal_actions"][name][at]
                    rewards.append(raw["reward"][name][at])
                    own.append(scene.now[name][at][raw["action"][name][at]] if alive else 0.0)
                    pick = best((scene.online if double else scene.target)[name][at], legal)
                    there = (alive or legal.any()) and not terminated
                    following.append(scene.target[name][at][pick] if there else 0.0)
                    anyone, goes_on = anyone or alive, goes_on or there
            if not anyone:
                continue
            total = mixed(scene.params, own, raw["state"][b, t])
            after = mixed(scene.target_params, following, raw["next_state"][b, t])
            over = raw["end"][b, t] and not goes_on
            delta = np.mean(rewards) + (0.0 if over else DISCOUNT * after) - total
            errors[b, t] = abs(delta)
            losses.append(raw["importance_weight"][b] * (1 if delta > 0 else weight) * delta**2 / 2)
            weights.append(1.0)
    return {"loss": sum(losses) / sum(weights), "errors": errors}


MIXERS = [
    SumMixer(),
    MonotonicMixer(width=3, hypernetwork_sizes=(5,), state="environment"),
]


@pytest.mark.parametrize("mixer", MIXERS, ids=lambda m: m.name)
@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize(("weight", "double"), [(1.0, True), (0.25, True), (1.0, False)])
def test_equal_to_the_loop(mixer: Any, seed: int, weight: float, double: bool) -> None:
    scene = Scene(mixer, seed=seed)
    output = scene.loss(ValueDecompositionLoss(double=double, overestimate_weight=weight))
    expected = by_loop(scene, weight, double)
    assert output.loss == pytest.approx(expected["loss"], rel=1e-5)
    acted = (expected["errors"] > 0).sum(1)
    np.testing.assert_allclose(
        output.priorities, expected["errors"].sum(1) / np.maximum(acted, 1), rtol=1e-4, atol=2e-6
    )


@pytest.mark.parametrize("state", ["environment", "observations"])
def test_f17_f19_rows_of_the_dead_have_no_influence(state: str) -> None:
    """Neither has a step in which all are dead, whatever it holds: padding, that is."""
    clean, soiled = (Scene(MonotonicMixer(width=3, state=state), length=6) for _ in range(2))
    for scene in (clean, soiled):
        for name in NAMES:
            scene.batch["alive"][name] = scene.batch["alive"][name].at[:, 4:].set(False)
            legal = scene.batch["next_legal_actions"][name]
            scene.batch["next_legal_actions"][name] = legal & scene.batch["alive"][name][..., None]
    rng = np.random.default_rng(0)
    for name in NAMES:
        dead = ~np.asarray(soiled.batch["alive"][name])
        garbage = rng.choice([1e6, -1e6, np.nan], dead.shape)
        for field in ("observation", "next_observation"):
            x = np.array(soiled.batch[field][name])
            x[dead] = garbage[dead][:, None]
            soiled.batch[field][name] = jnp.asarray(x)
        for made in (soiled.now, soiled.online, soiled.target):
            made[name][dead] = garbage[dead][:, None]
        padded = dead & (np.arange(6) > 3)[None, :, None]
        reward = np.array(soiled.batch["reward"][name])
        reward[padded] = garbage[padded]
        soiled.batch["reward"][name] = jnp.asarray(reward)
    expected, found = (s.loss(ValueDecompositionLoss()) for s in (clean, soiled))
    assert float(expected.loss) == float(found.loss)
    np.testing.assert_array_equal(expected.priorities, found.priorities)
    for name in expected.metrics:
        assert expected.metrics[name] == found.metrics[name]


@pytest.mark.slow
@pytest.mark.parametrize("pad", [6, 10])
def test_f17_longer_padding_changes_nothing(pad: int) -> None:
    """Loss and gradients of four steps, padded with steps of 1e6 in which nobody is alive."""

    def at(length: int) -> tuple[Any, Any]:
        scene = Scene(MonotonicMixer(width=3), size=2, length=10)
        keep = np.arange(10) < 4
        for name in NAMES:
            for made in (scene.batch["reward"], scene.now, scene.online, scene.target):
                x = np.array(made[name])
                x[:, ~keep] = 1e6
                made[name] = x[:, :length]
            alive = np.asarray(scene.batch["alive"][name]) & keep[:, None]
            scene.batch["alive"][name] = alive[:, :length]
        scene.batch = jax.tree.map(lambda x: x[:, :length] if x.ndim > 1 else x, scene.batch)
        scene.length = length
        state = scene.batch["state"]
        scene.batch["state"] = jnp.where(keep[None, :length, None], state, 1e6)
        return scene.slopes(ValueDecompositionLoss())

    (expected, slopes), (found, others) = at(4), at(pad)
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    jax.tree.map(
        lambda x, y: np.testing.assert_allclose(x, y, rtol=1e-5, atol=1e-6), slopes, others
    )


def test_f15_the_end_of_an_episode_by_hand() -> None:
    """Reward 1, values of 10 after it: a cut step is worth 10, a terminal one 1."""
    scene = Scene(SumMixer(), size=2, length=1)
    raw = scene.batch
    raw["importance_weight"] = jnp.ones(2)
    raw["end"] = jnp.ones((2, 1), bool)
    for name in NAMES:
        count = SPEC[name].num_agents
        raw["alive"][name] = jnp.ones((2, 1, count), bool)
        raw["reward"][name] = jnp.ones((2, 1, count))
        raw["termination"][name] = jnp.asarray([[[False] * count], [[True] * count]])
        raw["truncation"][name] = ~raw["termination"][name]
        scene.now[name][:] = 0.0
        for made in (scene.online, scene.target):
            made[name][:] = 10.0 / 3.0  # three agents
    output = scene.loss(ValueDecompositionLoss())
    np.testing.assert_allclose(output.priorities, [10.0, 1.0], rtol=1e-5)


def test_huber_and_refusals() -> None:
    scene = Scene(SumMixer())
    quadratic = scene.loss(ValueDecompositionLoss())
    assert scene.loss(ValueDecompositionLoss(huber=1e6)).loss == pytest.approx(quadratic.loss)
    assert scene.loss(ValueDecompositionLoss(huber=0.1)).loss < quadratic.loss
    for huber in (0, -1.0, float("nan")):
        with pytest.raises(ConfigurationError, match=f"huber is {huber}"):
            ValueDecompositionLoss(huber=huber)
    with pytest.raises(ConfigurationError, match="overestimate_weight"):
        ValueDecompositionLoss(overestimate_weight=2.0)
