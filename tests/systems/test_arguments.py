"""No argument of a system is ignored."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from mava.systems import SYSTEMS

OTHER_WORDS = {"sharing": "none", "team_reward": "sum", "continuous": "gaussian"}
OTHER_WORDS |= {"state": "observations"}
IN_PLACE_OF_NONE = {
    **{"batch_size": 7, "sequence_length": 6, "max_kl": 0.1},
    **{"critic_learning_rate": 0.1, "value_clip": 0.1, "max_gradient_norm": 0.1},
}
OF_MEMORY = {"memory_size", "sequence_length", "period"}
"""Arguments that mean nothing without ``recurrent``."""


def other(name: str, default: Any) -> Any:
    """A value that is allowed and not the default."""
    if default is None:
        return IN_PLACE_OF_NONE[name]
    if isinstance(default, str):
        return OTHER_WORDS[name]
    if isinstance(default, bool):
        return not default
    if isinstance(default, int):
        return default + 1
    if isinstance(default, float):
        return 0.5 * default + 0.01
    return (9,) if isinstance(default, tuple) else 0.3  # of schedules


def takes(name: str) -> dict[str, inspect.Parameter]:
    parameters = dict(inspect.signature(SYSTEMS[name]).parameters)
    return {key: value for key, value in parameters.items() if key != "environment"}


FORMS = [(name, {}, OF_MEMORY if "recurrent" in takes(name) else set()) for name in SYSTEMS]
FORMS += [(name, {"recurrent": True}, set()) for name in SYSTEMS if "recurrent" in takes(name)]


@pytest.mark.parametrize(("name", "form", "idle"), FORMS)
def test_every_argument_changes_the_system(name: str, form: Any, idle: set[str]) -> None:
    make = SYSTEMS[name]
    usual = make("probe/agreement", **form)
    ignored = {
        argument
        for argument, parameter in takes(name).items()
        if make("probe/agreement", **{**form, argument: other(argument, parameter.default)})
        == usual
    }
    # Where the form is recurrent, its opposite of the default is what it was given.
    assert ignored - form.keys() <= idle
