"""``mava train``."""

from __future__ import annotations

import pathlib
import shlex
from typing import TYPE_CHECKING, Any

from absl import flags as absl_flags

from mava.cli import flags, settings
from mava.errors import ConfigurationError

if TYPE_CHECKING:
    from mava.core.system import System
    from mava.launcher.result import Result

USAGE = "mava train --system=NAME --env=NAME --total_steps=N [--flag=value]..."
SUMMARY = (
    "Trains a system. With --resume a run goes on (bit for bit, unless it is distributed), and "
    "--run_dir alone says which: "
    "what is not given is as it was. Progress goes to standard error."
)
_REMEMBERED = ("topology", "seed", "total_steps")
_OF_TOPOLOGIES = ("jit", "num_devices", "num_seeds", "executors", "nodes")


def define(values: flags.FlagValues) -> None:
    settings.define(values)
    absl_flags.DEFINE_string("topology", "single_process", "how it is laid out", flag_values=values)
    absl_flags.DEFINE_integer(
        "total_steps",
        None,
        "environment steps, of all environments together",
        lower_bound=1,
        flag_values=values,
    )
    absl_flags.DEFINE_integer(
        "seed", 0, "of everything random", lower_bound=0, upper_bound=2**32 - 1, flag_values=values
    )
    absl_flags.DEFINE_string(
        "run_dir", None, "results (default: runs/SYSTEM-ENV-seedSEED)", flag_values=values
    )
    absl_flags.DEFINE_boolean("resume", False, "go on with the run in run_dir", flag_values=values)
    absl_flags.DEFINE_boolean(
        "jit",
        True,
        "false runs plain Python, so that breakpoints stop (single_process)",
        flag_values=values,
    )
    absl_flags.DEFINE_integer(
        "num_devices", 1, "devices that share a run (compiled)", lower_bound=1, flag_values=values
    )
    absl_flags.DEFINE_integer(
        "num_seeds",
        1,
        "runs trained together (compiled)",
        lower_bound=1,
        flag_values=values,
    )
    absl_flags.DEFINE_integer(
        "executors", 2, "executor nodes (distributed)", lower_bound=1, flag_values=values
    )
    absl_flags.DEFINE_string(
        "nodes", "processes", "or threads, to debug them together (distributed)", flag_values=values
    )
    absl_flags.DEFINE_boolean(
        "json", False, "print the result as one JSON object on standard output", flag_values=values
    )


def run(values: flags.FlagValues, arguments: list[str]) -> int:
    flags.no_more("train", arguments)
    from mava.cli.output import clean_stdout, print_json

    with clean_stdout(values.json):
        result = _train(values)
    if values.json:
        print_json(result.as_json())
    else:
        print(_summary(result))
    return 130 if result.interrupted else 0


def _train(values: flags.FlagValues) -> Result:
    remembered = values.resume and not (values["system"].present or values["env"].present)
    if remembered:
        flags.require("train --resume", values, "run_dir")
        for name in ("env_args", "env_arg"):
            if values[name].value:
                raise ConfigurationError(
                    f"--{name} needs --system, --env and --total_steps: by --resume and --run_dir "
                    f"alone the environment is the one that the run has"
                )
    else:
        flags.require("train", values, "system", "env", "total_steps")
    _check_topology(values.topology)
    names = (*_REMEMBERED, *_OF_TOPOLOGIES)
    options: dict[str, Any] = {name: values[name].value for name in names}
    if remembered:
        system, options = _recall(values, options)
    else:
        system = settings.make_system(values)
    import mava

    defaults = {name: values[name].default for name in _OF_TOPOLOGIES}
    return mava.launch(
        system,
        **{name: x for name, x in options.items() if name not in defaults or x != defaults[name]},
        run_dir=values.run_dir or _default_run_dir(system, values.seed),
        resume=values.resume,
    )


def _check_topology(name: str) -> None:
    from mava.errors import nearest
    from mava.launcher.launch import TOPOLOGIES

    if name not in TOPOLOGIES:
        raise ConfigurationError(f"unknown topology {name!r}{nearest(name, TOPOLOGIES)}")


def _recall(values: flags.FlagValues, given: dict[str, Any]) -> tuple[System, dict[str, Any]]:
    """The system of the run to go on with, and what was not given anew."""
    from mava.launcher.run_dir import RunDirectory

    directory = RunDirectory(pathlib.Path(values.run_dir).expanduser())
    if directory.checkpoints.last_step is None:
        raise ConfigurationError(f"{values.run_dir} has no checkpoint to resume from")
    config = directory.load_config()
    return directory.load_system().set(*(values["set"].value or ())), {
        name: value if values[name].present else config.get(name, value)
        for name, value in given.items()
    }


def _default_run_dir(system: System, seed: int) -> str:
    from mava.components.observers.records import safe

    return f"runs/{system.name}-{safe(system.environment.name)}-seed{seed}"


def _summary(result: Result) -> str:
    from mava.cli.output import describe_evaluation
    from mava.components.observers.terminal import duration

    lines = [
        f"{result.environment_steps:,} environment and {result.trainer_steps:,} trainer steps in "
        f"{duration(result.wall_seconds)}, {result.steps_per_second:,.0f} steps/s"
    ]
    named = [("last evaluation", evaluation) for evaluation in result.evaluations[-1:]]
    named += [("best policy", result.absolute_metric)] if result.absolute_metric else []
    lines += [f"{name:<16}{describe_evaluation(evaluation)}" for name, evaluation in named]
    run_dir = shlex.quote(str(result.run_dir))
    if result.interrupted:
        lines.append(f"interrupted; go on with: mava train --resume --run_dir={run_dir}")
    else:
        lines.append(f"results in {run_dir}; see also: mava plot {run_dir}")
    return "\n".join(lines)
