"""What ``jaxmarl``'s environments end by, tell and refuse."""

import importlib.util
import pickle
import types

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mava.environments import as_factory, list_environments, make, to_host
from mava.environments.jaxmarl import NAMES
from mava.environments.jaxmarl.families import Navigation
from mava.environments.jaxmarl.names import CLASSES, REFUSED, SCENARIOS
from mava.environments.packaged import _inside, as_shipped
from mava.errors import ConfigurationError
from mava.testing.environment_contract import equal, random_actions

needs_jaxmarl = pytest.mark.skipif(
    importlib.util.find_spec("jaxmarl") is None, reason="jaxmarl is for Python 3.11 and newer"
)
pytestmark = [needs_jaxmarl, pytest.mark.slow]
STOP = 4


@pytest.fixture(scope="module")
def battle():
    """SMAX's 3m: the environment, its compiled functions, and a first state."""
    environment = make("jaxmarl/smax/3m")
    step = jax.jit(environment.step)
    state, first = jax.jit(environment.reset)(jax.random.key(0))
    return environment, step, state, first


def actions(*chosen):
    return {"agents": jnp.asarray(chosen, jnp.int32)}


def with_units(state, health=None, step=None):
    """The state with other healths of the six units, or at another step."""
    units = state.inner.state
    if health is not None:
        units = units.replace(unit_health=jnp.asarray(health, jnp.float32))
    if step is not None:
        units = units.replace(step=jnp.asarray(step, jnp.int32))
    return state._replace(inner=state.inner.replace(state=units))


def rows(tree):
    return np.asarray(tree["agents"]).tolist()


def test_spec_of_smax(battle):
    environment, _, _, first = battle
    (group,) = environment.spec.groups
    # Own 4 + 6 features; of 2 allies and 3 enemies 7 + 6 each. The state: 10 + team + type of 6.
    assert group.observation.shape == (10 + 5 * 13,)
    assert environment.spec.state.shape == (6 * 12,)
    assert group.actions.num_actions == 5 + 3
    assert group.agents == ("ally_0", "ally_1", "ally_2")
    assert environment.spec.episode_limit == 101
    # The teams start out of range: movement and the stop, no attack.
    assert rows(first.legal_actions) == [[True] * 5 + [False] * 3] * 3


def test_a_units_death_is_its_own_termination(battle):
    _, step, state, _ = battle
    state, dead = step(with_units(state, [0, 45, 45, 45, 45, 45]), actions(STOP, STOP, STOP))
    for _ in range(2):
        assert rows(dead.alive) == [False, True, True]
        assert rows(dead.termination) == [True, False, False]
        assert rows(dead.truncation) == [False] * 3
        assert rows(dead.legal_actions)[0] == [False] * 8  # where jaxmarl allows the stop
        assert not np.any(dead.observation["agents"][0])
        assert not dead.end
        state, dead = step(state, actions(0, STOP, STOP))


@pytest.mark.parametrize(
    ("health", "won", "reward"),
    [
        ([45, 45, 45, 0, 0, 0], 1, 1),
        ([45, 0, 45, 0, 0, 0], 1, 1),
        ([0, 0, 0, 45, 45, 45], 0, 0),
        ([0, 0, 0, 0, 0, 0], 0, 0),  # a draw has no bonus
    ],
)
def test_battles_terminate_and_are_won_where_jaxmarl_pays_its_bonus(battle, health, won, reward):
    _, step, state, _ = battle
    _, last = step(with_units(state, health), actions(STOP, STOP, STOP))
    assert last.end
    assert rows(last.termination) == [True] * 3
    assert rows(last.truncation) == [False] * 3
    assert not np.any(last.legal_actions["agents"])
    assert float(last.metrics["won"]) == won
    assert last.metrics["won"].dtype == np.float32
    assert rows(last.reward) == [reward] * 3


def test_a_battles_time_limit_truncates_whoever_lives(battle):
    _, step, state, _ = battle
    late = with_units(state, [0, 45, 45, 45, 45, 45], step=99)
    late, timestep = step(late, actions(STOP, STOP, STOP))
    assert not timestep.end
    before = timestep.observation["agents"]
    _, last = step(late, actions(STOP, 2, 2))
    assert last.end
    assert rows(last.alive) == [False] * 3
    assert rows(last.termination) == [True, False, False]
    assert rows(last.truncation) == [False, True, True]
    # Values go on from the last observation, which is that of this very state.
    assert rows(last.legal_actions) == [[False] * 8, *[[True] * 5 + [False] * 3] * 2]
    assert np.any(last.observation["agents"][1:] != before[1:])
    assert float(last.metrics["won"]) == 0


