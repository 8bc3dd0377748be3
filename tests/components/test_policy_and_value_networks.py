"""What policies begin with, and what critics see."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mava.components.networks.policy_network import PolicyNetwork, kept_between
from mava.components.networks.value_network import CentralValueNetwork, ValueNetwork
from mava.core.contexts import ValueContext, ValueInputs
from mava.errors import ConfigurationError, WiringError
from mava.testing import builders
from mava.types import EnvironmentSpec, MultiDiscreteActions

GROUP = builders.group_spec(3, (2,))
STATED = builders.environment_spec(GROUP, state=4)
STATELESS = builders.environment_spec(GROUP)


def scores(actions: Any, **fields: Any) -> np.ndarray:
    group = builders.group_spec(3, (2,), actions)
    network = PolicyNetwork(hidden_sizes=(16,), **fields)

    def scored(key: jax.Array) -> Any:
        params = network.init_params(key, builders.environment_spec(group))
        return network.score(params, jnp.ones((3, 2)), (), builders.group_context(group))[0]

    return np.asarray(jax.jit(scored)(jax.random.key(0)))


def test_the_first_policy_is_close_to_uniform() -> None:
    first = scores(4)
    assert first.shape == (3, 4)
    assert 0.0 < np.abs(first).max() < 0.05
    assert np.abs(scores(4, head_gain=10.0)).max() > 1.0


def test_scores_have_one_logit_for_each_option_or_a_mean_and_a_deviation() -> None:
    assert scores(MultiDiscreteActions((3, 2, 5))).shape == (3, 10)
    continuous = scores(builders.BOX, initial_log_std=-1.0, sharing="none")
    assert continuous.shape == (3, 4)
    np.testing.assert_array_equal(continuous[:, 2:], -1.0)
    assert scores(builders.BOX, initial_log_std=9.0)[0, 2] == 2.0  # kept in range


def test_a_deviation_that_left_its_range_can_come_back_and_goes_no_further() -> None:
    """Descent moves against the slope."""
    x = jnp.asarray([-6.0, -6.0, 0.0, 0.0, 3.0, 3.0])
    slope = jnp.asarray([1.0, -1.0, 1.0, -1.0, 1.0, -1.0])
    kept, back = jax.vjp(lambda x: kept_between(x, -5.0, 2.0), x)
    np.testing.assert_array_equal(kept, [-5.0, -5.0, 0.0, 0.0, 2.0, 2.0])
    np.testing.assert_array_equal(back(slope)[0], [0.0, -1.0, 1.0, -1.0, 1.0, 0.0])
    group = builders.group_spec(3, (2,), builders.BOX)
    network = PolicyNetwork(hidden_sizes=(4,), initial_log_std=3.0)
    params = network.init_params(jax.random.key(0), builders.environment_spec(group))

    def deviations(params: Any) -> Any:
        context = builders.group_context(group)
        return network.score(params, jnp.ones((3, 2)), (), context)[0][:, 2:].sum()

    found = jax.grad(deviations)(params)["policy"]["agents"]["params"]["log_std"]
    np.testing.assert_array_equal(found, 3.0)


def slopes(critic: Any, spec: EnvironmentSpec) -> tuple[np.ndarray, Any]:
    """How much each agent's value moves with each agent's observation, ``[N, N]``, and with the
    state."""

    def values(observation: Any, state: Any) -> Any:
        params = critic.init_params(jax.random.key(0), spec)
        inputs = ValueInputs({"agents": observation}, None, state)
        return critic.value(params, inputs, (), ValueContext(GROUP, (), spec))[0]

    shown = jax.random.normal(jax.random.key(1), (3, 2))
    state = None if spec.state is None else jnp.ones(4)
    assert jax.jit(values)(shown, state).shape == (3,)
    by = (0,) if state is None else (0, 1)
    found = jax.jit(jax.jacobian(values, by))(shown, state)
    return np.abs(found[0]).sum(-1), None if state is None else np.abs(found[1])


def test_an_independent_critic_sees_its_own_observation_alone() -> None:
    by_observation, by_state = slopes(ValueNetwork(hidden_sizes=(8,)), STATED)
    np.testing.assert_array_equal(by_observation > 0.0, np.eye(3, dtype=bool))
    assert not by_state.any()


def test_a_central_critic_sees_the_state_where_there_is_one_and_else_all_observations() -> None:
    by_observation, by_state = slopes(CentralValueNetwork(hidden_sizes=(8,)), STATED)
    assert not by_observation.any()
    assert by_state.all()
    joined = CentralValueNetwork(hidden_sizes=(8,), state="observations")
    for spec, critic in ((STATELESS, CentralValueNetwork(hidden_sizes=(8,))), (STATED, joined)):
        by_observation, _ = slopes(critic, spec)
        assert by_observation.all()


def test_a_central_critic_may_see_its_own_observation_too() -> None:
    own = CentralValueNetwork(hidden_sizes=(8,), own_observation=True)
    by_observation, by_state = slopes(own, STATED)
    np.testing.assert_array_equal(by_observation > 0.0, np.eye(3, dtype=bool))
    assert by_state.all()


def test_central_critics_tell_agents_apart_by_their_ids() -> None:
    def values(critic: Any) -> np.ndarray:
        params = critic.init_params(jax.random.key(0), STATED)
        inputs = ValueInputs({"agents": jnp.ones((3, 2))}, None, jnp.ones(4))
        return np.asarray(critic.value(params, inputs, (), ValueContext(GROUP, (), STATED))[0])

    assert len(set(values(CentralValueNetwork(hidden_sizes=(8,))).tolist())) == 3
    assert len(set(values(CentralValueNetwork(hidden_sizes=(8,), agent_ids=False)).tolist())) == 1


def test_a_state_that_is_not_there_is_refused() -> None:
    with pytest.raises(ConfigurationError, match=r"state is 'enviroment'; did you mean"):
        CentralValueNetwork(state="enviroment")
    critic = CentralValueNetwork(state="environment")
    with pytest.raises(WiringError, match="central_value_network needs the environment's global"):
        critic.init_params(jax.random.key(0), STATELESS)
