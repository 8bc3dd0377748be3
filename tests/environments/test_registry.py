"""Environments by name, and factories."""

import functools
import pickle
import subprocess
import sys

import numpy as np
import pytest

import mava.environments
from mava.environments import (
    EnvironmentFactory,
    HostEnvironment,
    PettingZooEnvironment,
    as_factory,
    list_environments,
    make,
    to_host,
)
from mava.environments.matrix import RepeatedGame, TwoStep
from mava.errors import ConfigurationError
from mava.testing.toy_turns import Turns
from mava.testing.toys import Echo


def test_importing_loads_no_environment_package():
    heavy = ("pettingzoo", "gymnasium", "mpe2", "pygame", "mava.environments.pettingzoo")
    heavy += ("jaxmarl", "jumanji")
    code = (
        "import sys, mava.environments as e; e.list_environments();"
        f"print([name for name in {heavy!r} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_making_prints_nothing():
    code = "import mava.environments as e; e.make('mpe2/simple_spread_v3').reset(0)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == ""


def test_names():
    names = list_environments()
    assert names == sorted(names)
    assert {"mpe2/simple_spread_v3", "pettingzoo/sisl/pursuit_v5", "matrix/climbing"} < set(names)
    assert make("mpe2/simple_spread_v3").spec.name == "mpe2/simple_spread_v3"


def test_arguments_go_to_the_constructor():
    spec = make(
        "mpe2/simple_spread_v3", N=2, max_cycles=9, groups={"a": ["agent_0"], "b": ["agent_1"]}
    )
    assert spec.spec.group_names == ("a", "b")
    assert spec.spec.episode_limit == 9
    assert make("matrix/penalty", k=-100).payoff[0][0] == -100


@pytest.mark.parametrize(
    ("name", "kwargs", "message"),
    [
        ("mpe2/simple_spred_v3", {}, "did you mean 'mpe2/simple_spread_v3'?"),
        ("matrix/climing", {}, "did you mean 'matrix/climbing'?"),
        ("pettingzoo/sisl/pursuit_v4", {}, "did you mean 'pettingzoo/sisl/pursuit_v5'?"),
        ("mpe2/simple_spread_v3", {"max_cycle": 3}, "did you mean 'max_cycles'?"),
        ("mpe2/simple_spread_v3", {"global_stat": 3}, "did you mean 'global_state'?"),
        ("matrix/penalty", {"q": 3}, "no argument 'q'; there are death_masking, frame_stack, k, l"),
        ("matrix/penalty", {"global_state": True}, "are for PettingZoo environments"),
    ],
)
def test_unknown_names_and_arguments(name, kwargs, message):
    with pytest.raises(ConfigurationError) as raised:
        make(name, **kwargs)
    assert message in str(raised.value)


def test_packages_that_are_not_installed_are_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "pettingzoo.classic.chess_v6", None)
    with pytest.raises(ConfigurationError, match=r"pip install 'pettingzoo\[classic\]'"):
        make("pettingzoo/classic/chess_v6")
    find_spec = mava.environments.registry.importlib.util.find_spec
    monkeypatch.setattr(
        "importlib.util.find_spec", lambda name: None if name == "mpe2" else find_spec(name)
    )
    with pytest.raises(ConfigurationError, match="pip install mpe2"):
        make("mpe2/simple_spread_v3")
    assert not any(name.startswith("mpe2") for name in list_environments())
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    for name, extra in (("jaxmarl/smax/3m", "jaxmarl"), ("jumanji/Cleaner-v0", "jumanji")):
        with pytest.raises(ConfigurationError, match=rf"pip install 'mava\[{extra}\]'"):
            make(name)


def test_factories_are_values():
    one, two = (as_factory("mpe2/simple_spread_v3", N=2, max_cycles=5) for _ in range(2))
    assert one == two
    assert hash(one) == hash(two)
    assert pickle.loads(pickle.dumps(one)) == one
    assert one != as_factory("mpe2/simple_spread_v3", N=3, max_cycles=5)
    assert as_factory(one, N=3) == as_factory("mpe2/simple_spread_v3", N=3, max_cycles=5)
    assert one.name == "mpe2/simple_spread_v3"
    assert one.build().spec.num_agents == 2


def test_factories_of_all_kinds():
    assert isinstance(as_factory(Echo).build(), PettingZooEnvironment)
    assert as_factory(Turns, length=3, waiting="idle").build().spec.name == "turns"
    assert as_factory(TwoStep).build() == TwoStep()
    assert isinstance(as_factory(TwoStep), EnvironmentFactory)
    hosted = as_factory(lambda: to_host(TwoStep())).build()
    assert isinstance(hosted, HostEnvironment)
    assert to_host(hosted) is hosted
    assert as_factory(Echo).name == "Echo"
    split = as_factory(Echo, groups={"a": ["agent_0"], "b": ["agent_1"]}).build()
    assert split.spec.group_names == ("a", "b")


@pytest.mark.parametrize(
    ("environment", "message"),
    [
        (Echo(), "type Echo, need a callable that makes one"),
        (TwoStep(), "type TwoStep, need a callable"),
        (3, "a name or a callable"),
        ("matrix/climb", "did you mean 'matrix/climbing'"),
    ],
)
def test_what_is_no_factory(environment, message):
    with pytest.raises(ConfigurationError, match=message):
        as_factory(environment)


def test_what_a_factory_must_return():
    with pytest.raises(ConfigurationError, match="is no environment"):
        as_factory(lambda: 3).build()
    with pytest.raises(ConfigurationError, match="only for a factory of PettingZoo"):
        as_factory(TwoStep, global_state=True).build()


def test_render():
    environment = make("mpe2/simple_spread_v3", render_mode="rgb_array")
    environment.reset(0)
    frame = environment.render()
    assert frame.dtype == np.uint8
    assert frame.shape == (700, 700, 3)
    assert make("mpe2/simple_spread_v3").render() is None
    assert isinstance(make("matrix/climbing"), RepeatedGame)


def test_names_of_callables_tell_them_apart():
    def named(source):
        return as_factory(source).name

    partial = functools.partial
    assert named(partial(Echo, length=3)) == "Echo(length=3)"
    assert named(partial(partial(Echo, num_actions=2), length=3)) == "Echo(length=3, num_actions=2)"
    assert named(partial(Echo, length=3, num_actions=2)) == "Echo(length=3, num_actions=2)"
    spread = partial(make, "mpe2/simple_spread_v3", max_cycles=7)
    assert named(spread) == "make('mpe2/simple_spread_v3', max_cycles=7)"
    assert named(partial(as_factory, Echo, seed=object())) == "as_factory(Echo, seed=object)"
    first = lambda: Echo()  # noqa: E731
    second = lambda: Echo()  # noqa: E731
    line = first.__code__.co_firstlineno
    assert [named(first), named(second)] == [f"{__name__}.<lambda>:{n}" for n in (line, line + 1)]
    assert named(partial(first, length=3)) == f"{__name__}.<lambda>:{line}(length=3)"


def test_long_names_are_cut_and_yet_tell_apart():
    names = [
        as_factory(functools.partial(Echo, ids=("a" * 100, last))).name for last in ("b", "c", "b")
    ]
    assert names[0] == names[2] != names[1]
    assert all(len(name) <= 80 and "\n" not in name for name in names)
