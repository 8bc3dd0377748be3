"""The examples run as they are, and do what they say."""

from __future__ import annotations

import pathlib
import re
import subprocess
import sys

import pytest

EXAMPLES = pathlib.Path(__file__).parents[2] / "examples"


def run(name: str, *flags: str) -> str:
    command = [sys.executable, str(EXAMPLES / name), *flags]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "Warning" not in done.stderr
    return done.stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "best"), [("new_component.py", 1.0), ("own_environment.py", 10.0)]
)
def test_it_learns_what_it_says(name: str, best: float) -> None:
    found = re.search(r"greedy return ([\d.]+)", run(name))
    assert found is not None
    assert float(found[1]) > 0.95 * best


@pytest.mark.slow
def test_qmix_reaches_what_vdn_does_not() -> None:
    output = run("train_qmix.py")
    assert "vdn: greedy return 7.0 of 8" in output
    assert "qmix: greedy return 8.0 of 8" in output


@pytest.mark.slow
def test_training_ends_with_a_policy_that_acts(tmp_path: pathlib.Path) -> None:
    output = run("train_madqn.py", "--total_steps=1200", f"--run_dir={tmp_path / 'run'}")
    assert "one more episode ended with rewards" in output
    assert (tmp_path / "run" / "metrics.jsonl").exists()


@pytest.mark.slow
def test_mappo_is_trained_on_continuous_actions_and_its_critic_swapped() -> None:
    output = run("train_mappo.py", "--total_steps=1100")
    parts = output.splitlines()[0].split()
    assert "value_network" in parts
    assert not {"central_value_network", "record_state"} & set(parts)
    assert re.search(r"before -[\d.]+\nafter  -[\d.]+", output)


@pytest.mark.slow
def test_maddpg_is_trained_on_continuous_actions_with_another_noise() -> None:
    output = run("train_maddpg.py", "--total_steps=1100")
    parts = output.splitlines()[0].split()
    assert "ornstein_uhlenbeck_noise" in parts
    assert "gaussian_noise" not in parts
    assert re.search(r"before -[\d.]+\nafter  -[\d.]+", output)


def test_a_new_component_is_tested_alone() -> None:
    output = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            "examples/new_component.py",
        ],
        cwd=EXAMPLES.parent,
        capture_output=True,
        text=True,
        check=False,
    ).stdout
    assert "2 passed" in output


@pytest.mark.slow
def test_the_example_of_the_readme_runs(tmp_path: pathlib.Path) -> None:
    """As it is printed, on fewer steps."""
    readme = (EXAMPLES.parent / "README.md").read_text()
    (code,) = re.findall(r"```python\n(.*?)```", readme, re.DOTALL)
    assert len([line for line in code.splitlines() if line.strip()]) <= 15
    code = code.replace("total_steps=200_000", "total_steps=1_200").replace(
        "runs/spread", str(tmp_path / "run")
    )
    command = [sys.executable, "-W", "error", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "prioritised_replay" in done.stdout
