"""`make setup` and `make test`, with an interpreter that only pretends: what is installed, run and
refused."""

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]

FAKE_PYTHON = """#!/bin/sh
echo "$*" >>"$FAKE_LOG"
case "$1 $2" in
*_base_executable*) echo "$FAKE_BASE" ;;
"-c "*) echo "$FAKE_VERSION" ;;
"-m venv") mkdir -p "$3/bin" && touch "$3/pyvenv.cfg" && cp "$0" "$3/bin/python" ;;
"-m pip") exit "$FAKE_PIP_STATUS" ;;
"-m pytest") exit 0 ;;
esac
"""


def put(folder: Path, name: str, script: str) -> Path:
    """A command of that name in the folder."""
    file = folder / name
    file.write_text(script)
    file.chmod(0o755)
    return file


class Setup:
    """Runs requirements/install.sh for a virtual environment of its own."""

    def __init__(self, folder: Path) -> None:
        self.venv = folder / "venv"
        self.log = folder / "log"
        self.commands = folder / "commands"  # first on PATH
        self.commands.mkdir()
        self.python = put(folder, "python", FAKE_PYTHON)

    def run(self, *, named: bool = True, kind: str = "", **fakes: Any) -> str:
        """All output; raises if set-up fails. ``named``: as with ``PYTHON=``."""
        python = self.python if named else ""
        return self.command("sh", "requirements/install.sh", self.venv, python, kind, **fakes)

    def test(self, *variables: str, **fakes: Any) -> str:
        """The output of ``make test``."""
        places = (f"VENV={self.venv}", f"DISTRIBUTED_VENV={self.venv}-distributed")
        return self.command("make", "test", f"PYTHON={self.python}", *places, *variables, **fakes)

    def command(
        self,
        *command: str | Path,
        version: str = "3.11",
        pip_status: int = 0,
        ci: str = "",
    ) -> str:
        self.log.write_text("")
        fake = {
            "FAKE_LOG": str(self.log),
            "FAKE_BASE": str(self.python),
            "FAKE_VERSION": version,
            "FAKE_PIP_STATUS": str(pip_status),
            "CI": ci,
            "PATH": f"{self.commands}{os.pathsep}{os.environ['PATH']}",
        }
        # These tests may be run by `make test` themselves.
        of_make = ("MAKE", "MFLAGS", "PYTEST_ARGS", "DISTRIBUTED")
        inherited = {k: v for k, v in os.environ.items() if not k.startswith(of_make)}
        return subprocess.run(
            command,
            cwd=ROOT,
            env=inherited | fake,
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


class TestFindPython:
    """requirements/find_python.sh, where a shim on PATH does not run."""

    @pytest.fixture
    def setup(self, setup: Setup) -> Setup:
        put(setup.commands, "python3.10", "#!/bin/sh\nexit 127\n")
        return setup

    def found(self, setup: Setup) -> str:
        return setup.command("sh", "requirements/find_python.sh", "3.10").strip()

    def test_the_newest_of_pyenv(self, setup: Setup) -> None:
        listed = "3.1.10\n3.10.2\n3.10.13\n3.100.1\n3.10-dev\n3.11.7"
        script = f"""#!/bin/sh
case $1 in
versions) echo "{listed}" ;;
which) echo "/pyenv/$PYENV_VERSION/python" ;;
esac
"""
        put(setup.commands, "pyenv", script)
        assert self.found(setup) == "/pyenv/3.10.13/python"

    def test_none(self, setup: Setup) -> None:
        put(setup.commands, "pyenv", "#!/bin/sh\nexit 1\n")
        with pytest.raises(subprocess.CalledProcessError) as failure:
            self.found(setup)
        assert failure.value.output.startswith("no Python 3.10 here")

    def test_on_path_where_it_runs(self, setup: Setup) -> None:
        put(setup.commands, "python3.10", "#!/bin/sh\n")
        assert self.found(setup) == "python3.10"


class TestDistributed:
    """The environment of the distributed topology, on a system that only pretends too."""

    @pytest.fixture
    def setup(self, setup: Setup) -> Setup:
        put(setup.commands, "uname", "#!/bin/sh\necho Linux x86_64\n")
        put(setup.commands, "python3", "#!/bin/sh\nexit 127\n")
        put(setup.commands, "pyenv", "#!/bin/sh\nexit 1\n")
        put(setup.commands, "python3.10", FAKE_PYTHON)
        return setup

    def runs(self, setup: Setup) -> list[str]:
        """What pytest was run with, in the order of runs."""
        return setup.calls("-m pytest")

    def test_it_has_pins_of_its_own_and_finds_its_python(self, setup: Setup) -> None:
        setup.run(named=False, kind="distributed", version="3.10")
        pins, project = setup.calls("-m pip")
        assert pins.endswith("requirements/py310-distributed.txt")
        assert project.endswith("--editable .")
        assert setup.run(named=False, kind="distributed", version="3.10") == ""

    def test_another_python_is_refused_with_a_remedy(self, setup: Setup) -> None:
        with pytest.raises(subprocess.CalledProcessError) as failure:
            setup.run(kind="distributed", version="3.11")
        assert failure.value.returncode == 1
        assert "is Python 3.11. The distributed topology needs Python 3.10" in failure.value.output
        assert "DISTRIBUTED_PYTHON=" in failure.value.output

    @pytest.mark.parametrize("lacking", ["system", "python"])
    def test_nothing_that_suits(self, setup: Setup, lacking: str) -> None:
        self.take_away(setup, lacking)
        with pytest.raises(subprocess.CalledProcessError) as failure:
            setup.run(named=False, kind="distributed", version="3.10")
        assert failure.value.returncode == 3
        assert "needs Python 3.10 on Linux x86_64" in failure.value.output
        assert not setup.venv.exists()

    def test_make_test_runs_both(self, setup: Setup) -> None:
        setup.test("PYTEST_ARGS=-k word", version="3.10")
        ours, distributed = self.runs(setup)
        assert "testpaths" not in ours
        assert "-n 0 -o testpaths=tests/topologies/distributed" in distributed
        assert ours.endswith("-k word")
        assert distributed.endswith("-k word")

    def test_make_test_of_one_environment(self, setup: Setup) -> None:
        setup.test("DISTRIBUTED_VENV=", version="3.10")
        assert len(self.runs(setup)) == 1

    @pytest.mark.parametrize("lacking", ["system", "python"])
    def test_make_test_says_what_it_left_out(self, setup: Setup, lacking: str) -> None:
        self.take_away(setup, lacking)
        output = setup.test(version="3.10")
        assert output.count("could not run tests/topologies/distributed") == 1
        assert len(self.runs(setup)) == 1

    @pytest.mark.parametrize("lacking", ["system", "python"])
    def test_ci_must_leave_nothing_out(self, setup: Setup, lacking: str) -> None:
        self.take_away(setup, lacking)
        with pytest.raises(subprocess.CalledProcessError) as failure:
            setup.test(version="3.10", ci="true")
        assert "could not run tests/topologies/distributed" in failure.value.output

    def test_make_test_fails_where_packages_cannot_be_installed(self, setup: Setup) -> None:
        setup.run(version="3.10")
        with pytest.raises(subprocess.CalledProcessError):
            setup.test(version="3.10", pip_status=1)
        assert len(self.runs(setup)) == 1

    def test_make_test_fails_where_a_test_does(self, setup: Setup) -> None:
        self.fail_later(setup, 1)
        with pytest.raises(subprocess.CalledProcessError):
            setup.test("PYTEST_ARGS=-x", version="3.10")
        assert len(self.runs(setup)) == 2

    def test_arguments_may_choose_none_of_these_tests(self, setup: Setup) -> None:
        self.fail_later(setup, 5)
        setup.test("PYTEST_ARGS=-k word", version="3.10")
        with pytest.raises(subprocess.CalledProcessError):
            setup.test(version="3.10")

    def take_away(self, setup: Setup, lacking: str) -> None:
        if lacking == "system":
            put(setup.commands, "uname", "#!/bin/sh\necho Darwin arm64\n")
        else:
            put(setup.commands, "python3.10", "#!/bin/sh\nexit 127\n")

    def fail_later(self, setup: Setup, status: int) -> None:
        """Pytest ends with that status in the environment of the distributed topology."""
        setup.test(version="3.10")
        python = Path(f"{setup.venv}-distributed/bin/python")
        python.write_text(FAKE_PYTHON.replace("exit 0", f"exit {status}"))
