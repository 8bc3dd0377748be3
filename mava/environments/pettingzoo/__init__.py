"""Environments of the PettingZoo interfaces, parallel and turn-based."""

from mava.environments.pettingzoo.aec import AECEnvironment
from mava.environments.pettingzoo.parallel import PettingZooEnvironment
from mava.environments.pettingzoo.wrap import adapt

__all__ = ["AECEnvironment", "PettingZooEnvironment", "adapt"]
