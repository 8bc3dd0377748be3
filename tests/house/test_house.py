"""What holds for the repository's files: pinned requirements, supported Pythons, sizes."""

import re
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
PYTHONS = ("3.10", "3.11", "3.12", "3.13")
DISTRIBUTED = "3.10-distributed"
LONGEST = 400  # lines; a longer file holds more than one idea


def requirement_file(python: str) -> Path:
    return ROOT / "requirements" / f"py{python.replace('.', '')}.txt"


def pinned(text: str) -> dict[str, str]:
    """Versions by normalised name."""
    return dict(re.findall(r"^([a-z0-9-]+)==([^\s;]+)", text, re.MULTILINE))


def test_there_is_one_requirement_file_per_python() -> None:
    expected = {requirement_file(python) for python in (*PYTHONS, DISTRIBUTED)}
    assert set((ROOT / "requirements").glob("*.txt")) == expected


@pytest.mark.parametrize("python", [*PYTHONS, DISTRIBUTED])
def test_requirements_are_hashed_pins_without_addresses(python: str) -> None:
    text = requirement_file(python).read_text()
    assert "://" not in text
    lines = re.sub(r"^\s*#.*\n", "", text.replace("\\\n", ""), flags=re.MULTILINE).splitlines()
    assert len(lines) > 50
    unhashed = [
        line
        for line in lines
        if not re.match(r"[a-z0-9-]+==\S+(\s+--hash=sha256:\w{64})+\s*$", line)
    ]
    assert not unhashed


@pytest.mark.parametrize(
    ("python", "extras"),
    [
        *((python, ("sisl", "lbf", "jaxmarl", "jumanji", "dev")) for python in PYTHONS),
        (DISTRIBUTED, ("distributed", "lbf", "dev")),
    ],
)
def test_requirements_satisfy_pyproject(python: str, extras: tuple[str, ...]) -> None:
    there = {
        "python_version": python.partition("-")[0],
        "sys_platform": "linux",
        "platform_machine": "x86_64",
    }
    versions = pinned(requirement_file(python).read_text())
    for text in metadata.requires("mava") or []:
        requirement = Requirement(text)
        name = canonicalize_name(requirement.name)
        marker = requirement.marker
        if marker and not any(marker.evaluate({**there, "extra": extra}) for extra in extras):
            continue
        assert name in versions, f"{text} is not pinned; run `make requirements`"
        assert requirement.specifier.contains(versions[name], prereleases=True), text


@pytest.mark.parametrize("python", [*PYTHONS, DISTRIBUTED])
def test_only_one_distribution_owns_the_pygame_package(python: str) -> None:
    versions = pinned(requirement_file(python).read_text())
    assert "pygame-ce" in versions
    assert "pygame" not in versions


def test_the_supported_pythons_are_declared() -> None:
    declared = metadata.metadata("mava")
    assert declared["Requires-Python"] == f">={PYTHONS[0]}"
    prefix = "Programming Language :: Python :: 3."
    classifiers = [c for c in declared.get_all("Classifier", []) if c.startswith(prefix)]
    assert [c.rpartition(" ")[2] for c in classifiers] == list(PYTHONS)


def test_files_stay_short() -> None:
    files = [
        file
        for folder in ("mava", "tests", "examples", "benchmarks", "docs")
        for file in (ROOT / folder).rglob("*.py")
    ]
    lengths = {str(f.relative_to(ROOT)): len(f.read_text().splitlines()) for f in files}
    assert len(lengths) > 10
    assert not {name: length for name, length in lengths.items() if length >= LONGEST}
