"""Say which form of the pure layers is tested, and keep the other one out."""

from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

PACKAGE = Path(__file__).parent / "disque"


def pytest_report_header() -> str:
    """Say what is tested, because nothing else shows it."""
    compiled = [source for source in PACKAGE.rglob("*.py") if has_compiled_form(source)]
    if not compiled:
        return "core: interpreted"
    built_s = min(library.stat().st_mtime for library in PACKAGE.glob("*.so"))
    changed = [source.name for source in compiled if source.stat().st_mtime > built_s]
    if not changed:
        return "core: compiled"
    return f"core: compiled BEFORE the last change of {', '.join(sorted(changed))}"


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Leave the source of a compiled module alone.

    Looking for examples in it would import it beside the compiled form, and tests would meet both.
    """
    return True if has_compiled_form(collection_path) else None


def has_compiled_form(source: Path) -> bool:
    """Tell whether an import would take a library instead of this file."""
    return any(source.with_suffix(suffix).exists() for suffix in EXTENSION_SUFFIXES)
