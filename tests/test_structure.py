"""The folders: how many of them import from how many others."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def imported(path):
    """List the modules that a file imports, wherever in the file."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            yield node.module
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def arrows(package):
    """List the pairs of folders, or files beside them, of which one imports from the other."""
    found = set()
    for path in (ROOT / package).rglob("*.py"):
        here = path.relative_to(ROOT / package).parts[0].removesuffix(".py")
        for module in imported(path):
            parts = module.split(".")
            if here != "__init__" and len(parts) > 1 and parts[0] == package != here:
                found.add((here, parts[1]))
    return {(here, there) for here, there in found if here != there}


@pytest.mark.parametrize(("package", "most"), [("analyses", 30), ("replay", 35)])
def test_few_folders_import_from_few_others(package, most):
    """The import contracts say which may; that they stay few is said here."""
    assert 20 < len(arrows(package)) <= most
