"""The source files that a function or a module depends on, and a digest of their contents.

Compiled code and the results of runs are identified by this digest: an edit of one of these files
changes it, an edit elsewhere does not.
"""

import ast
import contextlib
import functools
import hashlib
import inspect
import platform
import re
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numba
import numpy as np

_PACKAGES = ("replay", "analyses")
_IMPORT = re.compile(r"^[ \t]*(from [.\w]+ import (?:\([^)]*\)|.*)|import .*)", re.MULTILINE)
_TYPES_ONLY = re.compile(r"^if TYPE_CHECKING:\n(?:[ \t]+.*\n)+", re.MULTILINE)
_settings: Any = numba.config


def sources_digest(*modules: str) -> str:
    """Compute the digest of the sources of some modules, and of everything that these import."""
    if not modules:
        return digest_of(frozenset(_ALL))
    files = [_file_of(module) for module in modules]
    for module, file in zip(modules, files, strict=True):
        if file is None:
            raise ModuleNotFoundError(f"There is no module {module!r} in this project.")
    return digest_of(_closure(frozenset(file for file in files if file)))


def sources_of(function: Callable[..., Any]) -> frozenset[Path]:
    """List the files from which a function is compiled: its own, and all files that it imports."""
    found: set[Path] = set()
    _collect(function, found, set())
    return _closure(frozenset(found))


def _collect(value: Any, found: set[Path], seen: set[int]) -> None:
    """Add the files of functions, modules and classes, and of those that functions close over."""
    if id(value) in seen:
        return
    seen.add(id(value))
    value = getattr(value, "py_func", value)  # of a function that is compiled already
    if inspect.isfunction(value):
        value = inspect.unwrap(value)
        found.add(Path(value.__code__.co_filename).resolve())
        for each in value.__defaults__ or ():
            _collect(each, found, seen)
        for cell in value.__closure__ or ():
            with contextlib.suppress(ValueError):  # an empty cell
                _collect(cell.cell_contents, found, seen)
    elif inspect.ismodule(value) or inspect.isclass(value):
        module = value if inspect.ismodule(value) else sys.modules.get(value.__module__)
        file = getattr(module, "__file__", None)
        if file and Path(file).resolve() in _ALL:
            found.add(Path(file).resolve())
    elif isinstance(value, functools.partial):
        _collect((value.func, value.args, tuple(value.keywords.values())), found, seen)
    elif isinstance(value, tuple | list):
        for each in value:
            _collect(each, found, seen)


def _closure(files: frozenset[Path]) -> frozenset[Path]:
    found = set(files)
    waiting = list(files)
    while waiting:
        new = _imports(waiting.pop()) - found
        found |= new
        waiting.extend(new)
    return frozenset(found)


@cache
def _imports(file: Path) -> frozenset[Path]:
    """List the files of this project that a file imports from, at its top or within functions.

    Plots and pages are left out: none of their code is compiled, no number depends on them.
    """
    if file not in _ALL:  # a user's own, which is never kept
        return frozenset()
    text = _TYPES_ONLY.sub("", _text(file).decode("utf-8", errors="replace"))
    try:  # the imports alone: to parse whole files would take a fifth of a first run
        tree = ast.parse("\n".join(_IMPORT.findall(text)))
    except SyntaxError:  # such as one that goes on after a backslash
        tree = ast.parse(text)
    found: set[Path | None] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {_file_of(name.name) for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            folder = file.relative_to(_ROOT).parts[: -node.level] if node.level else ()
            package = ".".join([*folder, *filter(None, [node.module])])
            found |= {_file_of(f"{package}.{n.name}") or _file_of(package) for n in node.names}
    return frozenset(
        file for file in found if file and not any(map(file.is_relative_to, _PICTURES))
    )


def _file_of(module: str) -> Path | None:
    path = _ROOT.joinpath(*module.split("."))
    return next(
        (file for file in (path.with_suffix(".py"), path / "__init__.py") if file in _ALL), None
    )


@cache
def _text(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError:
        return b""


def are_unchanged(files: frozenset[Path]) -> bool:
    """Whether files are as when this process began, so that they match the code in memory."""
    return all(file in _ALL and _stamp(file) == _ALL[file] for file in files)


def _stamp(file: Path) -> tuple[int, int, int] | None:
    try:
        status = file.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_ctime_ns, status.st_size


@cache
def digest_of(files: frozenset[Path]) -> str:
    """Compute the digest of some files and of the settings that change compiled code."""
    versions = (platform.python_version(), numba.__version__, np.__version__)
    switches = (_settings.BOUNDSCHECK, _settings.DEBUGINFO_DEFAULT, _settings.OPT)
    digest = hashlib.sha256(repr((versions, switches)).encode())
    for file in sorted(files):
        digest.update(file.relative_to(_ROOT).as_posix().encode())
        digest.update(hashlib.sha256(_text(file)).digest())
    return digest.hexdigest()[:12]


_ROOT = Path(__file__).resolve().parents[1]
_PICTURES = (_ROOT / "analyses" / "plots", _ROOT / "analyses" / "page")
_ALL = {
    file: _stamp(file) for package in _PACKAGES for file in sorted((_ROOT / package).rglob("*.py"))
}
"""All source files of this project, with their state when this process began."""
