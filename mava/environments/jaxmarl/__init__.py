"""The adapter for ``jaxmarl``, which it imports when an environment is built."""

from mava.environments.jaxmarl.adapter import JaxMarlEnvironment
from mava.environments.jaxmarl.names import NAMES, REFUSED

__all__ = ["NAMES", "REFUSED", "JaxMarlEnvironment"]
