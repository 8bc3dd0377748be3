"""``mava render``."""

from __future__ import annotations

import pathlib

from absl import flags as absl_flags

from mava.cli import flags
from mava.errors import ConfigurationError

USAGE = "mava render RUN_DIR [--out=FILE] [--flag=value]..."
SUMMARY = (
    "Writes a video of a run's greedy policy in its environment, a frame for each step. The same "
    "seed gives the same episodes, which are those of mava evaluate."
)
DEFAULT = "policy.gif"


def define(values: flags.FlagValues) -> None:
    place = f"the video; .gif, or .mp4 with ffmpeg (default: {DEFAULT} in the run's directory)"
    absl_flags.DEFINE_string("out", None, place, flag_values=values)
    absl_flags.DEFINE_integer(
        "episodes", 1, "one after the other", lower_bound=1, flag_values=values
    )
    absl_flags.DEFINE_integer("seed", 0, "of the episodes", lower_bound=0, flag_values=values)
    absl_flags.DEFINE_string(
        "policy",
        "best",
        "the best one by mean return in evaluation, or the last",
        flag_values=values,
    )
    absl_flags.DEFINE_integer(
        "seed_index",
        0,
        "of the runs that were trained together, from 0",
        lower_bound=0,
        flag_values=values,
    )
    absl_flags.DEFINE_integer(
        "fps", 10, "steps per second", lower_bound=1, upper_bound=50, flag_values=values
    )
    absl_flags.DEFINE_integer(
        "max_steps",
        500,
        "an episode is left after so many",
        lower_bound=1,
        flag_values=values,
    )
    absl_flags.DEFINE_boolean(
        "json", False, "print one JSON object on standard output", flag_values=values
    )


def run(values: flags.FlagValues, arguments: list[str]) -> int:
    if len(arguments) != 1:
        given = f"and got {len(arguments)}: {' '.join(arguments)}" if arguments else "and got none"
        raise ConfigurationError(f"mava render needs one run directory, {given}")
    import mava
    from mava.cli.output import clean_stdout, print_json

    (run_dir,) = arguments
    with clean_stdout(values.json):
        rendering = mava.render(
            run_dir,
            values.out or pathlib.Path(run_dir) / DEFAULT,
            episodes=values.episodes,
            seed=values.seed,
            policy=values.policy,
            fps=values.fps,
            max_steps=values.max_steps,
            seed_index=values.seed_index,
        )
    if values.json:
        print_json(rendering.as_json())
        return 0
    shown = zip(rendering.returns, rendering.lengths, strict=True)
    for index, (total, length) in enumerate(shown):
        print(f"episode {index}: return {total:.4g} in {length} steps")
    if rendering.cut:
        print(f"left before the end: {rendering.cut}; see --max_steps")
    print(rendering.path)
    return 0
