"""The evaluations of runs, read from their directories, and which runs are seeds of one curve."""

from __future__ import annotations

import dataclasses
import itertools
import json
import os
import pathlib
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from mava.errors import ConfigurationError

_OF_ONE_RUN = ("kind", "step", "seed", "num_seeds", "total_steps")
_ADDRESS = re.compile(r" at 0x[0-9a-f]+")


@dataclasses.dataclass(frozen=True)
class RunCurve:
    """The evaluations of one run.

    Attributes:
        steps: int ``[evaluations]``, increasing: environment steps of training.
        returns: per evaluation, the episodes' returns, float64 ``[episodes]``.
        configuration: all that is recorded of what was run, but for the seeds and the number of
            steps; equal texts are equal configurations.
        directory: where the run is.
    """

    system: str
    environment: str
    seed: int
    steps: np.ndarray
    returns: tuple[np.ndarray, ...]
    configuration: str = ""
    directory: str = ""


class Pool(NamedTuple):
    """Runs that make one curve; ``name`` tells it from others of the system, and is empty where
    there are none."""

    runs: list[RunCurve]
    name: str


def read_runs(run_dir: str | os.PathLike[str]) -> list[RunCurve]:
    """Reads the evaluations of a run that has a ``MetricsLog``; it may still be going on. Seeds
    that were trained together are a curve each.

    Raises:
        ConfigurationError: there is no ``metrics.jsonl``, it is not a run's, or has no evaluation.
    """
    place = pathlib.Path(run_dir).expanduser()
    path = place / "metrics.jsonl"
    if not path.is_file():
        raise ConfigurationError(
            f"there is no {path}; give the directory of a run with a metrics log"
        )
    records = _records(path)
    if not records or records[0].get("kind") != "run":
        raise ConfigurationError(f"{path} does not begin with the line that names the run")
    evaluations = [r for r in records if r.get("kind") == "evaluation"]
    configuration = _configuration(records[0], place / "config.json")
    curves = []
    for index in range(len(_by_seed(evaluations[-1])) if evaluations else 0):
        found = {r["step"]: _finite(_by_seed(r)[index]) for r in evaluations}
        steps = sorted(step for step, returns in found.items() if returns.size)
        if steps:
            curve = RunCurve(
                system=records[0]["system"],
                environment=records[0]["environment"],
                seed=records[0]["seed"] + index,
                steps=np.asarray(steps),
                returns=tuple(found[step] for step in steps),
                configuration=configuration,
                directory=str(place.resolve()),
            )
            curves.append(curve)
    if not curves:
        raise ConfigurationError(f"{path} has no evaluation yet")
    return curves


def _by_seed(evaluation: dict[str, Any]) -> list[list[float | None]]:
    """The episodes' returns of each seed."""
    seeds: list[list[float | None]] = evaluation.get("seed_returns", [evaluation["returns"]])
    return seeds


def pools_of(runs: Sequence[RunCurve]) -> list[Pool]:
    """Runs of one system on one environment, with equal configurations and different seeds, form a
    pool; where a seed comes twice, each of the runs is one of its own. A directory given twice
    counts once."""
    once = {(run.directory or id(run), run.seed): run for run in runs}
    systems: dict[tuple[str, str], dict[str, list[RunCurve]]] = {}
    for run in once.values():
        alike = systems.setdefault((run.environment, run.system), {})
        alike.setdefault(run.configuration, []).append(run)
    pools = []
    for alike in systems.values():
        parts = [part for group in alike.values() for part in _different_seeds(group)]
        pools += [Pool(*pair) for pair in zip(parts, _names(parts), strict=True)]
    return pools


def _different_seeds(runs: list[RunCurve]) -> list[list[RunCurve]]:
    different = len({run.seed for run in runs}) == len(runs)
    return [runs] if different else [[run] for run in runs]


def _names(parts: list[list[RunCurve]]) -> list[str]:
    if len(parts) == 1:
        return [""]
    base = os.path.commonpath([run.directory for part in parts for run in part])
    places = [[os.path.relpath(run.directory, base) for run in part] for part in parts]
    names = [
        place[0] if len(place) == 1 else re.sub(r"([-_./ ]|seed)+$", "", _beginning(place))
        for place in places
    ]
    if all(names) and len(set(names)) == len(names):
        return names
    return [
        place[0] if len(place) == 1 else f"{place[0]} and {len(place) - 1} more" for place in places
    ]


def _beginning(texts: list[str]) -> str:
    """What all begin with."""
    columns = zip(*texts, strict=False)
    return "".join(c[0] for c in itertools.takewhile(lambda c: len(set(c)) == 1, columns))


def _configuration(header: dict[str, Any], path: pathlib.Path) -> str:
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):  # not every run has one
        config = {}
    parts = [
        {key: value for key, value in part.items() if key not in _OF_ONE_RUN}
        for part in (header, config)
    ]
    # Functions print their address, another one in each process.
    return _ADDRESS.sub("", json.dumps(parts, sort_keys=True))


def _finite(returns: list[float | None]) -> np.ndarray:
    return np.asarray([value for value in returns if value is not None], np.float64)


def _records(path: pathlib.Path) -> list[dict[str, Any]]:
    records = []
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            records.append(json.loads(line))
        except json.JSONDecodeError:  # the run is writing this line now
            break
    return records
