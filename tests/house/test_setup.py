"""`make setup`, with an interpreter that only pretends: what it installs, and what it refuses."""

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

FAKE_PYTHON = """#!/bin/sh
echo "$*" >>"$FAKE_LOG"
case "$1 $2" in
*_base_executable*) echo "$FAKE_BASE" ;;
"-c "*) echo "$FAKE_VERSION" ;;
"-m venv") mkdir -p "$3/bin" && touch "$3/pyvenv.cfg" && cp "$0" "$3/bin/python" ;;
"-m pip") exit "$FAKE_PIP_STATUS" ;;
esac
"""


class Setup:
    """Runs requirements/install.sh for a virtual environment of its own."""

    def __init__(self, folder: Path) -> None:
        self.venv = folder / "venv"
        self.python = folder / "python"
        self.log = folder / "log"
        self.python.write_text(FAKE_PYTHON)
        self.python.chmod(0o755)

    def run(self, *, version: str = "3.11", pip_status: int = 0, named: bool = True) -> str:
        """All output; raises if set-up fails. ``named``: as with ``PYTHON=``."""
        self.log.write_text("")
        fake = {
            "FAKE_LOG": str(self.log),
            "FAKE_BASE": str(self.python),
            "FAKE_VERSION": version,
            "FAKE_PIP_STATUS": str(pip_status),
        }
        return subprocess.run(
            ["sh", "requirements/install.sh", self.venv, *([self.python] if named else [])],
            cwd=ROOT,
            env=os.environ | fake,
            check=True,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        ).stdout

    def calls(self, start: str) -> list[str]:
        return [line for line in self.log.read_text().splitlines() if line.startswith(start)]


@pytest.fixture
def setup(tmp_path: Path) -> Setup:
    return Setup(tmp_path)


def test_first_call_installs_the_hashed_pins_of_its_python_then_mava(setup: Setup) -> None:
    output = setup.run(version="3.12")
    pins, project = setup.calls("-m pip")
    assert "--require-hashes" in pins
    assert pins.endswith("requirements/py312.txt")
    assert project.endswith("--editable .")
    assert "Python 3.12" in output


@pytest.mark.parametrize("named", [True, False])
def test_second_call_does_and_says_nothing(setup: Setup, named: bool) -> None:
    setup.run()
    assert setup.run(named=named) == ""
    assert not setup.calls("-m")


def test_interrupted_set_up_starts_afresh(setup: Setup) -> None:
    with pytest.raises(subprocess.CalledProcessError):
        setup.run(pip_status=1)
    half_copied = setup.venv / "half-copied"
    half_copied.touch()
    setup.run()
    assert not half_copied.exists()
    assert len(setup.calls("-m pip")) == 2


def test_another_python_makes_the_environment_anew(setup: Setup) -> None:
    setup.run(version="3.11")
    # A fake environment answers as its interpreter does; this one was made with 3.11.
    made_with = setup.venv / "bin" / "python"
    made_with.write_text(made_with.read_text().replace("$FAKE_VERSION", "3.11"))
    assert "Python 3.10" in setup.run(version="3.10")
    assert setup.calls("-m venv")


def test_environment_whose_python_is_gone_is_made_anew(setup: Setup) -> None:
    setup.run()
    (setup.venv / "bin" / "python").unlink()
    setup.run()
    assert setup.calls("-m venv")


@pytest.mark.parametrize("version", ["3.9", "3.14"])
def test_unsupported_python_is_refused_with_a_remedy(setup: Setup, version: str) -> None:
    with pytest.raises(subprocess.CalledProcessError) as failure:
        setup.run(version=version)
    assert f"is Python {version}. Mava needs Python 3.10 to 3.13" in failure.value.output
    assert "PYTHON=" in failure.value.output
    assert not setup.venv.exists()


def test_python_that_does_not_run_is_refused(setup: Setup) -> None:
    setup.python.write_text("#!/bin/sh\nexit 127\n")
    with pytest.raises(subprocess.CalledProcessError) as failure:
        setup.run()
    assert "does not run" in failure.value.output


def test_folder_that_is_no_environment_is_kept(setup: Setup) -> None:
    setup.venv.mkdir()
    precious = setup.venv / "thesis.tex"
    precious.touch()
    with pytest.raises(subprocess.CalledProcessError) as failure:
        setup.run()
    assert "no virtual environment" in failure.value.output
    assert precious.exists()
