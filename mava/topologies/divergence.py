"""Says where training stopped being finite."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from mava.types import Array, EnvironmentSpec


def diagnosis(spec: EnvironmentSpec, metrics: Mapping[str, Array], where: str) -> str:
    """Names the agents whose share of a loss is not finite, else the metrics that are not,
    else the parameters."""
    remedy = "lower the learning rate, clip gradients, or find the step with jit=False"
    for name, value in metrics.items():
        if "/by_agent/" in name:
            loss, group = name.split("/")[0], name.rsplit("/", 1)[1]
            finite = np.isfinite(np.asarray(value))
            bad = [str(a) for a, ok in zip(spec[group].agents, finite, strict=True) if not ok]
            if bad:
                return f"{loss} is not finite at {where} for {', '.join(bad)}; {remedy}"
    bad = [name for name, value in metrics.items() if not np.all(np.isfinite(value))]
    return f"{', '.join(bad) or 'the parameters'} not finite at {where}; {remedy}"
