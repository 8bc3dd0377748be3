"""Convolutions as products are those of XLA."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

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


def test_on_a_cpu_no_convolution_is_left_to_xla() -> None:
    """Those inside compiled loops are many times slower."""
    made = jax.make_jaxpr(lambda x, w: convolve(x, w, (1, 1), "SAME"))(
        jnp.ones((1, 5, 5, 1)), jnp.ones((3, 3, 1, 2))
    )
    assert ("conv_general_dilated" in str(made)) == (jax.default_backend() != "cpu")
