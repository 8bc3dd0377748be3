"""From flags to a system."""

from __future__ import annotations

import pytest

from mava.cli.settings import parse_arguments
from mava.errors import ConfigurationError


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
