"""The contract, over every adapter and every environment that ships."""

import functools
import importlib.util

import gymnasium.spaces as spaces
import numpy as np
import pytest

from mava.environments import DeathMasking, adapt, list_environments, make, wrap
from mava.testing.environment_contract import EnvironmentContract, JaxEnvironmentContract
from mava.testing.toy_turns import Turns
from mava.testing.toys import Const, Crash, Death, Drift, Echo, Masked, Spaces

_RICH = {
    "red/1": spaces.Dict({"b": spaces.Discrete(3, start=2), "a": spaces.Box(-1, 1, (2, 2))}),
    7: spaces.Box(0, 255, (4, 4, 1), np.uint8),
    ("x", 1): spaces.MultiDiscrete([2, 3]),
}
_ACTS = {
    "red/1": spaces.MultiDiscrete([3, 2, 5]),
    7: spaces.Box(-np.inf, np.inf, (2, 3)),
    ("x", 1): spaces.MultiBinary(3),
}

RANDOM = {
    "spread": functools.partial(make, "mpe2/simple_spread_v3", max_cycles=7),
    "spread_state": functools.partial(make, "mpe2/simple_spread_v3", global_state=True),
    "speaker_listener": functools.partial(make, "mpe2/simple_speaker_listener_v4"),
    "tag_continuous": functools.partial(make, "mpe2/simple_tag_v3", continuous_actions=True),
    "foraging": functools.partial(make, "lbforaging/Foraging-2s-8x8-2p-2f-coop-v3"),
    "stacked": functools.partial(make, "mpe2/simple_spread_v3", max_cycles=7, frame_stack=3),
    "spaces": lambda: adapt(Spaces(_RICH, _ACTS)),
}
FIXED = {
    "echo": lambda: adapt(Echo(ids=(0, 1, 2), action_start=10)),
    "echo_keeps_agents": lambda: adapt(Echo(empties=False, truncates=True)),
    "const": lambda: adapt(Const(truncates=True)),
    "death": lambda: adapt(Death((2, 0, 5), where="observation")),
    "death_masked": lambda: wrap(adapt(Death((2, 0, 5), where="info")), DeathMasking()),
    "masked": lambda: adapt(Masked("info", none_from=3, action_start=-1)),
    "crash_later": lambda: adapt(Crash(at=10_000)),
    "drift": lambda: adapt(Drift()),
    "turns_idle": lambda: adapt(Turns((4, 1000, 6)), waiting="idle"),
    "turns": lambda: adapt(Turns()),
    "tictactoe": functools.partial(make, "pettingzoo/classic/tictactoe_v3"),
    "connect_four": functools.partial(make, "pettingzoo/classic/connect_four_v3"),
}
# Toys count their episodes, and observations of Echo and its kind show the count.
COUNTING = {
    *("echo", "echo_keeps_agents", "death", "death_masked", "masked", "crash_later", "drift"),
    "spaces",
}
JAX = [name for name in list_environments() if name.split("/")[0] in ("matrix", "probe")]


@pytest.mark.parametrize("environment", [*RANDOM, *FIXED])
class TestAdapters(EnvironmentContract):
    @pytest.fixture(autouse=True)
    def _choose(self, environment):
        self.environment = environment
        self.is_random = environment in RANDOM

    def make_environment(self):
        return {**RANDOM, **FIXED}[self.environment]()

    def test_reset_forgets_what_was_played(self):
        if self.environment not in COUNTING:
            super().test_reset_forgets_what_was_played()


class TestPursuit(EnvironmentContract):
    num_steps = 12

    def make_environment(self):
        pytest.importorskip("scipy")
        return make("pettingzoo/sisl/pursuit_v5", max_cycles=10, n_pursuers=3, n_evaders=4)


class TestStackedJaxEnvironment(JaxEnvironmentContract):
    num_steps = 12

    def make_environment(self):
        return make("probe/hidden_cue", frame_stack=2, death_masking=True)


@pytest.mark.parametrize("environment", JAX)
class TestJaxEnvironments(JaxEnvironmentContract):
    @pytest.fixture(autouse=True)
    def _choose(self, environment):
        self.environment = environment
        cued = ("observation_decides", "two_groups", "image_cue", "hidden_cue")
        self.is_random = environment.split("/")[1] in cued

    def make_environment(self):
        return make(self.environment)


PACKAGED = {
    "jaxmarl/smax/3m": {"max_steps": 30},
    "jaxmarl/mpe/simple_tag_v3": {"action_type": "Continuous"},
    "jumanji/Connector-v3": {"grid_size": 5, "num_agents": 3},
    "jumanji/LevelBasedForaging-v0": {"time_limit": 20, "num_agents": 3},
}


@pytest.mark.slow
@pytest.mark.parametrize("environment", PACKAGED)
class TestPackagedEnvironments(JaxEnvironmentContract):
    num_steps = 40

    @pytest.fixture(autouse=True)
    def _choose(self, environment):
        self.environment = environment
        package = environment.split("/")[0]
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"{package} is not installed; jaxmarl needs Python 3.11 or newer")

    def make_environment(self):
        return make(self.environment, **PACKAGED[self.environment])
