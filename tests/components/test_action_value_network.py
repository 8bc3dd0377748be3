"""What a critic of actions sees, and what it does not."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mava.components.networks.action_value_network import ActionValueNetwork
from mava.components.networks.actor_network import ActorNetwork
from mava.core.contexts import ValueContext, ValueInputs
from mava.errors import ConfigurationError, WiringError
from mava.testing import builders
from mava.types import ContinuousActions, EnvironmentSpec

SPEC = builders.environment_spec(
    builders.group_spec(2, (2,), builders.BOX, "scouts"),
    builders.group_spec(3, (3,), 4, "carriers"),
    state=4,
)
SHARINGS: list[Any] = [
    "shared",
    "none",
    {"scouts_0": "s", "scouts_1": "s", "carriers_0": "a", "carriers_1": "b", "carriers_2": "a"},
]


def made(network: ActionValueNetwork, spec: EnvironmentSpec = SPEC) -> tuple[Any, ValueInputs]:
    batch = builders.batch(spec)
    inputs = ValueInputs(batch["observation"], batch["action"], batch.get("state"))
    inputs = jax.tree.map(lambda x: x[0, 0], inputs)
    return network.init_params(jax.random.key(0), spec), inputs


def values(network: Any, params: Any, inputs: ValueInputs, spec: EnvironmentSpec = SPEC) -> Any:
    return {
        g.name: np.asarray(network.value(params, inputs, (), ValueContext(g, (), spec))[0])
        for g in spec.groups
    }


def changed(before: Any, after: Any) -> dict[str, list[bool]]:
    return {name: (np.abs(before[name] - after[name]) > 1e-7).tolist() for name in before}


@pytest.mark.slow
@pytest.mark.parametrize("sharing", SHARINGS, ids=["shared", "none", "mapped"])
@pytest.mark.parametrize("centralised", [True, False])
def test_a_centralised_critic_sees_everyone_and_another_its_agent_alone(
    sharing: Any, centralised: bool
) -> None:
    network = ActionValueNetwork(hidden_sizes=(8,), sharing=sharing, centralised=centralised)
    params, inputs = made(network)
    before = values(network, params, inputs)
    assert {name: x.shape for name, x in before.items()} == {"scouts": (2,), "carriers": (3,)}
    only = {"scouts": [False, True], "carriers": [False] * 3}
    everyone = {"scouts": [True] * 2, "carriers": [True] * 3}
    for field in ("observation", "action"):
        rows = getattr(inputs, field)
        moved = {**rows, "scouts": rows["scouts"].at[1].add(-0.5)}
        after = values(network, params, inputs._replace(**{field: moved}))
        assert changed(before, after) == (everyone if centralised else only)
    assert inputs.state is not None
    after = values(network, params, inputs._replace(state=inputs.state + 1.0))
    nobody = {"scouts": [False] * 2, "carriers": [False] * 3}
    assert changed(before, after) == (everyone if centralised else nobody)


@pytest.mark.parametrize("sharing", SHARINGS, ids=["shared", "none", "mapped"])
def test_an_own_action_changes_the_value_of_its_agent_alone(sharing: Any) -> None:
    """It is the value of the joint action in which that agent alone does otherwise."""
    network = ActionValueNetwork(hidden_sizes=(8,), sharing=sharing)
    params, inputs = made(network)
    assert inputs.action is not None
    own = {"scouts": inputs.action["scouts"] * 0.5, "carriers": (inputs.action["carriers"] + 1) % 4}
    found = values(network, params, inputs._replace(own_action=own))
    for name, rows in inputs.action.items():
        for agent in range(len(rows)):
            alone = {**inputs.action, name: rows.at[agent].set(own[name][agent])}
            expected = values(network, params, inputs._replace(action=alone))
            np.testing.assert_allclose(found[name][agent], expected[name][agent], atol=1e-6)


def test_weights_over_choices_stand_for_the_choice() -> None:
    network = ActionValueNetwork(hidden_sizes=(8,))
    params, inputs = made(network)
    assert inputs.action is not None
    soft = {**inputs.action, "carriers": jax.nn.one_hot(inputs.action["carriers"], 4)}
    before = values(network, params, inputs)
    after = values(network, params, inputs._replace(action=soft))
    np.testing.assert_allclose(after["carriers"], before["carriers"], atol=1e-6)
    # Agents with equal parameters are told apart.
    same = jax.tree.map(lambda x: jnp.broadcast_to(x[:1], x.shape), inputs)
    equal = values(network, params, same._replace(state=inputs.state))
    assert len(np.unique(equal["carriers"])) == 3


def test_leading_axes_are_free_and_critics_independent() -> None:
    network = ActionValueNetwork(hidden_sizes=(8,), critics=2, sharing="none")
    params, inputs = made(network)
    single = values(network, params, inputs)
    assert single["carriers"].shape == (3, 2)
    assert (single["carriers"][:, 0] != single["carriers"][:, 1]).all()
    batch = builders.batch(SPEC)
    whole = values(
        network, params, ValueInputs(batch["observation"], batch["action"], batch["state"])
    )
    for name in single:
        assert whole[name].shape[:2] == (4, 2)
        np.testing.assert_allclose(whole[name][0, 0], single[name], atol=1e-6)


def test_f12_images_are_scaled_once() -> None:
    spec = builders.DISCRETE_SPECS["image"]
    network = ActionValueNetwork(hidden_sizes=(), convolutions=())
    params, inputs = made(network, spec)
    before = values(network, params, inputs, spec)["agents"]
    dark = {"agents": jnp.zeros_like(inputs.observation["agents"])}
    light = {"agents": jnp.full_like(inputs.observation["agents"], 255)}
    low, high = (
        values(network, params, inputs._replace(observation=x), spec)["agents"]
        for x in (dark, light)
    )
    kernel = np.asarray(
        params["critic"]["agents"]["critic_0"]["params"]["head"]["Dense_0"]["kernel"]
    )
    pixels = inputs.observation["agents"].size
    np.testing.assert_allclose(high - low, kernel[0, :pixels].sum(), rtol=1e-3, atol=1e-4)
    assert np.isfinite(before).all()


def test_a_state_that_is_not_there_is_named() -> None:
    network = ActionValueNetwork(state="environment")
    with pytest.raises(WiringError, match="test/made_up has none"):
        network.init_params(jax.random.key(0), builders.environment_spec())
    params, inputs = made(ActionValueNetwork())
    with pytest.raises(WiringError, match=r"add RecordState\(\)"):
        values(ActionValueNetwork(), params, inputs._replace(state=None))
    with pytest.raises(ConfigurationError, match="did you mean 'auto'"):
        ActionValueNetwork(state="aut")
    with pytest.raises(ConfigurationError, match="critics is 0"):
        ActionValueNetwork(critics=0)
    without = ActionValueNetwork(state="observations")
    assert values(without, *made(without))["scouts"].shape == (2,)


def test_f12_unbounded_actions_are_refused_with_agents_and_remedy() -> None:
    box = ContinuousActions((6,), (-np.inf,) * 6, (np.inf,) * 6)
    spec = builders.environment_spec(builders.group_spec(2, (3,), box, "arms"))
    message = r"actor_network scales.*group 'arms' \(agents arms_0, arms_1\).*finite bounds"
    with pytest.raises(WiringError, match=message):
        ActorNetwork().init_params(jax.random.key(0), spec)