@pytest.mark.parametrize("health", [[45] * 6, [45, 45, 45, 0, 0, 0]])
def test_a_battle_is_what_jaxmarl_steps(battle, health):
    environment, step, state, _ = battle
    env = _inside(environment).env
    state = with_units(state, health)
    _, now = jax.random.split(state.key)
    given = {"ally_0": 1, "ally_1": STOP, "ally_2": 3}
    given = {agent: jnp.asarray(action) for agent, action in given.items()}
    with as_shipped():
        shown, after, paid, done, _ = env.step_env(now, state.inner, given)
    _, timestep = step(state, actions(1, STOP, 3))
    for row, agent in enumerate(env.agents):
        np.testing.assert_allclose(timestep.observation["agents"][row], shown[agent], atol=1e-6)
        assert float(timestep.reward["agents"][row]) == pytest.approx(float(paid[agent]))
        with as_shipped():
            legal = env.get_avail_actions(after)[agent]
        if not done["__all__"]:
            assert timestep.legal_actions["agents"][row].tolist() == legal.astype(bool).tolist()
    np.testing.assert_allclose(timestep.state, shown["world_state"], atol=1e-6)
    assert bool(timestep.end) == bool(done["__all__"])
    assert float(timestep.metrics["won"]) == float(paid["ally_0"] >= 1.0 and done["__all__"])


def test_what_the_dead_are_told_to_do_is_seen_by_nobody():
    environment = make("jaxmarl/smax/3m", observation_type="conic")
    step = jax.jit(environment.step)
    state, _ = environment.reset(jax.random.key(1))
    state, _ = step(with_units(state, [45, 0, 45, 45, 45, 45]), actions(STOP, STOP, STOP))
    outcomes = [step(state, actions(STOP, action, STOP))[1] for action in (0, 3, 7)]
    assert equal(outcomes[0], outcomes[1])
    assert equal(outcomes[0], outcomes[2])


def test_two_teams_share_a_group_unless_told_otherwise():
    teams = {side: [f"{side}_{index}" for index in range(3)] for side in ("ally", "enemy")}
    environment = make("jaxmarl/SMAX", scenario="3m", groups=teams)
    assert environment.spec.group_names == ("ally", "enemy")
    assert make("jaxmarl/SMAX", scenario="3m").spec.group_names == ("agents",)
    state, _ = environment.reset(jax.random.key(0))
    units = state.inner.replace(unit_health=jnp.asarray([45.0, 45, 45, 0, 45, 45]))
    stop = jnp.full(3, STOP, jnp.int32)
    _, timestep = jax.jit(environment.step)(
        state._replace(inner=units), {"ally": stop, "enemy": stop}
    )
    assert timestep.alive["ally"].tolist() == [True] * 3
    assert timestep.alive["enemy"].tolist() == [False, True, True]


def test_mpe_ends_by_time_alone():
    environment = to_host(make("jaxmarl/mpe/simple_tag_v3", max_steps=3))
    assert environment.spec.group_names == ("adversary", "agent")
    assert environment.spec.state is None
    timestep = environment.reset(0)
    rng = np.random.default_rng(0)
    for index in range(4):  # jaxmarl compares the steps made before
        assert not timestep.end, index
        timestep = environment.step(random_actions(environment.spec, timestep, rng))
    assert timestep.end
    assert environment.spec.episode_limit == 4
    for group in ("adversary", "agent"):
        assert timestep.truncation[group].all()
        assert not timestep.termination[group].any()
        assert timestep.legal_actions[group].all()


def test_overcooked_ends_by_time_alone():
    environment = to_host(make("jaxmarl/overcooked", max_steps=2, layout="coord_ring"))
    spec = environment.spec.groups[0].observation
    assert (spec.shape, spec.dtype) == ((5, 5, 26), np.float32)
    timestep = environment.reset(0)
    for end in (False, True):
        timestep = environment.step({"agents": np.full(2, 4, np.int32)})
        assert bool(timestep.end) == end
    assert timestep.truncation["agents"].all()
    assert not timestep.termination["agents"].any()


def test_hanabi_terminates_and_one_plays_at_a_time():
    environment = to_host(make("jaxmarl/hanabi"))
    timestep = environment.reset(0)
    rng = np.random.default_rng(0)
    turn = 0
    while not timestep.end:
        waiting = timestep.legal_actions["agents"][1 - turn]
        assert waiting.tolist() == [False] * 20 + [True]
        acting = timestep.legal_actions["agents"][turn]
        assert acting[:20].any()
        assert not acting[20]
        timestep = environment.step(random_actions(environment.spec, timestep, rng))
        turn = 1 - turn
    assert timestep.termination["agents"].all()
    assert not timestep.truncation["agents"].any()


