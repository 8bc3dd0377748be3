from __future__ import annotations

import pathlib
from typing import Any

import pytest

from mava.cli import quickstart


def test_a_fresh_directory(tmp_path: pathlib.Path) -> None:
    place = tmp_path / "quickstart"
    assert quickstart.vacant(place) == place
    for expected in ("quickstart-2", "quickstart-3"):
        quickstart.vacant(place).mkdir()
        assert quickstart.vacant(place).name == expected


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
