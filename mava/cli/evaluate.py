"""``mava evaluate``."""

from __future__ import annotations

import dataclasses
import pathlib
from typing import Any

from absl import flags as absl_flags

from mava.cli import flags
from mava.errors import ConfigurationError, nearest

USAGE = "mava evaluate --run_dir=DIR [--episodes=N] [--flag=value]..."
SUMMARY = (
    "Runs whole episodes of a run's greedy policy in its environment, and shows the mean over "
    "agents of their undiscounted returns. The same seed gives the same episodes."
)
_POLICIES = ("best", "last")


def define(values: flags.FlagValues) -> None:
    absl_flags.DEFINE_string("run_dir", None, "the directory of a run", flag_values=values)
    absl_flags.DEFINE_integer(
        "episodes", 32, "how many, exactly", lower_bound=1, flag_values=values
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
    absl_flags.DEFINE_boolean("jit", True, "false runs plain Python", flag_values=values)
    absl_flags.DEFINE_boolean(
        "json", False, "print one JSON object on standard output", flag_values=values
    )


def run(values: flags.FlagValues, arguments: list[str]) -> int:
    flags.no_more("evaluate", arguments)
    flags.require("evaluate", values, "run_dir")
    if values.policy not in _POLICIES:
        raise ConfigurationError(
            f"unknown policy {values.policy!r}{nearest(values.policy, _POLICIES)}"
        )
    from mava.cli.output import clean_stdout, describe_evaluation, print_json

    with clean_stdout(values.json):
        evaluation = _evaluate(values)
    if values.json:
        record: dict[str, Any] = {"run_dir": values.run_dir, "policy": values.policy}
        print_json({**record, "episodes": len(evaluation.returns), **evaluation.as_json()})
    else:
        print(
            f"{values.policy} policy, step {evaluation.step:,}: {describe_evaluation(evaluation)}"
        )
        for name, value in evaluation.metrics.items():
            print(f"  {name} {value:.4g}")
    return 0


def _evaluate(values: flags.FlagValues) -> Any:
    import mava
    from mava.core.evaluation import Evaluation
    from mava.core.lifecycle import Evaluate
    from mava.launcher.run_dir import RunDirectory
    from mava.topologies.host_episodes import HostEpisodes

    policy = mava.load_policy(values.run_dir, values.policy, values.seed_index)
    system = RunDirectory(pathlib.Path(values.run_dir).expanduser()).load_system()
    act = policy.act_function._replace(jit=values.jit)
    environments = HostEpisodes(system.environment.build)
    try:
        # The run's own evaluator decides what an evaluation is, if the episodes can be chosen.
        for component in system:
            if isinstance(component, Evaluate) and hasattr(component, "episodes"):
                evaluator: Any = component
                asked = dataclasses.replace(evaluator, episodes=values.episodes)
                return asked.evaluate(act, environments, values.seed).at(policy.step)
        return Evaluation.of(environments.run(act, values.episodes, values.seed), policy.step)
    finally:
        environments.close()