def test_the_riddle_terminates_when_somebody_in_the_room_tells():
    environment = to_host(make("jaxmarl/switch_riddle"))
    environment.reset(0)
    last = environment.step({"agents": np.full(3, 2, np.int32)})
    assert last.end
    assert rows(last.termination) == [True] * 3
    assert rows(last.reward) == [-1] * 3
    timestep = environment.reset(0)
    for _ in range(6):
        assert not timestep.end
        timestep = environment.step({"agents": np.zeros(3, np.int32)})
    assert timestep.end
    assert rows(timestep.truncation) == [True] * 3


def test_navigation_tells_goals_and_collisions_from_time():
    after = types.SimpleNamespace(
        goal_reached=jnp.array([True, False, False, False]),
        move_term=jnp.array([False, True, False, False]),
    )
    done = jnp.array([True, True, True, False])
    terminated, truncated = Navigation(None).ends(None, {}, after, done)
    assert terminated.tolist() == [True, True, False, False]
    assert truncated.tolist() == [False, False, True, False]


def test_names_are_those_that_jaxmarl_registers():
    make("jaxmarl/switch_riddle")  # imports it without its prints
    import jaxmarl
    from jaxmarl import environments
    from jaxmarl.environments.smax.smax_env import MAP_NAME_TO_SCENARIO

    assert {*CLASSES} | {*REFUSED} == {*jaxmarl.registered_envs}
    assert not {*CLASSES} & {*REFUSED}
    assert {*SCENARIOS} == {*MAP_NAME_TO_SCENARIO}
    assert all(hasattr(environments, name) for name in CLASSES.values())
    for name in ("MPE_simple_facmac_3a_v1", "MPE_simple_reference_v3", "SMAX", "coin_game"):
        made = getattr(environments, CLASSES[name])()
        assert type(made) is type(jaxmarl.make(name))
        assert made.agents == jaxmarl.make(name).agents
    assert {f"jaxmarl/{name}" for name in NAMES} < {*list_environments()}


def test_observations_have_the_shape_that_they_have():
    # jaxmarl declares 16 for each of these.
    (group,) = make("jaxmarl/mpe/simple_facmac_6a_v1").spec.groups
    assert group.observation.shape == (28,)
    assert group.agents[5:7] == ("adversary_5", "agent_0")
    kinds = make("jaxmarl/mpe/simple_world_comm_v3").spec
    assert kinds.group_names == ("leadadversary", "adversary", "agent")
    assert kinds["leadadversary"].actions.shape == (9,)


def test_equal_names_and_arguments_make_equal_environments():
    one, two = (make("jaxmarl/smax/3m", max_steps=7, groups=None) for _ in range(2))
    assert one == two
    assert hash(one) == hash(two)
    assert one != make("jaxmarl/smax/3m", max_steps=8)
    assert one.spec.episode_limit == 8
    assert pickle.loads(pickle.dumps(one)) == one
    factory = as_factory("jaxmarl/smax/3m", max_steps=7)
    assert factory.build() == one


def test_environments_may_be_built_inside_of_a_trace():
    environment = make("jaxmarl/mpe/simple_v3", max_steps=31)
    _inside.cache_clear()
    state, _ = jax.jit(environment.reset)(jax.random.key(0))
    zeros = {"agents": jnp.zeros(1, jnp.int32)}
    assert not jax.jit(environment.step)(state, zeros)[1].end


@pytest.mark.parametrize(
    ("name", "kwargs", "message"),
    [
        ("jaxmarl/smax/3n", {}, "did you mean 'jaxmarl/smax/3m'?"),
        ("jaxmarl/MPE_simple_spread_v3", {}, "did you mean 'jaxmarl/mpe/simple_spread_v3'?"),
        ("jaxmarl/storm", {}, "no adapter: it gives arrays"),
        ("jaxmarl/smax/3m", {"max_step": 3}, "did you mean 'max_steps'?"),
        ("jaxmarl/smax/3m", {"frame_stak": 3}, "did you mean 'frame_stack'?"),
        ("jaxmarl/smax/3m", {"num_allies": 3}, "no argument 'num_allies'"),
        ("jaxmarl/smax/3m", {"attack_mod": "random"}, "did you mean 'attack_mode'?"),
        ("jaxmarl/smax/3m", {"action_type": "both"}, "Unknown action_type"),
        ("jaxmarl/SMAX", {"scenario": "3s5"}, "unknown scenario '3s5'; did you mean '3s5z'?"),
        ("jaxmarl/mpe/simple_spread_v3", {"local_ration": 1}, "did you mean 'local_ratio'?"),
        ("jaxmarl/mpe/simple_v3", {"global_state": True}, "has no global state"),
        ("jaxmarl/smax/3m", {"parallel": True}, "are for PettingZoo environments"),
        ("jaxmarl/smax/3m", {"groups": {"a": ["ally_0"]}}, "no group has the agents"),
    ],
)
def test_what_is_refused(name, kwargs, message):
    with pytest.raises(ConfigurationError) as raised:
        make(name, **kwargs)
    assert message in str(raised.value)
