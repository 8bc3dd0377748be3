"""Standard error, shared by all that write there, so that text appears above the live line."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console


@functools.cache
def console() -> Console:
    """The console of this process. It looks ``sys.stderr`` up at every write."""
    from rich.console import Console

    return Console(stderr=True)


def say(text: str) -> None:
    """One plain line, never wrapped or coloured."""
    console().print(text, markup=False, highlight=False, soft_wrap=True)


def duration(seconds: float) -> str:
    """Hours where there are any, minutes and seconds.

    >>> duration(67.2), duration(7390)
    ('1:07', '2:03:10')
    """
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def number(value: float) -> str:
    """Four significant digits, never in powers of ten below a million.

    >>> number(-23.0512), number(0.012345), number(12345.6)
    ('-23.05', '0.01235', '12,346')
    """
    if 1000 <= abs(value) < 1e6:
        return f"{value:,.0f}"
    return f"{value:.4g}"
