from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from mava.cli.main import COMMANDS, main


def test_everything_is_listed(capsys: Any) -> None:
    assert main(["list"]) == 0
    written = capsys.readouterr().out
    for name in ("systems", "madqn", "mpe2/simple_spread_v3", "EpsilonGreedy", "StopOnReturn"):
        assert name in written


def test_one_kind_as_json(capsys: Any) -> None:
    assert main(["list", "components", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert list(listed) == ["components"]
    assert listed["components"]["StopAfter"].startswith("Ends the run after a time of training.")


@pytest.mark.parametrize("command", COMMANDS)
def test_help(command: str, capsys: Any) -> None:
    assert main([command, "--help"]) == 0
    written = capsys.readouterr()
    assert written.out.startswith(f"usage: mava {command}")
    assert "--debug" in written.out
    assert written.err == ""


def test_overview(capsys: Any) -> None:
    assert main(["--help"]) == 0
    shown = capsys.readouterr().out
    assert main([]) == 2
    assert capsys.readouterr().out == shown
    assert all(command in shown for command in COMMANDS)


@pytest.mark.parametrize(
    ("argv", "absent"),
    [
        (["--help"], ["jax", "numpy", "rich"]),
        (["train", "--help"], ["jax", "rich", "matplotlib"]),
        (["list"], ["matplotlib", "orbax", "pettingzoo", "mpe2", "pygame", "tensorboardX"]),
    ],
    ids=["help", "train help", "list"],
)
def test_what_a_command_does_not_use_is_not_imported(argv: list[str], absent: list[str]) -> None:
    code = (
        f"import sys; from mava.cli.main import main; code = main({argv!r});"
        f"loaded = [m for m in {absent!r} if m in sys.modules];"
        f"sys.exit(f'loaded {{loaded}}' if loaded else code)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_as_a_module() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "mava.cli", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("mava")
