"""What a run gives back."""

from __future__ import annotations

import dataclasses
import pathlib
from typing import Any

from mava.core.evaluation import Evaluation
from mava.launcher.policy import Policy


@dataclasses.dataclass(frozen=True, repr=False)
class Result:
    """What ``launch`` returns.

    Attributes:
        evaluations: in order; those before a resumption too.
        environment_steps: transitions of all environments together that were really made.
        trainer_steps: trainer steps done.
        episodes: training episodes ended.
        absolute_metric: the best policy on ten times the episodes; ``None`` where the run was
            interrupted, or has no evaluator.
        run_dir: where checkpoints are; ``None`` when there are none.
        wall_seconds: of this call, compiling and evaluation included.
        steps_per_second: environment steps of this call by the seconds of training alone.
        reason: why the run ended: ``"total_steps"``, ``"interrupted"``, or the sentence of a stop
            condition.
        policy: the best policy (the last one, without an evaluator), ready to act; of runs trained
            together, that of the run which did best.
    """

    evaluations: tuple[Evaluation, ...]
    environment_steps: int
    trainer_steps: int
    episodes: int
    absolute_metric: Evaluation | None
    run_dir: pathlib.Path | None
    wall_seconds: float
    steps_per_second: float
    reason: str
    policy: Policy = dataclasses.field(compare=False)

    def __repr__(self) -> str:
        returns = [round(evaluation.mean_return, 3) for evaluation in self.evaluations]
        return (
            f"Result(reason={self.reason!r}, environment_steps={self.environment_steps}, "
            f"mean_returns={returns}, run_dir={str(self.run_dir)!r})"
        )

    @property
    def interrupted(self) -> bool:
        return self.reason == "interrupted"

    def as_json(self) -> dict[str, Any]:
        """What ``mava train --json`` prints."""
        return {
            "environment_steps": self.environment_steps,
            "trainer_steps": self.trainer_steps,
            "evaluations": [_brief(evaluation) for evaluation in self.evaluations],
            "absolute_metric": None
            if self.absolute_metric is None
            else _brief(self.absolute_metric),
            "run_dir": None if self.run_dir is None else str(self.run_dir),
            "wall_seconds": self.wall_seconds,
            "steps_per_second": self.steps_per_second,
        }

    def record(self) -> dict[str, Any]:
        """Everything but policy and directory, for ``from_record``."""
        fields = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        del fields["policy"], fields["run_dir"]
        fields["evaluations"] = [dataclasses.asdict(e) for e in self.evaluations]
        if self.absolute_metric is not None:
            fields["absolute_metric"] = dataclasses.asdict(self.absolute_metric)
        return fields

    @classmethod
    def from_record(cls, record: dict[str, Any], run_dir: pathlib.Path, policy: Policy) -> Result:
        absolute = record["absolute_metric"]
        return cls(
            **{
                **record,
                "evaluations": tuple(map(_evaluation, record["evaluations"])),
                "absolute_metric": None if absolute is None else _evaluation(absolute),
                "run_dir": run_dir,
                "policy": policy,
            }
        )


def _brief(evaluation: Evaluation) -> dict[str, Any]:
    return {
        "step": evaluation.step,
        "mean_return": evaluation.mean_return,
        "returns": list(evaluation.returns),
        **({"seeds": [_brief(one) for one in evaluation.seeds]} if evaluation.seeds else {}),
    }


def _evaluation(record: dict[str, Any]) -> Evaluation:
    return Evaluation(
        step=record["step"],
        returns=tuple(record["returns"]),
        lengths=tuple(record["lengths"]),
        agent_returns={group: tuple(x) for group, x in record["agent_returns"].items()},
        metrics=record["metrics"],
        seeds=tuple(map(_evaluation, record.get("seeds", ()))),
    )
