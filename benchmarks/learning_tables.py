"""Writes the tables and pictures of ``docs/results.md`` from the records of runs."""

from __future__ import annotations

import json
import pathlib
import statistics
from collections.abc import Sequence
from typing import Any

from learning_tasks import EPISODES, TASKS, Task, make_system

from mava.cli.quickstart import random_evaluation
from mava.plotting import learning_curve

DOCS = pathlib.Path(__file__).parents[1] / "docs"
BEGIN, END = "<!-- learning table -->", "<!-- end of learning table -->"


def write(runs: pathlib.Path) -> None:
    """Replaces what stands between the marks in ``docs/results.md``, and the pictures beside it."""
    sections = []
    for name, task in TASKS.items():
        records = _records(runs / name)
        if records:
            sections.append(_section(name, task, records, runs))
    page = DOCS / "results.md"
    text = page.read_text()
    head, _, rest = text.partition(BEGIN)
    _, _, tail = rest.partition(END)
    page.write_text(f"{head}{BEGIN}\n\n" + "\n\n".join(sections) + f"\n\n{END}{tail}")
    print(f"wrote {page}")


def _section(name: str, task: Task, records: list[dict[str, Any]], runs: pathlib.Path) -> str:
    chance = _random_return(task, runs / name)
    directories = sorted(path.parent / "run" for path in (runs / name).glob("*/*/record.json"))
    picture = learning_curve(
        directories, DOCS / "curves" / f"{name}.png", random_return=round(chance, 2)
    )
    steps = sorted({record["environment_steps"] for record in records})
    options = "".join(f", {key}={value}" for key, value in sorted(task.kwargs.items()))
    budget = " and ".join(f"{count:,}" for count in steps)
    compared = ["converted", "published"] if task.published else []
    lines = [
        f"### {name}: `{task.environment}`{options}",
        "",
        f"{budget} environment steps, discount {task.discount}; the random policy's return is "
        f"{chance:.2f}.{_conversion(task)}{_shown(task)}",
        "",
        _cells(["system", "seeds", "at the end", "best policy", *compared, "minutes"]),
        _cells(["---"] * (5 + len(compared))),
    ]
    by_system: dict[str, list[dict[str, Any]]] = {}
    for record in records:
        by_system.setdefault(record["system"], []).append(record)
    for system in [s for s in _order() if s in by_system]:
        lines.append(_row(system, task, by_system[system]))
    return "\n".join([*lines, "", f"![Learning curves of {name}](curves/{picture.name})"])


def _row(system: str, task: Task, records: list[dict[str, Any]]) -> str:
    if task.metric is None:
        last = [record["evaluations"][-1]["mean_return"] for record in records]
        best = [record["absolute_metric"]["mean_return"] for record in records]
    else:
        last = [record["metrics"][-1][task.metric] for record in records]
        best = [record["best_metrics"][task.metric] for record in records]
    minutes = statistics.mean(record["cpu_seconds"] for record in records) / 60
    compared = []
    if task.published:
        converted = f"{task.scale * statistics.mean(best) + task.shift:.2f}"
        known = task.published.get(system)
        compared = [converted, "" if known is None else f"{known:g}"]
    cells = [
        f"`{system}`",
        str(len(records)),
        _interval(last),
        _interval(best),
        *compared,
        f"{minutes:.1f}",
    ]
    return _cells(cells)


def _cells(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _interval(values: Sequence[float]) -> str:
    mean = f"{statistics.mean(values):.2f}"
    return mean if len(values) == 1 else f"{mean} [{min(values):.2f}, {max(values):.2f}]"


def _conversion(task: Task) -> str:
    if not task.published:
        return ""
    shift = f" {'-' if task.shift < 0 else '+'} {abs(task.shift):g}" if task.shift else ""
    return f" Converted: {task.scale:g} times the return{shift}."


def _shown(task: Task) -> str:
    metric = "" if task.metric is None else f" The table shows the share of episodes {task.metric}."
    return metric + ("" if task.topology == "single_process" else f" Topology: {task.topology}.")


def _order() -> list[str]:
    return list(dict.fromkeys(system for task in TASKS.values() for system in task.systems))


def _records(place: pathlib.Path) -> list[dict[str, Any]]:
    return [json.loads(path.read_text()) for path in sorted(place.glob("*/*/record.json"))]


def _random_return(task: Task, place: pathlib.Path) -> float:
    """Of the random policy, over as many episodes as the best policies have."""
    path = place / "random.json"
    if not path.exists():
        system = make_system(task.systems[0], task, task.steps)
        path.write_text(json.dumps(random_evaluation(system, 10 * EPISODES).mean_return))
    return float(json.loads(path.read_text()))
