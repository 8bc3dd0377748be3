"""What environments look like."""

import dataclasses
import functools
import importlib.util
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mava.environments import make, wrap
from mava.environments.base import Environment
from mava.environments.drawing import BLUE, GREEN, VERMILION, YELLOW, Drawing, grid
from mava.environments.factory import as_factory
from mava.environments.host import to_host
from mava.environments.jaxmarl import drawing as jaxmarl
from mava.environments.jumanji import drawing as jumanji
from mava.environments.pictures import build_to_draw, frame_of
from mava.environments.wrappers import FrameStack
from mava.errors import ConfigurationError, EnvironmentFault
from mava.testing.probes import ConstantReward

WHITE = (255, 255, 255)


def rgb(colour):
    return tuple(int(colour[start : start + 2], 16) for start in (1, 3, 5))


def pixel(frame, across, down):
    """At shares of the width and the height."""
    height, width, _ = frame.shape
    return tuple(frame[int(down * height), int(across * width)].tolist())


class Drawn(ConstantReward):
    """Its picture is as bright as its state is late."""

    def render(self, state):
        return np.full((4, 6, 3), int(np.ravel(state)[0]) * 100, np.uint8)


class Silent(Environment):
    """An environment of the host that draws what it is told to."""

    def __init__(self, drawn):
        self.drawn = drawn
        self.spec_ = ConstantReward().spec

    @property
    def spec(self):
        return self.spec_

    def reset(self, seed):
        return self.spec.zero_timestep()

    def step(self, actions):
        return self.spec.zero_timestep()

    def render(self):
        if isinstance(self.drawn, Exception):
            raise self.drawn
        return self.drawn


def test_a_jax_environment_draws_its_state_on_the_host_and_inside_wrappers():
    inner = Drawn()
    for environment in (to_host(inner), to_host(wrap(inner, FrameStack(2)))):
        assert environment.render() is None
        environment.reset(0)
        first = frame_of(environment)
        assert first.shape == (4, 6, 3)


def test_without_a_picture():
    environment = to_host(ConstantReward())
    environment.reset(0)
    with pytest.raises(ConfigurationError, match=r"probe/constant_reward has no picture; an env"):
        frame_of(environment)


@pytest.mark.parametrize(
    ("drawn", "message"),
    [
        (np.zeros((4, 6), np.uint8), r"render\(\) gave uint8\[4, 6\], not uint8"),
        (np.zeros((4, 6, 4), np.uint8), r"gave uint8\[4, 6, 4\]"),
        (np.zeros((4, 6, 3)), r"gave float64\[4, 6, 3\]"),
        ("ascii", "gave str"),
        (OSError("no window"), r"render\(\) raised OSError: no window"),
    ],
)
def test_what_is_no_frame(drawn, message):
    with pytest.raises(EnvironmentFault, match=message):
        frame_of(Silent(drawn))


def test_names_are_built_to_draw():
    environment = build_to_draw(as_factory("mpe2/simple_spread_v3", render_mode="human"))
    environment.reset(0)
    assert frame_of(environment).shape == (700, 700, 3)
    environment.close()


def test_level_based_foraging_has_no_picture():
    pytest.importorskip("lbforaging")
    environment = build_to_draw(as_factory("lbforaging/Foraging-5x5-2p-1f-v3"))
    environment.reset(0)
    with pytest.raises(ConfigurationError, match="has no picture"):
        frame_of(environment)


def with_mode(size=1, render_mode=None):
    return Silent((size, render_mode))


def hiding(**kwargs):
    return with_mode(**kwargs)


def hiding_none(**kwargs):
    return without_mode(**kwargs)


def without_mode(size=1):
    return Silent((size, "not asked"))


@pytest.mark.parametrize(
    ("make_it", "asked"),
    [
        (with_mode, "rgb_array"),
        (functools.partial(with_mode, render_mode="human"), "rgb_array"),
        (hiding, "rgb_array"),
        (hiding_none, "not asked"),
        (without_mode, "not asked"),
    ],
)
def test_callables_are_asked_where_they_can_be(make_it, asked):
    assert build_to_draw(as_factory(make_it, size=3)).drawn == (3, asked)


def test_recipes_of_other_kinds_are_built():
    environment = Silent(None)
    assert build_to_draw(SimpleNamespace(build=lambda: environment)) is environment


def test_shapes_are_where_they_should_be():
    drawing = Drawing(4, 2)
    drawing.square(1, 1, 1, facecolor="red")
    drawing.gauge(3, 1, 0.8, 0.25, "blue")
    frame = drawing.frame()
    assert (frame.shape, frame.dtype) == ((240, 480, 3), np.uint8)
    assert pixel(frame, 0.25, 0.5) == (255, 0, 0)
    # The filled quarter is the first after twelve o'clock.
    assert pixel(frame, (3 + 0.3) / 4, (1 - 0.3) / 2) == (0, 0, 255)
    for dx, dy in ((-0.3, -0.3), (-0.3, 0.3), (0.3, 0.3)):
        assert pixel(frame, (3 + dx) / 4, (1 + dy) / 2) == WHITE


