"""Which part of Mava may import which, and what `import mava` may cost."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
BASE = {"errors", "functional", "types"}
# What distributions hold that only the distributed topology's own environment has.
ENGINES = {
    "dm-launchpad": {"launchpad", "courier"},
    "dm-reverb": {"reverb"},
    "tensorflow": {"tensorflow"},
}

# Packages that are not installed with every Python, and what they own.
SOMETIMES = {**ENGINES, "jaxmarl": {"jaxmarl"}}

# Everything that a package may import of Mava, itself apart. A package that is
# not listed may import all of them, and none of them may import it.
LAYERS = {
    "errors": BASE,
    "functional": BASE,
    "types": BASE,
    "core": BASE,
    # A component sees the environment only as the values that hooks are given.
    "components": BASE | {"core"},
    "environments": {"errors", "types", "testing"},
    # A topology runs programs and never sees a component.
    "topologies": BASE | {"core", "environments"},
    "systems": BASE | {"core", "components", "environments"},
    "testing": BASE | {"core", "components", "environments", "systems", "topologies"},
}


def imported_modules(source: str) -> Iterator[tuple[int, str]]:
    """Line and dotted name of all that ``source`` imports, in functions and for types too."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = "." * node.level + (node.module or "")
            if module == "mava":
                yield from ((node.lineno, f"mava.{alias.name}") for alias in node.names)
            else:
                yield node.lineno, module


def violations(package: str, source: str) -> list[str]:
    found = []
    for line, module in imported_modules(source):
        top, _, rest = module.partition(".")
        if module.startswith("."):
            found.append(f"line {line}: relative import {module}")
        elif top == "mava" and rest.split(".")[0] not in LAYERS[package] | {package}:
            found.append(f"line {line}: imports {module}")
    return found


@pytest.mark.parametrize("package", LAYERS)
def test_imports_only_from_layers_below(package: str) -> None:
    folder = ROOT / "mava" / package
    files = sorted(folder.rglob("*.py")) if folder.is_dir() else [folder.with_suffix(".py")]
    found = {
        str(file.relative_to(ROOT)): broken
        for file in files
        if (broken := violations(package, file.read_text()))
    }
    assert not found, f"{package} may import only {sorted(LAYERS[package])} of mava"


@pytest.mark.parametrize(
    ("package", "source"),
    [
        ("functional", "from mava.core.system import System"),
        ("core", "import mava.components"),
        ("core", "from mava import systems"),
        ("components", "def f():\n    from mava.environments import make"),
        ("topologies", "from mava.components.losses.madqn import MADQNLoss"),
        ("topologies", "import mava"),
        ("environments", "from . import base"),
    ],
)
def test_a_forbidden_import_is_seen(package: str, source: str) -> None:
    assert violations(package, source)


def test_what_mava_imports_is_a_declared_dependency() -> None:
    requirements = [Requirement(text) for text in metadata.requires("mava") or []]
    declared = {canonicalize_name(r.name) for r in requirements if "dev" not in str(r.marker)}
    owned = {
        file.parts[0].removesuffix(".py")
        for distribution in metadata.distributions()
        if canonicalize_name(distribution.metadata["Name"]) in declared
        for file in distribution.files or []
    }
    owned = owned.union(*(SOMETIMES[name] for name in SOMETIMES.keys() & declared))
    undeclared = {
        f"{file.relative_to(ROOT)}:{line}: {module}"
        for file in (ROOT / "mava").rglob("*.py")
        for line, module in imported_modules(file.read_text())
        if module.partition(".")[0] not in owned | sys.stdlib_module_names | {"mava"}
    }
    assert not undeclared


def test_only_the_distributed_topology_imports_its_engines() -> None:
    engines = set().union(*ENGINES.values())
    home = ROOT / "mava" / "topologies" / "distributed"
    found = {
        f"{file.relative_to(ROOT)}:{line}: {module}"
        for file in (ROOT / "mava").rglob("*.py")
        for line, module in imported_modules(file.read_text())
        if module.partition(".")[0] in engines and home not in file.parents
    }
    assert not found


def test_import_mava_loads_nothing_heavy() -> None:
    heavy = ["tensorflow", "reverb", "launchpad", "courier", "orbax", "tensorboardX"]
    heavy += ["matplotlib", "pettingzoo", "mpe2", "pygame"]
    code = f"import sys, mava; print(*(name for name in {heavy} if name in sys.modules))"
    loaded = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    ).stdout.split()
    assert not loaded
