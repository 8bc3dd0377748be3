"""From flags to a system."""

from __future__ import annotations

import pytest

from mava.cli.flags import FlagValues, parse
from mava.cli.settings import define, make_system, parse_arguments
from mava.errors import ConfigurationError
from mava.systems import qmix


def test_arguments_of_an_environment() -> None:
    assert parse_arguments("max_cycles=50, size=(3, 4), local=true, name=word") == {
        "max_cycles": 50,
        "size": (3, 4),
        "local": True,
        "name": "word",
    }


@pytest.mark.parametrize("text", ["50", "a=1+2", "**{}", "a=", "a=f(1)"])
def test_what_is_no_argument_is_refused(text: str) -> None:
    with pytest.raises(ConfigurationError):
        parse_arguments(text)


def train_flags(*arguments: str) -> FlagValues:
    given = ("--system=qmix", "--env=matrix/two_step", *arguments)
    return parse("train", define, list(given))[0]


def test_settings_are_arguments_of_the_system_or_fields_of_components() -> None:
    system = make_system(
        train_flags("--set=recurrent=true", "--set=adam.learning_rate=1e-3", "--set=mixer_width=8")
    )
    assert system == qmix("matrix/two_step", recurrent=True, mixer_width=8).replace(
        "adam", learning_rate=1e-3
    )


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("recurent=true", r"qmix has no argument 'recurent'; did you mean 'recurrent'"),
        ("recurrent=maybe", r"qmix's recurrent takes true or false, not 'maybe'; it is False now"),
        ("recurrent", r"setting 'recurrent' is not of the form name=value"),
        ("environment=x", r"qmix has no argument 'environment'"),
    ],
)
def test_an_argument_that_a_system_does_not_take_is_refused(setting: str, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        make_system(train_flags(f"--set={setting}"))
