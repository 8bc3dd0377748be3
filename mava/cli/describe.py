"""``mava describe``."""

from __future__ import annotations

from mava.cli import flags, settings
from mava.types import EnvironmentSpec

USAGE = "mava describe --system=NAME --env=NAME [--set=name=value]..."
SUMMARY = (
    "Checks the wiring of a system on an environment, and shows its agents, its hooks in the order "
    "in which they run, and its components with every field that --set can change by "
    "component.field=value. Trains nothing."
)
define = settings.define


def run(values: flags.FlagValues, arguments: list[str]) -> int:
    flags.no_more("describe", arguments)
    flags.require("describe", values, "system", "env")
    system = settings.make_system(values)
    from mava.core.system import build

    program = build(system)
    print(system.describe())
    print(_agents(program.spec))
    return 0


def _agents(spec: EnvironmentSpec) -> str:
    lines = ["  agents"]
    for group in spec.groups:
        agents = ", ".join(map(str, group.agents))
        observation = f"{group.observation.dtype}{list(group.observation.shape)}"
        lines.append(f"    {group.name}: {agents}")
        lines.append(f"      observation {observation}, actions {group.actions}")
    return "\n".join(lines)
