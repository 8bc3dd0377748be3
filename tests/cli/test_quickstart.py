from __future__ import annotations

import pathlib
from typing import Any

import pytest

import mava
from mava.cli import quickstart
from mava.errors import ConfigurationError


def test_a_fresh_directory(tmp_path: pathlib.Path) -> None:
    place = tmp_path / "quickstart"
    assert quickstart.vacant(place) == place
    for expected in ("quickstart-2", "quickstart-3"):
        quickstart.vacant(place).mkdir()
        assert quickstart.vacant(place).name == expected


@pytest.mark.parametrize(
    ("argv", "topology"), [([], "single_process"), (["--topology=compiled"], "compiled")]
)
def test_the_topology_is_launched(argv: list[str], topology: str, monkeypatch: Any) -> None:
    launched = []

    def launch(system: Any, topology: str, **options: Any) -> None:
        launched.append(topology)
        raise KeyboardInterrupt

    monkeypatch.setattr(mava, "launch", launch)
    assert quickstart.main(argv) == 130
    assert launched == [topology]


def test_a_topology_that_cannot_run_here(monkeypatch: Any, capsys: Any) -> None:
    def launch(*arguments: Any, **options: Any) -> None:
        raise ConfigurationError("not here")

    monkeypatch.setattr(mava, "launch", launch)
    assert quickstart.main(["--topology=compiled"]) == 2
    assert capsys.readouterr().err.endswith("mava: not here\n")


def test_an_unknown_topology(capsys: Any) -> None:
    with pytest.raises(SystemExit) as refused:
        quickstart.main(["--topology=single_proces"])
    assert refused.value.code == 2
    assert "single_process" in capsys.readouterr().err


@pytest.mark.slow
def test_a_small_quickstart(tmp_path: pathlib.Path, monkeypatch: Any, capsys: Any) -> None:
    small = {
        "ENVIRONMENT": "probe/constant_reward",
        "TOTAL_STEPS": 40,
        "EVALUATE_EVERY": 20,
        "EPISODES": 2,
        "OPTIONS": {"min_size": 16, "capacity": 64, "batch_size": 8, "hidden_sizes": (8,)},
    }
    for name, value in small.items():
        monkeypatch.setattr(quickstart, name, value)
    monkeypatch.chdir(tmp_path)
    assert quickstart.main() == 0
    written = capsys.readouterr().out
    for row in ("random policy", "before training", "after training", "best checkpoint"):
        assert row in written
    assert (tmp_path / "runs/quickstart/learning_curve.png").exists()
    assert "train --resume --run_dir=runs/quickstart --total_steps=80" in written
