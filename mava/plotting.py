"""Learning curves from ``metrics.jsonl``, as pictures."""

from __future__ import annotations

import dataclasses
import os
import pathlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from mava.errors import ConfigurationError, nearest
from mava.run_curves import RunCurve, pools_of, read_runs

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Okabe and Ito's palette, which readers with any colour vision can tell apart.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_DASHES = ("-", "--", "-.", ":")
_MARKERS = "osD^vP*"
_BOOTSTRAP = 2000
_FEWEST = 5
"""With fewer values a bootstrap says little, and the interval is from the least to the greatest."""

AGGREGATES = ("mean", "iqm")


@dataclasses.dataclass(frozen=True)
class Band:
    """A curve and its interval, float64 ``[evaluations]`` each; ``label`` says what they are."""

    label: str
    steps: np.ndarray
    middle: np.ndarray
    low: np.ndarray
    high: np.ndarray


def learning_curve(
    run_dirs: Sequence[str | os.PathLike[str]],
    output: str | os.PathLike[str],
    *,
    aggregate: str = "mean",
    random_return: float | None = None,
    best_return: float | None = None,
) -> pathlib.Path:
    """Draws the return in evaluation over environment steps, a panel for each environment.

    Runs of one system on one environment become one curve if their configurations are equal and
    their seeds differ; otherwise each has its own, labelled with its directory. A curve's interval
    is over seeds where there are several, else over episodes: a bootstrapped 95 % one, or least to
    greatest for fewer than five values.

    Args:
        run_dirs: directories of runs.
        output: the picture's file; the ending chooses the format (``.png``, ``.pdf``, ``.svg``).
        aggregate: over seeds or episodes, ``"mean"`` or ``"iqm"`` (interquartile mean).
        random_return: of the random policy, drawn as a line.
        best_return: the best known, drawn as a line.

    Returns:
        Where the picture is.

    Raises:
        ConfigurationError: as ``read_runs``; an unknown aggregate; runs of one curve that have no
            evaluation step in common; or a file that cannot be written.
    """
    if aggregate not in AGGREGATES:
        raise ConfigurationError(f"unknown aggregate {aggregate!r}{nearest(aggregate, AGGREGATES)}")
    bands: dict[str, list[Band]] = {}
    for pool in pools_of([run for run_dir in run_dirs for run in read_runs(run_dir)]):
        drawn = band(pool.runs, aggregate, pool.name)
        bands.setdefault(pool.runs[0].environment, []).append(drawn)
    if not bands:
        raise ConfigurationError("there is no run to plot; give at least one run directory")
    return _draw(bands, random_return, best_return, pathlib.Path(output).expanduser())


def band(runs: Sequence[RunCurve], aggregate: str = "mean", name: str = "") -> Band:
    """The curve of runs of one system on one environment, at the steps that all of them evaluated.

    Args:
        runs: equal but for their seeds.
        aggregate: over seeds, or over the episodes of a single run.
        name: tells the curve from others of the system.

    Raises:
        ConfigurationError: they have no step in common, their configurations differ, or two have
            one seed.
    """
    if len({(run.system, run.environment, run.configuration) for run in runs}) > 1:
        raise ConfigurationError(
            f"runs of {runs[0].system} whose configurations differ are no seeds of one curve"
        )
    if len({run.seed for run in runs}) < len(runs):
        raise ConfigurationError(
            f"of {len(runs)} runs of {runs[0].system} on {runs[0].environment} two have the same "
            f"seed, so they are no sample of it; plot them one by one"
        )
    system = f"{runs[0].system} ({name})" if name else runs[0].system
    middle = _interquartile_mean if aggregate == "iqm" else _mean
    statistic = "interquartile mean" if aggregate == "iqm" else "mean"
    if len(runs) == 1:
        (run,) = runs
        steps, samples = run.steps, list(run.returns)
        episodes = max(len(values) for values in samples)
        label = f"{system}, seed {run.seed}: {statistic} of {_count(episodes, 'episode')}"
    else:
        common = set.intersection(*(set(run.steps.tolist()) for run in runs))
        if not common:
            raise ConfigurationError(
                f"{len(runs)} runs of {runs[0].system} on {runs[0].environment} have no evaluation "
                f"step in common; plot them one by one"
            )
        steps = np.asarray(sorted(common))
        means = [
            {
                step: _mean(values)
                for step, values in zip(run.steps.tolist(), run.returns, strict=True)
            }
            for run in runs
        ]
        samples = [np.asarray([float(run[step]) for run in means]) for step in steps.tolist()]
        label = f"{system}: {statistic} of {_count(len(runs), 'seed')}"
    fewest = min(len(values) for values in samples)
    interval = "95 % interval" if fewest >= _FEWEST else "least to greatest"
    if fewest > 1:
        label = f"{label}, {interval}"
    ends = [interval_of(values, aggregate) for values in samples]
    return Band(
        label=label,
        steps=steps,
        middle=np.asarray([float(middle(values)) for values in samples]),
        low=np.asarray([low for low, _ in ends]),
        high=np.asarray([high for _, high in ends]),
    )


