"""The folders: which import from which; and the recipe, which needs what the project needs."""

import ast
import re
import tomllib
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


@pytest.mark.parametrize(("package", "most"), [("analyses", 45), ("replay", 40)])
def test_few_folders_import_from_few_others(package, most):
    """The import contracts say which may; that they stay few is said here."""
    assert 20 < len(arrows(package)) <= most


def test_the_recipe_for_conda_needs_what_the_project_needs():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    recipe = (ROOT / ".ci" / "recipe.yaml").read_text("utf-8")
    _, host, run = re.split(r"^  (?:host|run):$", recipe.split("tests:")[0], flags=re.M)

    def needs(text):
        return {
            line.replace(" ", "") for line in re.findall(r"^ +- (\S+ >=\S+)$", text, flags=re.M)
        }

    python = "python" + project["project"]["requires-python"]
    listed = project["project"]["dependencies"]
    assert needs(run) == {python, *(each.replace("plotlib>", "plotlib-base>") for each in listed)}
    assert needs(host) == {python, *project["build-system"]["requires"]}
