from __future__ import annotations

import json
import pathlib
from typing import Any

import numpy as np
import pytest

from mava.errors import ConfigurationError
from mava.plotting import band, interval_of, learning_curve
from mava.run_curves import RunCurve, pools_of, read_runs


def write(
    place: pathlib.Path,
    seed: int = 0,
    steps: Any = (0, 100, 200),
    system: str = "madqn",
    config: Any = None,
) -> pathlib.Path:
    place.mkdir(parents=True)
    run = {
        "kind": "run",
        "step": 0,
        "system": system,
        "environment": "matrix/climbing",
        "seed": seed,
    }
    lines = [run, {"kind": "training", "step": 50, "loss": 1.0}]
    for step in steps:
        returns = [step + seed + episode for episode in range(8)]
        lines.append({"kind": "evaluation", "step": step, "returns": returns})
    (place / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    if config is not None:
        facts = {"seed": seed, "total_steps": 1000 + seed, "system": system, **config}
        (place / "config.json").write_text(json.dumps(facts))
    return place


def curve(seed: int, returns: list[list[float]]) -> RunCurve:
    steps = np.arange(len(returns)) * 100
    return RunCurve("madqn", "x", seed, steps, tuple(np.asarray(r, np.float64) for r in returns))


def test_reads_a_run_that_still_goes_on(tmp_path: pathlib.Path) -> None:
    place = write(tmp_path / "run")
    with (place / "metrics.jsonl").open("a") as file:
        file.write('{"kind": "evaluation", "step": 300, "retu')
    (run,) = read_runs(place)
    assert run.steps.tolist() == [0, 100, 200]
    assert run.returns[1].tolist() == [100 + episode for episode in range(8)]


def test_one_run_varies_over_episodes() -> None:
    found = band([curve(4, [[1, 2, 3, 4, 5, 6], [2, 2, 2, 2, 2, 2]])])
    assert found.label == "madqn, seed 4: mean of 6 episodes, 95 % interval"
    assert found.middle.tolist() == [3.5, 2.0]
    assert 1 < found.low[0] < 3.5 < found.high[0] < 6
    assert (found.low[1], found.high[1]) == (2, 2)


def test_several_runs_vary_over_seeds_at_the_steps_they_share() -> None:
    runs = [curve(seed, [[seed, seed + 2], [10 * seed]]) for seed in range(3)]
    runs.append(curve(3, [[3, 5]]))
    found = band(runs)
    assert found.label == "madqn: mean of 4 seeds, least to greatest"
    assert found.steps.tolist() == [0]
    assert (found.low[0], found.middle[0], found.high[0]) == (1, 2.5, 4)


def test_interquartile_mean_drops_the_extremes() -> None:
    runs = [curve(seed, [[value]]) for seed, value in enumerate([-1000, 1, 2, 3, 4, 5, 6, 1000])]
    found = band(runs, "iqm")
    assert found.middle.tolist() == [3.5]
    assert found.label == "madqn: interquartile mean of 8 seeds, 95 % interval"


def test_the_interval_is_that_of_the_mean() -> None:
    values = np.random.default_rng(1).normal(3.0, 2.0, size=400)
    low, high = interval_of(values)
    assert low == pytest.approx(values.mean() - 1.96 * 2 / 20, abs=0.05)
    assert high == pytest.approx(values.mean() + 1.96 * 2 / 20, abs=0.05)
    assert interval_of(values) == (low, high)


def test_a_picture_with_several_systems_and_lines(tmp_path: pathlib.Path) -> None:
    runs = [write(tmp_path / f"{s}{i}", i, system=s) for s in ("madqn", "qmix") for i in range(3)]
    for name in ("a/curve.png", "curve.svg"):
        picture = learning_curve(
            runs, tmp_path / name, aggregate="iqm", random_return=-5.0, best_return=250.0
        )
        assert picture == tmp_path / name
        assert picture.stat().st_size > 1000
    drawn = picture.read_text()
    assert "Okabe" not in drawn
    assert "#0072b2" in drawn.lower()


@pytest.mark.parametrize(
    ("steps", "options", "message"),
    [
        ((), {}, "has no evaluation yet"),
        ((0,), {"aggregate": "man"}, "unknown aggregate 'man'; did you mean 'mean'?"),
        ((0,), {"output": "curve.pgn"}, "cannot be written"),
    ],
)
def test_refused(tmp_path: pathlib.Path, steps: Any, options: Any, message: str) -> None:
    place = write(tmp_path / "run", steps=steps)
    output = tmp_path / options.pop("output", "curve.png")
    with pytest.raises(ConfigurationError, match=message.replace("?", r"\?")):
        learning_curve([place], output, **options)


def test_runs_without_a_step_in_common(tmp_path: pathlib.Path) -> None:
    places = [write(tmp_path / "a", 0, steps=(0,)), write(tmp_path / "b", 1, steps=(5,))]
    with pytest.raises(ConfigurationError, match="no evaluation step in common"):
        learning_curve(places, tmp_path / "curve.png")


def curves(places: list[pathlib.Path]) -> list[RunCurve]:
    return [run for place in places for run in read_runs(place)]


def pooled(places: list[pathlib.Path]) -> list[tuple[str, list[int]]]:
    pools = pools_of(curves(places))
    return [(pool.name, [run.seed for run in pool.runs]) for pool in pools]


def test_only_runs_of_equal_configuration_are_seeds_of_one_curve(tmp_path: pathlib.Path) -> None:
    def runs(name: str, rate: float) -> list[pathlib.Path]:
        return [
            write(
                tmp_path / f"{name}-seed{seed}",
                seed,
                config={"components": {"adam": f"Adam({rate}, <function f at 0x7f{seed}>)"}},
            )
            for seed in (0, 1)
        ]

    slow, fast = runs("slow", 1e-4), runs("fast", 1e-2)
    assert pooled(slow) == [("", [0, 1])]
    assert pooled(slow + fast) == [("slow", [0, 1]), ("fast", [0, 1])]
    assert pooled([slow[0], fast[1]]) == [("slow-seed0", [0]), ("fast-seed1", [1])]
    drawn = learning_curve(slow + fast, tmp_path / "curve.svg")
    assert drawn.stat().st_size > 1000
    with pytest.raises(ConfigurationError, match="configurations differ"):
        band(curves([slow[0], fast[1]]))
    label = band(curves(slow), name="slow").label
    assert label == "madqn (slow): mean of 2 seeds, least to greatest"


def test_a_seed_that_comes_twice_is_no_sample(tmp_path: pathlib.Path) -> None:
    places = [write(tmp_path / name / "run", seed) for name, seed in (("a", 0), ("b", 0), ("c", 1))]
    assert pooled(places) == [("a/run", [0]), ("b/run", [0]), ("c/run", [1])]
    assert pooled([places[0], places[0], places[2]]) == [("", [0, 1])]
    with pytest.raises(ConfigurationError, match="two have the same seed"):
        band(curves(places))


def test_seeds_that_were_trained_together_are_seeds_of_one_curve(tmp_path: pathlib.Path) -> None:
    together = write(tmp_path / "together", 3, steps=(), config={"num_seeds": 2})
    with (together / "metrics.jsonl").open("a") as file:
        for step in (0, 100):
            seeds = [[step, step + 2.0], [step + 4.0, None]]
            line = {"kind": "evaluation", "step": step, "returns": [], "seed_returns": seeds}
            file.write(json.dumps(line) + "\n")
    alone = write(tmp_path / "alone", 9, steps=(0, 100), config={"num_seeds": 1})
    assert pooled([together]) == [("", [3, 4])]
    assert pooled([together, alone]) == [("", [3, 4, 9])]
    found = band(read_runs(together))
    assert found.label == "madqn: mean of 2 seeds, least to greatest"
    assert (found.low.tolist(), found.high.tolist()) == ([1, 101], [4, 104])
