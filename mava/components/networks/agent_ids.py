"""Tells agents that share parameters apart."""

from __future__ import annotations

import dataclasses

import jax.numpy as jnp

from mava.core.contexts import GroupContext
from mava.core.lifecycle import TransformObservation
from mava.types import Array, ArraySpec, GroupSpec


@dataclasses.dataclass(frozen=True)
class AgentIds(TransformObservation):
    """Appends a one-hot of the agent's index in its group.

    A vector grows by N entries, an image by N channels that are constant over the picture;
    observations of another rank are flattened first. In images of unsigned bytes, which networks
    divide by 255, the one is written as 255. Groups of one agent pass unchanged.
    """

    def transformed(self, group: GroupSpec) -> ArraySpec:
        spec, agents = group.observation, group.num_agents
        if agents == 1:
            return spec
        if spec.is_image:
            return ArraySpec((*spec.shape[:2], spec.shape[2] + agents), spec.dtype)
        size = 1
        for axis in spec.shape:
            size *= axis
        return ArraySpec((size + agents,), spec.dtype)

    def transform_observation(self, observation: Array, context: GroupContext) -> Array:
        spec, agents = context.group.observation, context.group.num_agents
        if agents == 1:
            return observation
        one = 255 if spec.is_image and spec.dtype == jnp.uint8 else 1
        ids = (jnp.eye(agents) * one).astype(spec.dtype)
        leading = observation.shape[: observation.ndim - len(spec.shape)]
        if spec.is_image:
            planes = jnp.broadcast_to(ids[:, None, None, :], (*leading, *spec.shape[:2], agents))
            return jnp.concatenate([jnp.asarray(observation), planes], axis=-1)
        flat = jnp.asarray(observation).reshape(*leading, -1)
        return jnp.concatenate([flat, jnp.broadcast_to(ids, (*leading, agents))], axis=-1)
