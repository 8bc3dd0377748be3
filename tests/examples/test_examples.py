"""The examples run as they are, and do what they say."""

from __future__ import annotations

import importlib.util
import pathlib
import re
import subprocess
import sys
from types import ModuleType

import jax.numpy as jnp
import numpy as np
import pytest

from mava.testing.builders import act_context, group_spec

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
def test_training_ends_with_a_policy_that_acts(tmp_path: pathlib.Path) -> None:
    output = run("train_madqn.py", "--total_steps=1200", f"--run_dir={tmp_path / 'run'}")
    assert "one more episode ended with rewards" in output
    assert (tmp_path / "run" / "metrics.jsonl").exists()


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"example_{name}", EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_a_new_component_is_tested_alone() -> None:
    boltzmann = load("new_component").Boltzmann(temperature=0.1)
    scores = jnp.array([[1.0, 0.0, 5.0], [0.0, 0.0, 0.0]])
    legal = jnp.array([[True, True, False], [True, True, True]])
    drawn = np.stack(
        [
            boltzmann.select_action(scores, legal, (), act_context(group_spec(2), key=seed))[
                0
            ].action
            for seed in range(60)
        ]
    )
    assert set(drawn[:, 0]) == {0}, "the best legal action, ten temperatures ahead"
    assert set(drawn[:, 1]) == {0, 1, 2}
