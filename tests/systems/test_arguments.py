"""No argument of a system is ignored."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from mava.errors import ConfigurationError
from mava.systems import SYSTEMS

OTHER_WORDS = {"sharing": "none", "team_reward": "sum", "continuous": "gaussian"}
OTHER_WORDS |= {"state": "observations"}
IN_PLACE_OF_NONE = {
    **{"target_period": 7, "target_rate": 0.1},
    **{"batch_size": 7, "sequence_length": 6, "max_kl": 0.1},
    **{"critic_learning_rate": 0.1, "value_clip": 0.1, "max_gradient_norm": 0.1},
}
OF_MEMORY = {"memory_size", "sequence_length", "period"}
"""Arguments that mean nothing without ``recurrent``."""
REFUSED = {"burn_in"}
"""Arguments that are refused without it."""


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
    refused = REFUSED if idle else set()
    ignored = {
        argument
        for argument, parameter in takes(name).items()
        if argument not in refused
        and make("probe/agreement", **{**form, argument: other(argument, parameter.default)})
        == usual
    }
    # Where the form is recurrent, its opposite of the default is what it was given.
    assert ignored - form.keys() <= idle
    for argument in refused & takes(name).keys():
        with pytest.raises(ConfigurationError, match=f"{argument} is 3.*set recurrent=True"):
            make("probe/agreement", **{argument: 3})


DEFAULTS = {name: {k: p.default for k, p in takes(name).items()} for name in SYSTEMS}
ON_PURPOSE = {
    "num_environments": "on-policy batches are made of several",
    "learning_rate": "of PPO",
    "critic_learning_rate": "of PPO the policy's, unless it is said",
    "sequence_length": "of PPO transitions, or whole rollouts",
    "batch_size": "of sequences, or of either",
    "update_every": "sequences hold more transitions",
    "prioritised": "as in R2D2",
    "burn_in": "as in R2D2",
    "target_rate": "as published; or else copies",
    "target_period": "or else a rate",
}


def test_arguments_of_one_name_have_one_default() -> None:
    """Save where a comment says why they differ."""
    names = {argument for defaults in DEFAULTS.values() for argument in defaults}
    differ = {a for a in names if len({str(d[a]) for d in DEFAULTS.values() if a in d}) > 1}
    assert differ == ON_PURPOSE.keys()


def test_systems_of_one_family_have_one_set_of_defaults() -> None:
    for name, base in {"matd3": "maddpg", "qmix": "vdn", "mappo": "ippo"}.items():
        assert DEFAULTS[name].items() >= DEFAULTS[base].items()
