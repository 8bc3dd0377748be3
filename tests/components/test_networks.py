"""Networks, agent ids and the sharing of parameters."""

from __future__ import annotations

import abc
import importlib
import inspect
import pkgutil
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mava.components import networks
from mava.components.networks.action_value_network import ActionValueNetwork
from mava.components.networks.actor_network import ActorNetwork
from mava.components.networks.agent_ids import AgentIds
from mava.components.networks.q_network import QNetwork
from mava.components.networks.recurrent_q_network import RecurrentQNetwork
from mava.components.networks.sharing import sets_of
from mava.core.lifecycle import InitParams
from mava.errors import ConfigurationError, WiringError
from mava.testing.builders import (
    BOX,
    CONTINUOUS_SPECS,
    DISCRETE_SPECS,
    environment_spec,
    group_context,
    group_spec,
)
from mava.types import ArraySpec, GroupSpec, MultiDiscreteActions

VECTOR = group_spec(3, (2,))
IMAGE = group_spec(3, (5, 6, 2), dtype=np.uint8)


def identified(group: GroupSpec, observation: Any) -> np.ndarray:
    shown = AgentIds().transform_observation(observation, group_context(group))
    promised = AgentIds().transformed(group)
    assert shown.shape == (*observation.shape[: -len(group.observation.shape)], *promised.shape)
    assert shown.dtype == promised.dtype
    return np.asarray(shown)


def test_ids_of_a_vector() -> None:
    shown = identified(VECTOR, jnp.full((3, 2), 7.0))
    np.testing.assert_array_equal(shown, [[7, 7, 1, 0, 0], [7, 7, 0, 1, 0], [7, 7, 0, 0, 1]])


def test_ids_under_leading_axes() -> None:
    shown = identified(VECTOR, jnp.zeros((4, 5, 3, 2)))
    np.testing.assert_array_equal(shown[..., 2:], np.broadcast_to(np.eye(3), (4, 5, 3, 3)))


def test_ids_of_an_image_are_planes_of_255() -> None:
    shown = identified(IMAGE, jnp.full((3, 5, 6, 2), 9, jnp.uint8))
    assert shown.shape == (3, 5, 6, 5)
    np.testing.assert_array_equal(shown[..., :2], 9)
    for agent in range(3):
        np.testing.assert_array_equal(shown[agent, ..., 2 + agent], 255)
        assert shown[agent, ..., 2:].sum() == 255 * 30


def test_a_group_of_one_passes_unchanged() -> None:
    group, observation = group_spec(1, (2,)), jnp.ones((1, 2))
    assert AgentIds().transform_observation(observation, group_context(group)) is observation
    assert AgentIds().transformed(group) == group.observation


def test_other_ranks_are_flattened() -> None:
    group = group_spec(2, (2, 3))
    shown = identified(group, jnp.arange(12.0).reshape(2, 2, 3))
    np.testing.assert_array_equal(shown[1], [6, 7, 8, 9, 10, 11, 0, 1])


def values(network: QNetwork, group: GroupSpec, observation: Any) -> np.ndarray:
    def scored(key: jax.Array, observation: Any) -> Any:
        params = network.init_params(key, environment_spec(group))
        return network.score(params, observation, (), group_context(group))

    scores, memory = jax.jit(scored)(jax.random.key(0), observation)
    assert memory == ()
    return np.asarray(scores)


def shapes(network: QNetwork, group: GroupSpec) -> Any:
    """Of the parameters."""
    return jax.eval_shape(
        lambda key: network.init_params(key, environment_spec(group)), jax.random.key(0)
    )


def network(**fields: Any) -> QNetwork:
    return QNetwork(hidden_sizes=(8,), **fields)


SAME = jnp.ones((3, 2))


def test_shared_parameters_give_equal_agents_equal_values() -> None:
    first, second, third = values(network(), VECTOR, SAME)
    np.testing.assert_array_equal(first, second)
    np.testing.assert_array_equal(first, third)