def test_the_first_row_of_a_grid_is_on_top_and_sizes_are_even():
    drawing = grid(3, 7)
    drawing.square(6.5, 0.5, 1.0, facecolor="red")
    frame = drawing.frame()
    assert frame.shape == (206, 480, 3)
    assert pixel(frame, 6.5 / 7, 0.5 / 3) == (255, 0, 0)
    assert pixel(frame, 6.5 / 7, 2.5 / 3) == WHITE


BATTLE = SimpleNamespace(
    map_width=32,
    map_height=32,
    num_allies=2,
    num_movement_actions=5,
    unit_type_health=np.array([45.0, 125.0]),
    unit_type_radiuses=np.array([1.0, 2.0]),
    unit_type_attack_ranges=np.array([5.0, 6.0]),
    unit_type_shorthands=["m", "M"],
)


@dataclasses.dataclass
class Fight:
    """Two allies and two enemies; the second ally is dead."""

    unit_positions: np.ndarray = dataclasses.field(
        default_factory=lambda: np.array([[8.0, 8.0], [8.0, 24.0], [12.0, 8.0], [24.0, 24.0]])
    )
    unit_alive: np.ndarray = dataclasses.field(
        default_factory=lambda: np.array([True, False, True, True])
    )
    unit_types: np.ndarray = dataclasses.field(default_factory=lambda: np.array([0, 0, 0, 1]))
    unit_health: np.ndarray = dataclasses.field(
        default_factory=lambda: np.array([45.0, 0.0, 22.5, 125.0])
    )
    prev_attack_actions: np.ndarray = dataclasses.field(
        default_factory=lambda: np.array([0, 0, 0, 0])
    )
    step: int = 3


def test_a_battle_shows_teams_health_and_the_living():
    frame = jaxmarl.battle(BATTLE, Fight())
    assert pixel(frame, 8 / 32, 1 - 8 / 32) == rgb(BLUE)
    assert pixel(frame, 8 / 32, 1 - 24 / 32) == WHITE
    assert pixel(frame, 24 / 32, 1 - 24 / 32) == rgb(VERMILION)
    # Half of its health: the right half.
    assert pixel(frame, 12.5 / 32, 1 - 8 / 32) == rgb(VERMILION)
    assert pixel(frame, 11.5 / 32, 1 - 8 / 32) == WHITE


@pytest.mark.parametrize(
    ("unit", "action", "target"),
    [
        (0, 4, None),  # stops
        (0, 5, 2),  # the first enemy
        (0, 6, None),  # the second, which is out of range
        (2, 5, None),  # an enemy's first target is the last ally, who is dead
        (2, 6, 0),
    ],
)
def test_whom_a_unit_shoots_at(unit, action, target):
    actions = np.zeros(4, int)
    actions[unit] = action
    state = Fight(prev_attack_actions=actions)
    assert jaxmarl._target(BATTLE, state, unit) == target
    differs = np.any(jaxmarl.battle(BATTLE, state) != jaxmarl.battle(BATTLE, Fight()))
    assert differs == (target is not None)


def test_particles_are_drawn_in_their_colours_and_say_what_they_say():
    env = SimpleNamespace(
        num_agents=1,
        agents=["speaker"],
        rad=np.array([0.3, 0.2]),
        colour=[(115, 243, 115), (64, 64, 64)],
        silent=np.array([0]),
    )

    def frame(message, place=(-0.75, 0.75)):
        places = np.array([place, (0.75, -0.75)])
        return jaxmarl.particles(env, SimpleNamespace(p_pos=places, c=[np.array(message)], step=1))

    shown = frame([0.0, 1.0])
    assert pixel(shown, 0.25, 0.25) == (115, 243, 115)
    assert pixel(shown, 0.75, 0.75) == (64, 64, 64)
    assert np.any(shown != frame([1.0, 0.0]))
    # Who is far away is still in the picture.
    assert pixel(frame([0.0, 1.0], (9.0, 9.0)), 0.984, 0.016) == (115, 243, 115)


