"""JAX is set up before its first array, and the user's own settings stand."""

from __future__ import annotations

import os
import subprocess
import sys

PROGRAM = """
import os
from mava.topologies.latency import prefer_low_latency
prefer_low_latency()
prefer_low_latency()
import jax
jax.numpy.ones(3).sum()
print(os.environ["XLA_FLAGS"])
"""


def flags(given: str) -> str:
    environment = {**os.environ, "XLA_FLAGS": given}
    command = [sys.executable, "-c", PROGRAM]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout.strip()


def test_a_flag_is_added_once_to_those_that_are_there() -> None:
    own = "--xla_cpu_multi_thread_eigen=false"
    assert flags(own) == f"{own} --xla_cpu_enable_concurrency_optimized_scheduler=false"


def test_the_users_own_choice_stands() -> None:
    own = "--xla_cpu_enable_concurrency_optimized_scheduler=true"
    assert flags(own) == own
