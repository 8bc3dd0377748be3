"""``mava plot``."""

from __future__ import annotations

import pathlib

from absl import flags as absl_flags

from mava.cli import flags
from mava.errors import ConfigurationError

USAGE = "mava plot RUN_DIR... [--output=FILE]"
SUMMARY = (
    "Draws the return in evaluation over environment steps. Runs of one system on one environment "
    "become one curve, whose interval is over seeds; a single run's is over episodes."
)
DEFAULT = "learning_curve.png"


def define(values: flags.FlagValues) -> None:
    place = f"the picture; .png, .pdf or .svg (default: {DEFAULT} in the run's directory, or here)"
    absl_flags.DEFINE_string("output", None, place, flag_values=values)
    absl_flags.DEFINE_string("aggregate", "mean", "mean or iqm (interquartile)", flag_values=values)
    absl_flags.DEFINE_float(
        "random_return", None, "the random policy's, a line", flag_values=values
    )
    absl_flags.DEFINE_float("best_return", None, "the best known, a line", flag_values=values)
    absl_flags.DEFINE_boolean("json", False, "print one JSON object", flag_values=values)


def run(values: flags.FlagValues, arguments: list[str]) -> int:
    if not arguments:
        raise ConfigurationError("mava plot needs at least one run directory")
    from mava.plotting import learning_curve

    folder = pathlib.Path(arguments[0] if len(arguments) == 1 else ".")
    picture = learning_curve(
        arguments,
        values.output or folder / DEFAULT,
        aggregate=values.aggregate,
        random_return=values.random_return,
        best_return=values.best_return,
    )
    if values.json:
        from mava.cli.output import print_json

        print_json({"output": str(picture)})
    else:
        print(picture)
    return 0