def test_without_sharing_every_agent_has_its_own() -> None:
    first, second, third = values(network(sharing="none"), VECTOR, SAME)
    assert not np.any(first == second)
    assert not np.any(second == third)


def test_a_mapping_shares_within_its_sets() -> None:
    mapping = {"agents_0": "left", "agents_1": "right", "agents_2": "left"}
    first, second, third = values(network(sharing=mapping), VECTOR, SAME)
    np.testing.assert_array_equal(first, third)
    assert not np.any(first == second)


def test_the_order_of_a_mapping_names_sets_and_nothing_else() -> None:
    mapping = {"agents_2": "b", "agents_1": "a", "agents_0": "b", "of_another_group": "c"}
    assert sets_of(VECTOR, tuple(mapping.items())) == (0, 1, 0)


NETWORKS = [
    member
    for module in pkgutil.iter_modules(networks.__path__)
    for member in vars(importlib.import_module(f"{networks.__name__}.{module.name}")).values()
    if isinstance(member, abc.ABCMeta) and issubclass(member, InitParams)
    if not inspect.isabstract(member) and "sharing" in inspect.signature(member).parameters
]


@pytest.mark.parametrize("kind", sorted(set(NETWORKS), key=lambda kind: kind.__name__))
def test_a_mapping_that_names_a_stranger_is_refused(kind: Any) -> None:
    made_of = kind(sharing={"agents_0": "a", "agents_1": "b", "agents_2": "a", "agent_2": "c"})
    spec = CONTINUOUS_SPECS["vector"] if "Act" in kind.__name__ else DISCRETE_SPECS["vector"]
    named = rf"{made_of.name}\.sharing names agent 'agent_2', which .* did you mean 'agents_2'\?"
    with pytest.raises(ConfigurationError, match=named):
        made_of.init_params(jax.random.key(0), spec)


def test_own_sets_are_what_one_agent_alone_would_have() -> None:
    """The k-th set applied to the k-th agent, for any leading axes."""
    alone = group_spec(1, (2,))
    separate = network(sharing="none")
    params = separate.init_params(jax.random.key(0), environment_spec(VECTOR))["q_network"]
    observation = jax.random.normal(jax.random.key(1), (4, 5, 3, 2))
    together, _ = separate.score({"q_network": params}, observation, (), group_context(VECTOR))
    for agent in range(3):
        own = {"agents": jax.tree.map(lambda x, i=agent: x[i : i + 1], params["agents"])}
        single, _ = network().score(
            {"q_network": own}, observation[..., agent : agent + 1, :], (), group_context(alone)
        )
        np.testing.assert_allclose(together[..., agent, :], single[..., 0, :], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("sharing", "sets"), [("shared", 1), ("none", 3)])
def test_parameters_carry_an_axis_of_sets(sharing: str, sets: int) -> None:
    params = shapes(network(sharing=sharing), VECTOR)
    assert {x.shape[0] for x in jax.tree.leaves(params)} == {sets}


def test_groups_have_parameters_and_sizes_of_their_own() -> None:
    spec = environment_spec(group_spec(1, (2,), 2, "few"), group_spec(2, (2,), 2, "many"))
    params = network().init_params(jax.random.key(0), spec)["q_network"]
    few, many = (jax.tree.leaves(params[name]) for name in ("few", "many"))
    kernels = [(a, b) for a, b in zip(few, many, strict=True) if a.ndim == 3]
    assert not any(np.any(np.asarray(a == b)) for a, b in kernels)


def test_an_image_is_scaled_once() -> None:
    """A byte image is worth what the same image divided by 255 is worth, through convolutions."""
    group = group_spec(2, (6, 6, 1), 3, dtype=np.uint8)
    image = jax.random.randint(jax.random.key(2), (2, 6, 6, 1), 0, 256).astype(jnp.uint8)
    floats = GroupSpec(
        group.name, group.agents, ArraySpec((6, 6, 1), np.dtype(np.float32)), group.actions
    )
    scaled = image.astype(jnp.float32) / 255.0
    left = values(network(), group, image)
    np.testing.assert_allclose(left, values(network(), floats, scaled), rtol=1e-5, atol=1e-6)
    assert np.abs(left).max() < 10.0


