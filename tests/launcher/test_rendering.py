"""Episodes of a policy, frame by frame."""

from __future__ import annotations

import itertools
import json
import pathlib
from typing import Any

import numpy as np
import pytest

import mava
from mava.cli.main import main
from mava.environments.base import Environment
from mava.environments.factory import as_factory
from mava.environments.host import to_host
from mava.environments.pictures import build_to_draw
from mava.errors import ConfigurationError
from mava.launcher.policy import Policy, random_policy
from mava.launcher.rendering import play, render
from mava.testing.probes import Truncation
from tests.launcher.test_video import read


class Dimming(Truncation):
    """Its picture is as bright as the episode is young."""

    def render(self, state: Any) -> np.ndarray:
        return np.full((2, 4, 3), 200 - 20 * int(state.time), np.uint8)


def shown_in(environment: Environment, max_steps: int = 500) -> tuple[list[Any], Any]:
    shown: list[tuple[np.ndarray, bool]] = []

    def show(frame: np.ndarray, over: bool) -> None:
        shown.append((frame, over))

    policy = Policy(random_policy(environment.spec)._replace(jit=False), environment.spec)
    return shown, play(policy, environment, 0, show, max_steps)


def test_an_episode_is_shown_from_its_first_to_its_true_last_state() -> None:
    shown, outcome = shown_in(to_host(Dimming(length=4)))
    assert [int(frame[0, 0, 0]) for frame, _ in shown] == [200, 180, 160, 140, 120]
    assert [over for _, over in shown] == [False, False, False, False, True]
    assert outcome == (4.0, 4, True)


def test_a_long_episode_is_left() -> None:
    shown, outcome = shown_in(to_host(Dimming(length=4)), max_steps=2)
    assert [int(frame[0, 0, 0]) for frame, _ in shown] == [200, 180, 160]
    assert shown[-1][1]
    assert outcome == (2.0, 2, False)


def test_pettingzoo_draws_its_own_frames() -> None:
    environment = build_to_draw(as_factory("mpe2/simple_spread_v3", max_cycles=4))
    shown, (_, length, ended) = shown_in(environment)
    environment.close()
    assert (length, ended, len(shown)) == (4, True, 5)
    # An action changes the speed, and the speed the place in the step after it.
    same = [np.array_equal(a, b) for (a, _), (b, _) in itertools.pairwise(shown)]
    assert same == [True, False, False, False]


def trained(place: pathlib.Path, environment: Any) -> pathlib.Path:
    small = {"hidden_sizes": (8,), "capacity": 64, "min_size": 16, "batch_size": 8}
    system = mava.systems.madqn(environment, **small).set("evaluator.episodes=1")
    mava.launch(system, total_steps=20, seed=0, run_dir=place)
    return place


@pytest.fixture(scope="module")
def run_dir(tmp_path_factory: Any) -> pathlib.Path:
    return trained(tmp_path_factory.mktemp("runs") / "a run", as_factory(Dimming, length=4))


@pytest.mark.slow
def test_the_command(run_dir: pathlib.Path, tmp_path: pathlib.Path, capsys: Any) -> None:
    path = tmp_path / "new" / "policy.gif"
    asked = ["--episodes=2", "--fps=20", "--json"]
    assert main(["render", str(run_dir), f"--out={path}", *asked]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found == {
        "path": str(path),
        "frames": 10,
        "returns": [4.0, 4.0],
        "lengths": [4, 4],
        "cut": 0,
    }
    frames, times = read(path)
    assert [int(frame[0, 0, 0]) for frame in frames] == [200, 180, 160, 140, 120] * 2
    assert times == [50, 50, 50, 50, 1050] * 2
    assert main(["evaluate", f"--run_dir={run_dir}", "--episodes=2", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["returns"] == found["returns"]


@pytest.mark.slow
def test_by_default_it_lies_with_the_run(run_dir: pathlib.Path, capsys: Any) -> None:
    assert main(["render", str(run_dir), "--max_steps=3"]) == 0
    path = run_dir / "policy.gif"
    assert capsys.readouterr().out == (
        f"episode 0: return 3 in 3 steps\nleft before the end: 1; see --max_steps\n{path}\n"
    )
    assert len(read(path)[0]) == 4


@pytest.mark.slow
def test_counts_below_one_are_refused(run_dir: pathlib.Path, tmp_path: pathlib.Path) -> None:
    for name in ("episodes", "max_steps"):
        with pytest.raises(ConfigurationError, match=f"{name} is 0; give at least 1"):
            render(run_dir, tmp_path / "a.gif", **{name: 0})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_without_a_picture_nothing_is_written(tmp_path: pathlib.Path, capsys: Any) -> None:
    place = trained(tmp_path / "run", "probe/constant_reward")
    before = sorted(place.iterdir())
    assert main(["render", str(place)]) == 2
    assert "probe/constant_reward has no picture" in capsys.readouterr().err
    assert main(["render", str(place), f"--out={tmp_path}/new/a.gif"]) == 2
    assert sorted(place.iterdir()) == before
    assert not (tmp_path / "new").exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "arguments"),
    [("mpe2/simple_spread_v3", {"max_cycles": 5}), ("jaxmarl/smax/3m", {"max_steps": 5})],
)
def test_a_trained_policy(tmp_path: pathlib.Path, name: str, arguments: Any) -> None:
    if name.startswith("jaxmarl"):
        pytest.importorskip("jaxmarl")
    place = trained(tmp_path / "run", as_factory(name, **arguments))
    rendering = mava.render(place, tmp_path / "a.gif")
    frames, times = read(tmp_path / "a.gif")
    assert rendering.frames == rendering.lengths[0] + 1 >= len(frames) >= 5
    assert sum(times) == 100 * rendering.frames + 1000
    assert all(np.any(a != b) for a, b in itertools.pairwise(frames))