def interval_of(values: np.ndarray, aggregate: str = "mean") -> tuple[float, float]:
    """The bootstrapped 95 % interval of the aggregate; least and greatest below five values.

    Args:
        values: float64 ``[n]``; the same values always give the same interval.
    """
    if len(values) < _FEWEST:
        return float(np.min(values)), float(np.max(values))
    middle = _interquartile_mean if aggregate == "iqm" else _mean
    draws = np.random.default_rng(0).integers(len(values), size=(_BOOTSTRAP, len(values)))
    low, high = np.percentile(middle(np.asarray(values)[draws]), [2.5, 97.5])
    return float(low), float(high)


def _mean(values: np.ndarray) -> np.ndarray:
    return np.asarray(np.mean(values, axis=-1))


def _interquartile_mean(values: np.ndarray) -> np.ndarray:
    """The mean of what is left without the lowest and the highest quarter, over the last axis."""
    ordered = np.sort(values, axis=-1)
    cut = ordered.shape[-1] // 4
    return np.asarray(np.mean(ordered[..., cut : ordered.shape[-1] - cut], axis=-1))


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _draw(
    panels: dict[str, list[Band]],
    random_return: float | None,
    best_return: float | None,
    output: pathlib.Path,
) -> pathlib.Path:
    # A figure of its own, without pyplot: no window system is asked and nothing global changes.
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    columns = min(len(panels), 3)
    rows = -(-len(panels) // columns)
    figure = Figure(figsize=(7.0 * columns, 4.5 * rows), dpi=150, layout="constrained")
    FigureCanvasAgg(figure)
    grid = figure.subplots(rows, columns, squeeze=False).ravel()
    for axes, (environment, bands) in zip(grid, panels.items(), strict=False):
        _draw_panel(axes, environment, bands, random_return, best_return)
    for axes in grid[len(panels) :]:
        axes.remove()
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(output)
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"the picture {output} cannot be written: {error}") from error
    return output


def _draw_panel(
    axes: Axes,
    environment: str,
    bands: list[Band],
    random_return: float | None,
    best_return: float | None,
) -> None:
    from matplotlib.ticker import EngFormatter

    for index, curve in enumerate(bands):
        colour = _COLOURS[index % len(_COLOURS)]
        dashes = _DASHES[index // len(_COLOURS) % len(_DASHES)]
        marker = _MARKERS[index % len(_MARKERS)] if len(curve.steps) <= 40 else ""
        style = {"color": colour, "linestyle": dashes, "marker": marker, "markersize": 3.0}
        axes.plot(curve.steps, curve.middle, label=curve.label, **style)  # type: ignore[arg-type]
        axes.fill_between(curve.steps, curve.low, curve.high, color=colour, alpha=0.2, linewidth=0)
    for value, name, dashes in (
        (best_return, "best known", ":"),
        (random_return, "random policy", "--"),
    ):
        if value is not None:
            axes.axhline(
                value,
                color="#555555",
                linestyle=dashes,
                linewidth=1.2,
                label=f"{name}: {value:.4g}",
            )
    axes.set_title(environment)
    axes.set_xlabel("environment steps")
    axes.set_ylabel("evaluation return\n(mean over agents of undiscounted episode return)")
    axes.xaxis.set_major_formatter(EngFormatter(sep=""))
    axes.grid(alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(loc="best", fontsize="small", framealpha=0.8)