def test_small_images_are_flattened() -> None:
    group = group_spec(2, (3, 3, 1), 3, dtype=np.uint8)
    params = shapes(network(), group)
    assert max(x.ndim for x in jax.tree.leaves(params)) == 3  # sets, in, out: no convolution
    assert values(network(), group, jnp.ones((2, 3, 3, 1), jnp.uint8)).shape == (2, 3)


def test_convolutions_by_choice() -> None:
    group = group_spec(2, (8, 8, 3), 4)
    params = shapes(network(convolutions=((5, 3, 2),)), group)
    assert (1, 3, 3, 3, 5) in [x.shape for x in jax.tree.leaves(params)]


@pytest.mark.parametrize("activation", ["relu", "tanh", "elu", "gelu", "silu"])
def test_activations(activation: str) -> None:
    found = values(network(activation=activation, layer_norm=True), VECTOR, SAME)
    assert np.isfinite(found).all()


@pytest.mark.parametrize("actions", [MultiDiscreteActions((3, 2, 5)), BOX])
def test_other_actions_are_refused_by_agent_and_space(actions: Any) -> None:
    group = group_spec(2, actions=actions, name="arms")
    with pytest.raises(WiringError) as refusal:
        network().init_params(jax.random.key(0), environment_spec(group))
    for part in ("q_network", "'arms'", "arms_0, arms_1", repr(actions)):
        assert part in str(refusal.value)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"activation": "relo"}, r"q_network\.activation is 'relo'; did you mean 'relu'\?"),
        ({"sharing": "shard"}, r"q_network\.sharing is 'shard'; give 'shared', 'none'"),
        (
            {"hidden_gain": 0.0},
            r"q_network\.hidden_gain is 0\.0; it must be a finite number above 0",
        ),
        ({"hidden_sizes": (64, 0)}, r"a width in q_network\.hidden_sizes is 0"),
    ],
)
def test_values_that_could_not_work_are_refused(fields: Any, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        QNetwork(**fields)


def test_a_mapping_names_every_agent() -> None:
    with pytest.raises(ConfigurationError, match=r"nothing of agents \['agents_2'\]"):
        network(sharing={"agents_0": 0, "agents_1": 0}).init_params(
            jax.random.key(0), environment_spec(VECTOR)
        )


@pytest.mark.parametrize("made", [QNetwork, ActorNetwork, ActionValueNetwork, RecurrentQNetwork])
@pytest.mark.parametrize("gain", [None, 0.5])
def test_hidden_layers_begin_orthogonal_with_their_gain(made: Any, gain: float | None) -> None:
    fields: dict[str, Any] = {} if gain is None else {"hidden_gain": gain}
    if made is RecurrentQNetwork:
        fields |= {"torso_sizes": (3,), "head_sizes": (5,)}
    else:
        fields |= {"hidden_sizes": (3, 5)}
    params = made(**fields).init_params(jax.random.key(0), environment_spec(VECTOR))
    found = [
        np.linalg.svd(leaf[0], compute_uv=False)
        for path, leaf in jax.tree_util.tree_leaves_with_path(params)
        if "torso" in jax.tree_util.keystr(path) and "kernel" in jax.tree_util.keystr(path)
    ]
    assert len(found) == 2
    np.testing.assert_allclose(np.concatenate(found), 2**0.5 if gain is None else gain, rtol=1e-5)


@pytest.mark.parametrize("sharing", [None, 3, "share", ("agents_0", "agents_1"), ["shared"]])
def test_sharing_that_says_nothing_is_refused_when_it_is_written(sharing: Any) -> None:
    with pytest.raises(
        ConfigurationError, match=r"sharing is .*; give 'shared', 'none' or a mapping"
    ):
        network(sharing=sharing)
