"""Evaluators."""

from __future__ import annotations

import dataclasses

from mava.core.evaluation import ActFunction, EpisodeRunner, Evaluation
from mava.core.lifecycle import Evaluate
from mava.errors import ConfigurationError


@dataclasses.dataclass(frozen=True)
class Evaluator(Evaluate):
    """Runs whole episodes of an act function and reports their returns and lengths.

    Attributes:
        every: environment steps of training between evaluations; ``None`` for before and after
            training only.
        episodes: counted exactly, whatever the number of environments.

    Raises:
        ConfigurationError: for fewer than 1 episode or step.
    """

    every: int | None = 10_000
    episodes: int = 32

    def __post_init__(self) -> None:
        if self.episodes < 1 or (self.every is not None and self.every < 1):
            raise ConfigurationError(
                f"{self.name} has every={self.every} and episodes={self.episodes}; both must be "
                "at least 1"
            )

    def evaluate(self, act: ActFunction, environment: EpisodeRunner, seed: int) -> Evaluation:
        return Evaluation.of(environment.run(act, self.episodes, seed))
