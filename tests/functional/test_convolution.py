"""Convolutions as products are those of XLA."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mava.components.networks.torsos import Torso
from mava.functional.convolution import convolve

NUMBERS = jax.lax.conv_dimension_numbers((1, 1, 1, 1), (1, 1, 1, 1), ("NHWC", "HWIO", "NHWC"))


@pytest.mark.parametrize(
    ("image", "kernel", "stride", "padding"),
    [
        ((5, 5), (3, 3), (1, 1), "SAME"),
        ((8, 7), (3, 2), (2, 3), "SAME"),
        ((9, 6), (4, 3), (2, 1), "VALID"),
        ((2, 2), (3, 3), (2, 2), ((1, 1), (0, 2))),
    ],
)
def test_it_equals_xla(image: Any, kernel: Any, stride: Any, padding: Any) -> None:
    keys = jax.random.split(jax.random.key(0), 2)
    x = jax.random.normal(keys[0], (2, *image, 3))
    w = jax.random.normal(keys[1], (*kernel, 3, 4))
    expected = jax.lax.conv_general_dilated(x, w, stride, padding, dimension_numbers=NUMBERS)
    found = convolve(x, w, stride, padding, dimension_numbers=NUMBERS)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.slow
def test_networks_compute_the_same_on_a_cpu_and_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a CPU no convolution is left to XLA: inside compiled loops they are many times slower."""
    torso, x = Torso(3, (4,), ((2, 3, 2), (3, 2, 1))), jnp.ones((2, 6, 5, 1)).at[:, 2:].set(0.5)
    params = torso.init(jax.random.key(0), x)
    results = []
    for backend in ("cpu", "gpu"):
        monkeypatch.setattr(jax, "default_backend", lambda backend=backend: backend)
        made = str(jax.make_jaxpr(torso.apply)(params, x))
        assert ("conv_general_dilated" in made) == (backend != "cpu")
        results.append(torso.apply(params, x))
    np.testing.assert_allclose(*results, rtol=1e-5, atol=1e-6)
