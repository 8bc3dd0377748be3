"""What ``jumanji``'s environments show each agent, end by, and refuse."""

import importlib.util
import pickle

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mava.environments import list_environments, make
from mava.environments.jumanji import NAMES
from mava.environments.packaged import _inside, as_shipped
from mava.errors import ConfigurationError

needs_jumanji = pytest.mark.skipif(
    importlib.util.find_spec("jumanji") is None, reason="jumanji is not installed"
)
pytestmark = [needs_jumanji, pytest.mark.slow]


def started(name, **kwargs):
    """The environment, its compiled step, a first state and timestep."""
    environment = make(f"jumanji/{name}", **kwargs)
    state, first = jax.jit(environment.reset)(jax.random.key(0))
    return environment, jax.jit(environment.step), state, first


def actions(*chosen):
    return {"agents": jnp.asarray(chosen, jnp.int32)}


def rows(tree):
    return np.asarray(tree["agents"]).tolist()


def changed(state, **fields):
    """The state with fields of the package's state replaced."""
    return state._replace(inner=state.inner.replace(**fields))


def at_step(state, step):
    return changed(state, step_count=jnp.asarray(step, jnp.int32))


def test_foraging_truncates_at_its_limit_and_terminates_without_food():
    environment, step, state, first = started("LevelBasedForaging-v0", time_limit=3)
    assert environment.spec.groups[0].observation.shape == (3 * (2 + 2),)
    assert first.observation["agents"].dtype == np.float32
    _, timestep = step(at_step(state, 1), actions(0, 0))
    assert not timestep.end
    assert float(timestep.metrics["percent_eaten"]) == 0
    _, last = step(at_step(state, 2), actions(0, 0))
    assert last.end
    assert rows(last.truncation) == [True, True]
    assert rows(last.termination) == [False, False]
    assert np.asarray(last.legal_actions["agents"])[:, 0].all()
    eaten = state.inner.food_items.replace(eaten=jnp.ones(2, bool))
    for time in (0, 2):
        _, last = step(at_step(changed(state, food_items=eaten), time), actions(0, 0))
        assert last.end
        assert rows(last.termination) == [True, True]
        assert rows(last.truncation) == [False, False]
        assert not np.any(last.legal_actions["agents"])
        assert float(last.metrics["percent_eaten"]) == 100


def test_foraging_pays_each_its_share_of_the_levels():
    _, step, state, _ = started("LevelBasedForaging-v0", num_food=1, force_coop=False)
    agents, food = state.inner.agents, state.inner.food_items
    beside = agents.replace(
        position=jnp.array([[3, 2], [3, 4]], jnp.int32), level=jnp.array([1, 2], jnp.int32)
    )
    food = food.replace(position=jnp.array([[3, 3]], jnp.int32), level=jnp.array([3], jnp.int32))
    _, last = step(changed(state, agents=beside, food_items=food), actions(5, 5))
    np.testing.assert_allclose(last.reward["agents"], [1 / 3, 2 / 3], rtol=1e-6)
    assert last.end
    assert rows(last.termination) == [True, True]


def test_grids_have_their_layers_last():
    environment = make("jumanji/LevelBasedForaging-v0", grid_observation=True, fov=2)
    assert environment.spec.groups[0].observation.shape == (5, 5, 3)
    _, first = environment.reset(jax.random.key(0))
    own = np.asarray(first.observation["agents"])[:, 2, 2, 0]
    assert (own > 0).all()  # an agent sees its own level in the middle


def test_the_warehouses_limit_is_a_truncation_and_a_collision_is_not():
    environment, step, state, first = started("RobotWarehouse-v0", num_agents=2, time_limit=5)
    assert environment.spec.groups[0].num_agents == 2
    assert first.legal_actions["agents"].shape == (2, 5)
    noop = actions(0, 0)
    late = at_step(state, 4)
    _, last = step(late, noop)
    assert last.end
    assert rows(last.truncation) == [True, True]
    assert rows(last.termination) == [False, False]
    assert np.any(last.legal_actions["agents"])
    # Both in one place, of which the grid can hold the second alone.
    agents = state.inner.agents
    place = jax.tree.map(lambda x: x.at[0].set(x[1]), agents.position)
    crashed = changed(state, agents=agents._replace(position=place))
    for time in (0, 4):
        _, last = step(at_step(crashed, time), noop)
        assert last.end
        assert rows(last.termination) == [True, True]
        assert rows(last.truncation) == [False, False]


def test_the_cleaners_limit_is_a_truncation_and_a_clean_floor_is_not():
    _, step, state, first = started("Cleaner-v0", num_rows=4, num_cols=5, num_agents=2)
    legal = np.asarray(first.legal_actions["agents"])
    moves = actions(*legal.argmax(-1))
    _, timestep = step(state, moves)
    assert not timestep.end
    assert rows(timestep.reward) == [0.5, 0.5]  # a tile of 1, less half a point for the step
    _, last = step(at_step(state, 19), moves)
    assert rows(last.truncation) == [True, True]
    assert rows(last.termination) == [False, False]
    clean = jnp.where(state.inner.grid == 0, 1, state.inner.grid)
    for time in (0, 19):
        _, last = step(at_step(changed(state, grid=clean), time), moves)
        assert last.end
        assert rows(last.termination) == [True, True]
        assert rows(last.truncation) == [False, False]
    illegal = actions(*legal.argmin(-1))
    _, last = step(state, illegal)
    assert rows(last.termination) == [True, True]


