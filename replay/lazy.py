"""Lazy imports: packages that import a module only when one of its names is used."""

from collections.abc import Callable, Mapping
from difflib import get_close_matches
from importlib import import_module
from sys import modules
from typing import Any

__all__ = ["offered"]


def offered(
    package: str, rooms: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Make the functions ``__getattr__`` and ``__dir__`` of a package.

    Parameters
    ----------
    package : str
        Name of the package.
    rooms : mapping of str to str
        Module in the package -> the names that it offers, separated by spaces; the module's own
        name offers the module itself. With a leading dot, the module lies beside the package.

    Returns
    -------
    getattr : callable
        Imports and returns the object of a name; raises AttributeError if the name is unknown.
    dir : callable
        Lists the names, and ``__version__`` if the package has one.

    Examples
    --------
    >>> find, names = offered("replay", {"jit": "kernel", "data": "data"})
    >>> find("kernel").__name__, find("data").__name__, names()
    ('kernel', 'replay.data', ['kernel', 'data', '__version__'])
    """
    place = {name: room for room, names in rooms.items() for name in names.split()}

    def find(name: str) -> Any:
        if name not in place:
            close = get_close_matches(name, place, n=1)
            hint = f": did you mean {close[0]!r}?" if close else ""
            raise AttributeError(f"module {package!r} has no attribute {name!r}{hint}")
        module = import_module(f".{place[name]}", package)
        return module if name == place[name] else getattr(module, name)

    def names() -> list[str]:
        return [*place, *({"__version__"} & vars(modules[package]).keys())]

    return find, names
