"""What normalises observations: what it counts, what it leaves alone, and where its numbers go."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

from mava.components.networks.observation_normaliser import ObservationNormaliser
from mava.errors import ConfigurationError
from mava.testing import builders

SPEC = builders.DISCRETE_SPECS["two_groups"]


def batch_of(scale: float, seed: int = 0) -> Any:
    batch = builders.batch(SPEC, size=64, seed=seed)
    batch["observation"] = {
        name: jnp.where(batch["alive"][name][..., None], scale * (5.0 + 3.0 * x), jnp.nan)
        for name, x in batch["observation"].items()
    }
    return batch


def prepared(component: ObservationNormaliser, *batches: Any) -> Any:
    state = component.init_state(SPEC)
    for batch in batches:
        _, state = component.prepare_batch(batch, state, {}, builders.learn_context(SPEC))
    return state


@pytest.mark.slow
def test_what_the_living_saw_gets_mean_0_and_variance_1() -> None:
    component = ObservationNormaliser(clip=None)
    batches = [batch_of(1.0, seed) for seed in range(3)]
    state = prepared(component, *batches)
    for group in SPEC.groups:
        shown = np.concatenate(
            [b["observation"][group.name][np.asarray(b["alive"][group.name])] for b in batches]
        )
        context = builders.group_context(group, state)
        result = np.asarray(component.transform_observation(shown, context), np.float64)
        np.testing.assert_allclose(result.mean(0), 0.0, atol=1e-5)
        np.testing.assert_allclose(result.std(0), 1.0, rtol=1e-5)


def test_before_the_first_batch_only_the_bound_holds() -> None:
    component = ObservationNormaliser(clip=2.0)
    group = SPEC.groups[1]
    context = builders.group_context(group, component.init_state(SPEC))
    shown = jnp.asarray([[1.5, -9.0, 2.5]] * 2)
    result = component.transform_observation(shown, context)
    np.testing.assert_allclose(result, [[1.5, -2.0, 2.0]] * 2)


def test_observations_a_thousand_times_as_large_look_the_same() -> None:
    component, group = ObservationNormaliser(), SPEC.groups[1]
    results = [
        component.transform_observation(
            batch_of(scale)["observation"][group.name],
            builders.group_context(group, prepared(component, batch_of(scale))),
        )
        for scale in (1.0, 1000.0)
    ]
    np.testing.assert_allclose(*results, rtol=1e-3, atol=1e-4)


def test_images_of_bytes_pass_unchanged() -> None:
    component, spec = ObservationNormaliser(), builders.DISCRETE_SPECS["image"]
    assert component.init_state(spec) == {}
    group = spec.groups[0]
    shown = jnp.zeros((2, 5, 5, 2), jnp.uint8)
    context = builders.group_context(group, {})
    assert component.transform_observation(shown, context) is shown


@pytest.mark.parametrize("fields", [{"clip": 0.0}, {"clip": float("nan")}, {"epsilon": -1.0}])
def test_numbers_that_could_not_work_are_refused(fields: Any) -> None:
    (name,) = fields
    with pytest.raises(ConfigurationError, match=rf"observation_normaliser\.{name}"):
        ObservationNormaliser(**fields)
