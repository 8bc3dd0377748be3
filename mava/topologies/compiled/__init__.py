"""One compiled XLA program: for JAX environments, fast."""

from mava.topologies.compiled.runner import Compiled

__all__ = ["Compiled"]
