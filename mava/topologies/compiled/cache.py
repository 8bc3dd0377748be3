"""Where compiled programs are kept, so that the second start of a run does not compile."""

from __future__ import annotations

import os
import pathlib

import jax

_SECONDS, _SECONDS_OF_JAX = 0.5, 1.0


def keep_compiled() -> None:
    """Switches JAX's persistent compilation cache on, in ``$XDG_CACHE_HOME/mava`` (``~/.cache``),
    unless one is set already. ``JAX_COMPILATION_CACHE_DIR`` names another folder;
    ``JAX_ENABLE_COMPILATION_CACHE=false`` switches it off."""
    if jax.config.jax_compilation_cache_dir is not None:  # type: ignore[attr-defined]
        return
    try:
        base = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
        folder = pathlib.Path(base, "mava", "compiled")
        folder.mkdir(parents=True, exist_ok=True)
    except (OSError, RuntimeError):
        return  # no home, or one that cannot be written to: every start compiles
    jax.config.update("jax_compilation_cache_dir", str(folder))
    if jax.config.jax_persistent_cache_min_compile_time_secs == _SECONDS_OF_JAX:  # type: ignore[attr-defined]
        jax.config.update("jax_persistent_cache_min_compile_time_secs", _SECONDS)
