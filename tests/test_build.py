"""What `make` promises holds in a fresh clone, and for the compiled form of the pure layers."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
PURE: Final = ("model", "wire", "core", "commands")


def make(directory: Path, target: str) -> str:
    """Run a target of our Makefile in another directory; return what it printed."""
    shutil.copy(ROOT / "Makefile", directory)
    done = subprocess.run(
        ["make", "--silent", target], cwd=directory, capture_output=True, text=True, check=True
    )
    assert done.stderr == ""
    return done.stdout


def test_every_target_is_explained(tmp_path: Path) -> None:
    targets = re.findall(
        r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE
    )

    lines = make(tmp_path, "help").splitlines()

    assert [line.split()[0] for line in lines] == targets


def test_an_old_python_is_refused_before_anything_is_made(tmp_path: Path) -> None:
    old_python = tmp_path / "python"
    pretend = "import sys; sys.version_info = (3, 10, 13); exec(sys.argv[2])"
    old_python.write_text(f"#!/bin/sh\nexec {sys.executable} -c '{pretend}' \"$@\"\n")
    old_python.chmod(0o755)
    for name in ("Makefile", "pyproject.toml", "constraints.txt", "setup.py"):
        shutil.copy(ROOT / name, tmp_path)

    done = subprocess.run(
        ["make", f"PYTHON={old_python}", "install"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode != 0
    assert done.stderr.startswith(f"Python 3.11 or later is needed; {old_python} is 3.10.")
    assert not (tmp_path / ".venv").exists()


def test_clean_removes_what_was_built_and_nothing_else(tmp_path: Path) -> None:
    kept = ["disque/core/node.py", ".venv/lib/x.so", "tests/test_build.py", "scripts/bench.py"]
    built = [
        "build/bench.json",
        "disque.egg-info/PKG-INFO",
        "disque/compiled__mypyc.so",
        "disque/core/__pycache__/node.pyc",
        "disque/core/node.cpython-311.so",
        "tests/__pycache__/test_build.pyc",
        "__pycache__/conftest.pyc",
        ".pytest_cache/x",
        ".hypothesis/x",
    ]
    for name in (*kept, *built):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()

    make(tmp_path, "clean")

    files = {
        path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file()
    }
    assert files == {"Makefile", *kept}
    assert not (tmp_path / "disque/core/__pycache__").exists()


def test_what_builds_the_package_is_installed_for_compiling() -> None:
    # setup.py is run inside .venv then, not in the isolated environment that pip makes.
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    needed = project["build-system"]["requires"]

    assert set(needed) <= set(project["project"]["optional-dependencies"]["dev"])


def test_no_function_of_the_pure_layers_catches_two_types_under_one_name() -> None:
    # mypyc gives a name one type: the second clause would end in a TypeError of its own.
    found = [
        f"{path.name}: {function.name}: {name}"
        for path, function in functions_of_pure_layers()
        for name, types in caught_names(function).items()
        if len(types) > 1
    ]

    assert found == []


def test_nothing_compiled_depends_on_who_reads_the_source() -> None:
    # mypyc compiles the branch that type checkers see, and takes the other one for unreachable.
    found = [
        path.name
        for layer in PURE
        for path in sorted((ROOT / "disque" / layer).glob("*.py"))
        if path.name != "override.py" and "TYPE_CHECKING" in path.read_text(encoding="utf-8")
    ]

    assert found == []


def functions_of_pure_layers() -> Iterator[tuple[Path, ast.FunctionDef]]:
    for layer in PURE:
        for path in sorted((ROOT / "disque" / layer).glob("*.py")):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.FunctionDef):
                    yield path, node


def caught_names(function: ast.FunctionDef) -> dict[str, set[str]]:
    caught: dict[str, set[str]] = {}
    for node in ast.walk(function):
        if isinstance(node, ast.ExceptHandler) and node.name and node.type:
            caught.setdefault(node.name, set()).add(ast.unparse(node.type))
    return caught
