"""Settings for every test: no silent broadcasting, and failures where they happen.

Optax relies on the promotion of dtypes, so the contract for components is strict about it, and
tests as a whole are not.
"""

from __future__ import annotations

import jax

# Read when the first array is made, so before any test module is imported.
jax.config.update("jax_numpy_rank_promotion", "raise")
jax.config.update("jax_cpu_enable_async_dispatch", False)
