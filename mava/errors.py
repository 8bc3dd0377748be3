"""The errors that Mava raises. Each message says what is wrong, where, and what to do."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

_LONGEST = 200


class MavaError(Exception):
    """Base of all errors raised on purpose."""


class WiringError(MavaError, ValueError):
    """A system cannot be built as composed."""


class ConfigurationError(MavaError, ValueError):
    """A name, field or value that cannot work."""


class HookError(MavaError, RuntimeError):
    """A component failed inside a hook; the original error is the cause."""


class EnvironmentFault(MavaError, RuntimeError):
    """An environment failed, or broke its own specification."""


class DivergenceError(MavaError, RuntimeError):
    """A loss, reward or observation stopped being a finite number."""


class CheckpointError(MavaError, RuntimeError):
    """A checkpoint could not be written or read."""


def nearest(name: str, known: Iterable[str]) -> str:
    """``"; did you mean 'x'?"`` for the closest known name, else the list of what there is.

    >>> nearest("madqm", ["madqn", "qmix"])
    "; did you mean 'madqn'?"
    """
    choices = sorted(known)
    close = difflib.get_close_matches(name, choices, n=1, cutoff=0.6)
    if close:
        return f"; did you mean {close[0]!r}?"
    return f"; there are {', '.join(choices) or 'none'}"


def first_line(error: BaseException) -> str:
    """``TypeName: first line of its message``, in 200 characters at most."""
    text = f"{type(error).__name__}: {(str(error).splitlines() or [''])[0]}"
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."
