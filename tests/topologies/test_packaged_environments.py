"""Short runs on JAX environments of other packages, stepped by the host."""

import importlib.util

import numpy as np
import pytest

import mava
from mava.components.evaluators.evaluator import Evaluator
from mava.systems import rec_iql, vdn

SMALL = {"num_environments": 2, "min_size": 40, "update_every": 40, "batch_size": 4}
RUNS = {
    "jaxmarl/smax/3m": lambda name: rec_iql(
        name, torso_sizes=(16,), memory_size=8, head_sizes=(16,), **SMALL
    ),
    "jumanji/LevelBasedForaging-v0": lambda name: vdn(name, hidden_sizes=(16,), **SMALL),
}
METRIC = {"jaxmarl/smax/3m": "won", "jumanji/LevelBasedForaging-v0": "percent_eaten"}


@pytest.mark.slow
@pytest.mark.parametrize("environment", RUNS)
def test_systems_train_and_evaluate(environment):
    package = environment.split("/")[0]
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} is not installed; jaxmarl needs Python 3.11 or newer")
    system = RUNS[environment](environment).with_(Evaluator(every=200, episodes=2))
    result = mava.launch(system, total_steps=200, seed=0)
    assert result.environment_steps == 200
    for evaluation in result.evaluations:
        assert METRIC[environment] in evaluation.metrics
        assert np.isfinite(evaluation.returns).all()
        assert max(evaluation.lengths) <= 101
