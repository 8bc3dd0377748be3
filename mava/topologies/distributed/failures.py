"""How an exception gets from a node to the caller."""

from __future__ import annotations

import dataclasses
import pickle
import traceback

from mava.errors import MavaError


class NodeError(MavaError, RuntimeError):
    """A node of a distributed run failed or does not answer."""


class NodeTraceback(Exception):
    """The traceback of a node, as text: the cause of the error that the caller sees."""

    def __str__(self) -> str:
        return f"\n{self.args[0]}"


@dataclasses.dataclass(frozen=True)
class Failure:
    """An exception in a node.

    Attributes:
        node: its name.
        error: the exception, or ``None`` where it does not pickle.
        text: its last line.
        trace: the traceback.
    """

    node: str
    error: Exception | None
    text: str
    trace: str

    @classmethod
    def of(cls, node: str, error: BaseException) -> Failure:
        trace = "".join(traceback.format_exception(type(error), error, error.__traceback__))
        kept = error if isinstance(error, Exception) else None
        try:
            pickle.loads(pickle.dumps(kept))
        except Exception:
            kept = None
        return cls(node, kept, f"{type(error).__name__}: {error}", trace)

    def as_error(self) -> MavaError:
        """What the caller raises: the same kind of error where it is Mava's own."""
        cause = NodeTraceback(self.trace)
        if isinstance(self.error, MavaError) and not isinstance(self.error, NodeError):
            raised: MavaError = type(self.error)(f"{self.node}: {self.error}")
        else:
            raised = NodeError(
                f"{self.node} failed: {self.text}; to find out why, run the same system and seed "
                f'with topology="single_process" (and jit=False for a debugger)'
            )
        raised.__cause__ = cause
        return raised
