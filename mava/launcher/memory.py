"""Whether a run fits into this machine's memory, before it allocates any."""

from __future__ import annotations

import os
import pathlib
from collections.abc import Mapping

from mava.errors import ConfigurationError

_CGROUPS = (
    ("memory.max", "memory.current", "inactive_file"),
    ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes", "total_inactive_file"),
)


def check_memory(estimate: Mapping[str, int], available: int | None) -> str:
    """Says what a run will allocate.

    Args:
        estimate: bytes, by purpose.
        available: bytes; ``None`` where the system does not tell.

    Raises:
        ConfigurationError: the estimate is above what is available.
    """
    parts = ", ".join(f"{purpose} {readable(size)}" for purpose, size in estimate.items())
    total = sum(estimate.values())
    text = f"memory: {readable(total)}" + (f" ({parts})" if parts else "")
    if available is None:
        return text
    if total > available:
        raise ConfigurationError(
            f"this run needs about {readable(total)} of memory ({parts}), and "
            f"{readable(available)} are available; lower the buffer's capacity"
        )
    return f"{text} of {readable(available)} available"


def available_memory(
    proc: pathlib.Path = pathlib.Path("/proc"),
    cgroup: pathlib.Path = pathlib.Path("/sys/fs/cgroup"),
) -> int | None:
    """Bytes that can still be allocated: the machine's, or its control group's if fewer."""
    found = [size for size in (_of_machine(proc), _of_cgroup(cgroup)) if size is not None]
    return min(found, default=None)


def readable(size: int) -> str:
    """A size in bytes, for people.

    >>> readable(512), readable(75_000_000_000)
    ('512 B', '75.0 GB')
    """
    amount = float(size)
    for unit in ("B", "kB", "MB", "GB"):
        if amount < 1000:
            return f"{amount:.0f} B" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1000
    return f"{amount:.1f} TB"


def _of_machine(proc: pathlib.Path) -> int | None:
    try:
        for line in (proc / "meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except FileNotFoundError:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        return None


def _of_cgroup(cgroup: pathlib.Path) -> int | None:
    for limit, usage, reclaimable in _CGROUPS:
        try:
            maximum = int((cgroup / limit).read_text())
            used = int((cgroup / usage).read_text())
            statistics = ((cgroup / limit).parent / "memory.stat").read_text().split()
            # Cached files count as used, and are dropped when memory is asked for.
            cached = int(statistics[statistics.index(reclaimable) + 1])
        except (OSError, ValueError):
            continue
        return max(0, maximum - used + cached)
    return None
