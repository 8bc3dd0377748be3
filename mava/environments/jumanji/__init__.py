"""The adapter for ``jumanji``, which it imports when an environment is built."""

from mava.environments.jumanji.adapter import JumanjiEnvironment
from mava.environments.jumanji.names import NAMES

__all__ = ["NAMES", "JumanjiEnvironment"]