def test_what_cleaners_see():
    _, _, state, first = started("Cleaner-v0", num_rows=4, num_cols=5, num_agents=3)
    dirty, wall, own, others = np.moveaxis(np.asarray(first.observation["agents"]), -1, 0)
    grid = np.asarray(state.inner.grid)
    for agent in range(3):
        np.testing.assert_array_equal(dirty[agent], grid == 0)
        np.testing.assert_array_equal(wall[agent], grid == 2)
        assert own[agent, 0, 0] == own[agent].sum() == 1
        assert others[agent, 0, 0] == others[agent].sum() == 2


def connector():
    """Three agents on 5 x 5: the first beside its target, the second walled in by its own path and
    the edge, the third free."""
    environment, step, state, _ = started("Connector-v3", grid_size=5, num_agents=3)
    grid = np.zeros((5, 5), np.int32)
    grid[0, 0], grid[0, 1] = 2, 3
    grid[4, 0], grid[3, 0], grid[4, 1], grid[2, 2] = 5, 4, 4, 6
    grid[4, 4], grid[0, 4] = 8, 9
    agents = state.inner.agents.replace(
        start=jnp.array([[0, 0], [3, 0], [4, 4]], jnp.int32),
        position=jnp.array([[0, 0], [4, 0], [4, 4]], jnp.int32),
        target=jnp.array([[0, 1], [2, 2], [0, 4]], jnp.int32),
    )
    from jumanji.environments.routing.connector.utils import get_action_masks

    with as_shipped():
        mask = get_action_masks(agents, jnp.asarray(grid))
    state = changed(state, grid=jnp.asarray(grid), agents=agents, action_mask=mask)
    return environment, step, state, grid


def test_agents_terminate_when_they_connect_or_are_blocked():
    _, step, state, _ = connector()
    state, timestep = step(state, actions(2, 0, 0))
    assert not timestep.end
    assert rows(timestep.termination) == [True, True, False]
    assert rows(timestep.truncation) == [False] * 3
    assert rows(timestep.alive) == [False, False, True]
    np.testing.assert_allclose(timestep.reward["agents"], [0.97, -0.03, -0.03], atol=1e-6)
    legal = rows(timestep.legal_actions)
    assert legal[0] == legal[1] == [False] * 5
    assert legal[2] == [True, True, False, False, True]
    _, last = step(at_step(state, 49), actions(0, 0, 4))
    assert last.end
    assert rows(last.termination) == [True, True, False]
    assert rows(last.truncation) == [False, False, True]
    assert rows(last.legal_actions)[2] == [True, True, False, False, True]


def test_what_connectors_see():
    environment, _, state, grid = connector()
    with as_shipped():
        seen = np.asarray(_inside(environment).task.observed(state.inner))
    assert seen.shape == (3, 5, 5, 6) == (3, *environment.spec.groups[0].observation.shape)
    for agent in range(3):
        for kind in range(3):
            value = 3 * agent + kind + 1
            others = [3 * other + kind + 1 for other in range(3) if other != agent]
            np.testing.assert_array_equal(seen[agent, ..., kind], grid == value)
            np.testing.assert_array_equal(seen[agent, ..., 3 + kind], np.isin(grid, others))


@pytest.mark.parametrize("name", NAMES)
def test_names_and_defaults_are_the_packages(name):
    import jumanji

    assert name in jumanji.registered_environments()
    theirs = jumanji.make(name)
    env = _inside(make(f"jumanji/{name}")).env
    key = jax.random.key(1)
    for generated in (env, _inside(make(f"jumanji/{name}", num_agents=theirs.num_agents)).env):
        with as_shipped():
            shown, expected = (jax.jit(e.reset)(key)[1].observation for e in (generated, theirs))
        assert jax.tree.structure(shown) == jax.tree.structure(expected)
        for left, right in zip(jax.tree.leaves(shown), jax.tree.leaves(expected), strict=True):
            np.testing.assert_array_equal(left, right)
    assert f"jumanji/{name}" in list_environments()


def test_equal_names_and_arguments_make_equal_environments():
    one, two = (make("jumanji/LevelBasedForaging-v0", num_agents=3) for _ in range(2))
    assert one == two
    assert hash(one) == hash(two)
    assert one != make("jumanji/LevelBasedForaging-v0", num_agents=4)
    assert pickle.loads(pickle.dumps(one)) == one
    split = make("jumanji/LevelBasedForaging-v0", groups={"b": ["agent_1"], "a": ["agent_0"]})
    assert split.spec.group_names == ("b", "a")


@pytest.mark.parametrize(
    ("name", "kwargs", "message"),
    [
        ("jumanji/Connector-v2", {}, "did you mean 'jumanji/Connector-v3'?"),
        ("jumanji/Cleaner-v0", {"num_agent": 3}, "did you mean 'num_agents'?"),
        (
            "jumanji/Cleaner-v0",
            {"generator": None, "num_agents": 3},
            "generator= or its arguments (num_agents), not both",
        ),
        ("jumanji/LevelBasedForaging-v0", {"grid_size": 3}, "jumanji/LevelBasedForaging-v0: "),
        ("jumanji/Cleaner-v0", {"global_state": True}, "has no global state"),
        ("jumanji/Cleaner-v0", {"waiting": "idle"}, "are for PettingZoo environments"),
    ],
)
def test_what_is_refused(name, kwargs, message):
    with pytest.raises(ConfigurationError) as raised:
        make(name, **kwargs)
    assert message in str(raised.value)