def test_a_kitchen_shows_what_is_cooked_and_carried():
    pytest.importorskip("jaxmarl")
    tiles = np.ones((2 + 2, 3 + 2, 3), int)
    tiles[1, 1], tiles[1, 2], tiles[1, 3] = (8, 7, 20), (7, 1, 0), (9, 6, 0)
    state = SimpleNamespace(
        wall_map=np.array([[1, 1, 1], [0, 0, 0]], bool),
        maze_map=tiles,
        agent_pos=np.array([[0, 1], [2, 1]]),
        agent_dir_idx=np.array([2, 0]),
        agent_inv=np.array([1, 3]),
        step=4,
    )
    frame = jaxmarl.kitchen(None, state)
    assert pixel(frame, 0.15 / 3, 0.5 / 2) == rgb("#333333")
    assert pixel(frame, 1.5 / 3, 0.5 / 2) == rgb(GREEN)
    assert pixel(frame, 2.5 / 3, 0.5 / 2) == rgb(VERMILION)
    assert pixel(frame, 2.7 / 3, 0.5 / 2) == WHITE
    assert pixel(frame, 2.5 / 3, 0.1 / 2) == rgb("#999999")
    assert pixel(frame, 1.5 / 3, 1.5 / 2) == WHITE
    assert pixel(frame, 0.35 / 3, 1.4 / 2) == rgb(BLUE)
    assert pixel(frame, 0.9 / 3, 1.5 / 2) == rgb("#333333")  # it looks east
    assert pixel(frame, 2.75 / 3, 1.75 / 2) == rgb("#E6B400")
    assert pixel(frame, 0.75 / 3, 1.8 / 2) != rgb("#E6B400")


def test_foraging_shows_the_food_that_is_left():
    food = SimpleNamespace(
        position=np.array([[0, 3], [3, 0]]), level=np.array([2, 3]), eaten=np.array([False, True])
    )
    agents = SimpleNamespace(position=np.array([[1, 1]]), level=np.array([1]))
    state = SimpleNamespace(food_items=food, agents=agents)
    frame = jumanji.foraging(SimpleNamespace(grid_size=4), state)
    assert pixel(frame, 3.3 / 4, 0.3 / 4) == rgb(GREEN)
    assert pixel(frame, 0.3 / 4, 3.3 / 4) == WHITE
    assert pixel(frame, 1.3 / 4, 1.5 / 4) == rgb(BLUE)


def test_a_warehouse_shows_shelves_goals_and_robots():
    state = SimpleNamespace(
        grid=np.zeros((2, 4, 4)),
        shelves=SimpleNamespace(
            position=(np.array([0, 0]), np.array([0, 1])), is_requested=np.array([False, True])
        ),
        agents=SimpleNamespace(
            position=(np.array([2, 2]), np.array([0, 3])),
            direction=np.array([1, 0]),
            is_carrying=np.array([False, True]),
        ),
    )
    frame = jumanji.warehouse(SimpleNamespace(goals=np.array([[2, 3]])), state)
    assert pixel(frame, 0.5 / 4, 0.5 / 4) == rgb("#999999")
    assert pixel(frame, 1.5 / 4, 0.5 / 4) == rgb(GREEN)
    assert pixel(frame, 2.5 / 4, 3.5 / 4) == rgb(YELLOW)
    assert pixel(frame, 0.4 / 4, 2.4 / 4) == rgb(BLUE)
    assert pixel(frame, 3.4 / 4, 2.7 / 4) == rgb(VERMILION)
    # The first heads right, the second up.
    assert pixel(frame, 0.85 / 4, 2.5 / 4) != WHITE
    assert pixel(frame, 3.5 / 4, 2.15 / 4) != WHITE


def test_connector_shows_paths_heads_and_targets():
    # Of the second agent: its path, its head and its target.
    state = SimpleNamespace(grid=np.array([[4, 5, 0], [0, 0, 0], [0, 6, 0]]))
    frame = jumanji.connecting(SimpleNamespace(num_agents=2), state)
    head = pixel(frame, 1.5 / 3, 0.5 / 3)
    assert head == (0, 255, 246)
    assert pixel(frame, 0.5 / 3, 0.5 / 3) == pytest.approx((178, 255, 252), abs=1)
    assert pixel(frame, 1.8 / 3, 2.5 / 3) == head
    assert pixel(frame, 1.5 / 3, 2.5 / 3) == WHITE


def ones(leaf):
    if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
        return jax.random.key(0)
    return np.ones(leaf.shape, leaf.dtype)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        "jaxmarl/smax/smacv2_5_units",
        "jaxmarl/mpe/simple_reference_v3",
        "jaxmarl/overcooked",
        "jumanji/Cleaner-v0",
        "jumanji/Connector-v3",
        "jumanji/LevelBasedForaging-v0",
        "jumanji/RobotWarehouse-v0",
    ],
)
def test_the_states_of_the_packages_hold_what_is_drawn(name):
    """States of ones, so that nothing compiles."""
    if importlib.util.find_spec(name.partition("/")[0]) is None:
        pytest.skip("jaxmarl needs Python 3.11 or newer")
    environment = make(name)
    shapes, _ = jax.eval_shape(environment.reset, jax.random.key(0))
    inner = jax.tree.map(ones, shapes.inner)
    frame = environment.render(shapes._replace(inner=inner))
    assert len(np.unique(frame.reshape(-1, 3), axis=0)) > 2


@pytest.mark.slow
def test_a_game_without_a_drawing_has_no_picture():
    pytest.importorskip("jaxmarl")
    assert make("jaxmarl/coin_game").render(SimpleNamespace(inner=())) is None
