"""The small components of ``mava.testing`` keep the contract for components."""

from __future__ import annotations

import abc
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mava.core.component import Component
from mava.testing import builders, components, policy_gradient
from mava.testing.component_contract import ComponentContract

SPECS = {"two_groups": builders.DISCRETE_SPECS["two_groups"]}
CONTINUOUS = {"two_groups": builders.CONTINUOUS_SPECS["two_groups"]}


def extended(batch: Any) -> Any:
    """Fields that the actor and the critic exchange."""
    reward = batch["reward"]
    extras = {n: {"log_prob": -jnp.abs(x)} for n, x in reward.items()}
    return {**batch, "advantage": reward, "target": reward, "extras": extras}


class Discrete(ComponentContract):
    """Less what the tests of programs show: vmapped, scanned and in plain Python."""

    specs: ClassVar[Any] = SPECS
    test_compiled_equals_plain_python = None  # type: ignore[assignment]
    test_vmap_equals_a_loop = None  # type: ignore[assignment]

    def make_batch(self, spec: Any, seed: int) -> Any:
        return extended(super().make_batch(spec, seed))


EXAMPLES = [
    components.TanhNetwork(width=3),
    components.TanhCritic(width=3),
    policy_gradient.Advantage(),
    policy_gradient.PolicyLoss(),
    policy_gradient.ValueLoss(),
]


class TestExamples(Discrete):
    @pytest.fixture(autouse=True, params=EXAMPLES, ids=lambda component: component.name)
    def _component(self, request: pytest.FixtureRequest) -> None:
        self.component = request.param

    def make_component(self) -> Any:
        return self.component


class TestCorrelatedGaussian(ComponentContract):
    specs: ClassVar[Any] = CONTINUOUS

    def make_component(self) -> Any:
        return policy_gradient.CorrelatedGaussian()

    def make_scores(self, group: Any, rng: np.random.Generator, *leading: int) -> np.ndarray:
        size = group.actions.array.shape[0]
        return np.asarray(rng.normal(size=(*leading, size)), np.float32)


def test_every_example_is_here() -> None:
    defined = {
        value
        for module in (components, policy_gradient)
        for value in vars(module).values()
        if type(value) is abc.ABCMeta
        and issubclass(value, Component)
        and value.__module__ == module.__name__
    }
    covered = {type(component) for component in EXAMPLES}
    assert defined == covered | {policy_gradient.CorrelatedGaussian}


def test_correlated_noise() -> None:
    """With no new noise the remembered noise halves; its density is that of the action taken."""
    component = policy_gradient.CorrelatedGaussian(spread=0.3, correlation=0.5)
    group = CONTINUOUS["two_groups"].groups[1]
    memory = jnp.asarray([[0.4], [-0.8]])
    mean = jnp.asarray([[1.0], [2.0]])
    greedy, after = component.select_action(
        mean, jnp.ones((2, 0), bool), memory, builders.act_context(group, explore=False)
    )
    np.testing.assert_allclose(greedy.action, [[1.2], [1.6]])
    np.testing.assert_allclose(after, [[0.2], [-0.4]])
    drawn, after = component.select_action(
        mean, jnp.ones((2, 0), bool), memory, builders.act_context(group)
    )
    np.testing.assert_allclose(drawn.action, mean + after, rtol=1e-6)
    density = jax.scipy.stats.norm.logpdf(drawn.action, mean + 0.5 * memory, 0.3)
    np.testing.assert_allclose(drawn.extras["log_prob"], density[:, 0], rtol=1e-5)
