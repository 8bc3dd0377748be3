"""Wrappers that change what environments show."""

from mava.environments.wrappers.death_masking import DeathMasking
from mava.environments.wrappers.frame_stack import FrameStack
from mava.environments.wrappers.wrap import Wrapper, wrap

__all__ = ["DeathMasking", "FrameStack", "Wrapper", "wrap"]
