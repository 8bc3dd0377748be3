"""Policies and critics linear in what is observed, so that garbage there reaches the losses."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from mava.core.contexts import UnrolledValues
from mava.testing import builders

GROUP = builders.group_spec(2, (3,), 4)
SPEC = builders.environment_spec(GROUP)
ALIVE = np.asarray(builders.batch(SPEC)["alive"]["agents"])


def filled(batch: Any, garbage: float) -> Any:
    """The batch with garbage in every number of dead agents."""

    def fill(x: Any) -> Any:
        if not jnp.issubdtype(x.dtype, jnp.floating):
            return x
        alive = batch["alive"]["agents"].reshape(*x.shape[:3], *[1] * (x.ndim - 3))
        return jnp.where(alive, x, garbage)

    fields = ("observation", "next_observation", "reward", "extras")
    fields += ("advantage", "value", "value_target")
    return {**batch, **{name: jax.tree.map(fill, batch[name]) for name in fields}}


def linear_policy(batch_to_scores: Any = None) -> Any:
    """Scores linear in the observation, so that garbage there reaches the loss."""

    def unroll(params: Any, batch: Any) -> Any:
        x = batch["observation"]["agents"]
        scores = jnp.einsum("btno,oa->btna", x, params["policy"])
        return builders.fixed_scores({"agents": scores}, {})(params, batch)

    return unroll


def linear_critic(params: Any, batch: Any) -> UnrolledValues:
    def of(field: str) -> Any:
        return {"agents": batch[field]["agents"] @ params["critic"]}

    return UnrolledValues(of("observation"), lambda: of("next_observation"))


def parameters() -> Any:
    rng = np.random.default_rng(0)
    return {
        "policy": jnp.asarray(rng.normal(size=(3, 4)), jnp.float32),
        "critic": jnp.asarray(rng.normal(size=3), jnp.float32),
    }


def context() -> Any:
    return builders.learn_context(SPEC, unroll=linear_policy(), value=linear_critic)
