"""Names and numbers as files and other tools can take them."""

from __future__ import annotations

import json
import math
import os
import pathlib
import re
from collections.abc import Hashable, Iterable, Mapping

from mava.core.evaluation import Evaluation
from mava.core.observing import Progress
from mava.types import EnvironmentSpec


def safe(name: Hashable) -> str:
    """A name of letters, digits, ``_``, ``.`` and ``-``, for keys, tags and files.

    >>> safe("red/agent 1"), safe(3)
    ('red_agent_1', '3')
    """
    return re.sub(r"[^\w.-]+", "_", str(name), flags=re.ASCII) or "_"


def unique(names: Iterable[Hashable]) -> list[str]:
    """Safe names in the same order; those that would be equal get their position.

    >>> unique(["red/1", "red 1", 2])
    ['red_1', 'red_1.1', '2']
    """
    labels: list[str] = []
    for position, name in enumerate(names):
        label = safe(name)
        labels.append(f"{label}.{position}" if label in labels else label)
    return labels


def finite(value: float) -> float | None:
    """The number, or ``None`` (JSON's ``null``) for what is not one."""
    if isinstance(value, int):
        return value
    return float(value) if math.isfinite(value) else None


def training_numbers(metrics: Mapping[str, float], progress: Progress) -> dict[str, float]:
    """By name: the training metrics, the episodes' mean return where some ended, and the counters.
    ``/`` in a metric's name stays: it separates the component from its metric."""
    numbers = {"/".join(map(safe, name.split("/"))): value for name, value in metrics.items()}
    if progress.mean_return is not None:
        numbers["mean_return"] = progress.mean_return
    return {**numbers, "trainer_steps": progress.trainer_steps, "episodes": progress.episodes}


def evaluation_numbers(evaluation: Evaluation, spec: EnvironmentSpec) -> dict[str, float]:
    """By name: ``mean_return``, ``mean_length``, ``agent_return/<group>/<agent>`` and
    ``environment/<metric>``."""
    lengths = evaluation.lengths
    numbers = {
        "mean_return": evaluation.mean_return,
        "mean_length": sum(lengths) / len(lengths) if lengths else math.nan,
    }
    for label, group in zip(unique(spec.group_names), spec.groups, strict=True):
        returns = evaluation.agent_returns.get(group.name, ())
        for agent, value in zip(unique(group.agents), returns, strict=False):
            numbers[f"agent_return/{label}/{agent}"] = value
    names = unique(evaluation.metrics)
    for name, value in zip(names, evaluation.metrics.values(), strict=True):
        numbers[f"environment/{name}"] = value
    return numbers


def dumps(record: object, indent: int | None = None) -> str:
    """JSON that every reader takes.

    Raises:
        ValueError: a number that is not finite.
    """
    return json.dumps(record, allow_nan=False, indent=indent)


def write_atomically(path: pathlib.Path, text: str) -> None:
    """Readers see the old text or the new one, never a part."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.partial")
    partial.write_text(text, encoding="utf-8")
    os.replace(partial, path)
