"""Lazy imports: packages that import a module only when one of its names is used."""

import ast
from collections.abc import Callable
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from sys import modules
from typing import Any


def offered(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Make ``__getattr__``, ``__dir__`` and ``__all__`` of a package from its imports for types.

    Each ``from module import name as name`` under ``if TYPE_CHECKING:`` in its ``__init__.py`` is
    imported when `name` is first used. So names are listed once, for people, for type checkers
    and for Python.

    Examples
    --------
    >>> find, names, public = offered("replay")
    >>> find("MDP").__name__, "MDP" in names(), "MDP" in public
    ('MDP', True, True)
    """
    path = Path(str(modules[package].__file__))
    blocks = (each for each in ast.parse(path.read_text("utf-8")).body if isinstance(each, ast.If))
    imports = (line for block in blocks for line in block.body if isinstance(line, ast.ImportFrom))
    place = {name.name: str(line.module) for line in imports for name in line.names}
    public = [*place, *({"__version__"} & vars(modules[package]).keys())]

    def find(name: str) -> Any:
        if name not in place:
            close = get_close_matches(name, place, n=1)
            hint = f": did you mean {close[0]!r}?" if close else ""
            raise AttributeError(f"module {package!r} has no attribute {name!r}{hint}")
        if place[name] == package:
            return import_module(f"{package}.{name}")
        return getattr(import_module(place[name]), name)

    return find, lambda: public, public
