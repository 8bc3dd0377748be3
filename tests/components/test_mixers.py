"""What a mixer's value does when an agent's value changes."""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mava.components.networks.mixers import MonotonicMixer, SumMixer
from mava.errors import ConfigurationError, WiringError
from mava.functional.mixing import monotonic_mix
from mava.testing import builders

SPEC = builders.DISCRETE_SPECS["two_groups"]


def test_the_sum_is_over_all_groups() -> None:
    values = {"scouts": jnp.asarray([[[1.0]]]), "carriers": jnp.asarray([[[2.0, 4.0]]])}
    context = builders.learn_context(SPEC)
    assert SumMixer().init_params(jax.random.key(0), SPEC) == {"mixer": {}}
    np.testing.assert_array_equal(SumMixer().mix({}, values, {}, context), [[7.0]])


def test_the_monotonic_mix_by_hand() -> None:
    """Two agents worth 1 and -2, two units: ``1 * 2 - 2 * 1 + 1`` and ``1 * 0.5 - 2 * 1``."""
    mixed = monotonic_mix(
        jnp.asarray([1.0, -2.0]),
        jnp.asarray([[-2.0, 0.5], [1.0, -1.0]]),
        jnp.asarray([1.0, 0.0]),
        jnp.asarray([-3.0, 2.0]),
        jnp.asarray(0.25),
    )
    assert mixed == pytest.approx(3.0 * 1.0 + 2.0 * (np.exp(-1.5) - 1) + 0.25)


@pytest.mark.parametrize("state", ["environment", "observations"])
def test_it_rises_with_every_agent_and_depends_on_the_state(state: str) -> None:
    mixer, batch = MonotonicMixer(width=8, state=state), builders.batch(SPEC, size=8)
    params = jax.jit(functools.partial(mixer.init_params, spec=SPEC))(jax.random.key(0))
    context = builders.learn_context(SPEC)

    def total(values: dict[str, jax.Array]) -> jax.Array:
        return mixer.mix(params, values, batch, context).sum()

    slopes = jnp.concatenate(list(jax.jit(jax.grad(total))(batch["reward"]).values()), axis=-1)
    assert (slopes >= 0).all()
    assert (slopes.max((0, 1)) > 0).all()
    assert np.unique(np.asarray(slopes)[..., 0]).size == 16


def test_bad_fields_are_refused() -> None:
    for fields, message in (
        ({"width": 0}, "width is 0"),
        ({"hypernetwork_sizes": 64}, r"give a tuple such as \(64, 64\)"),
        ({"state": "enviroment"}, "did you mean 'environment'"),
    ):
        with pytest.raises((ConfigurationError, WiringError), match=message):
            MonotonicMixer(**fields)  # type: ignore[arg-type]
