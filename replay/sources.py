"""The source files that a function or a module depends on, and a digest of their contents.

Compiled code and the results of runs are identified by this digest: an edit of one of these files
changes it, an edit elsewhere does not.
"""

import contextlib
import functools
import hashlib
import importlib.util
import inspect
import platform
import re
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numba
import numpy as np

__all__ = ["are_unchanged", "digest_of", "sources_digest", "sources_of"]

_PACKAGES = ("replay", "analyses")
_IMPORT = re.compile(
    r"(?:^|[;:])[ \t]*(?:from[ \t]+(\.*[\w.]*)[ \t]+import\b[ \t]*"
    r"(\((?:[^)#]|#[^\n]*)*\)|[^\n#;]*)|import[ \t]+([^\n#;]*))",
    re.MULTILINE,
)
_TYPES_ONLY = re.compile(r"^if TYPE_CHECKING:\n(?:[ \t]+.*\n)+", re.MULTILINE)
_settings: Any = numba.config


def sources_digest(*modules: str) -> str:
    """Compute the digest of the sources of some modules, and of everything that these import.

    Examples
    --------
    >>> sources_digest("replay.checks") == sources_digest("replay.checks")
    True
    >>> sources_digest("replay.checks") == sources_digest("replay.files")
    False
    """
    if not modules:
        return digest_of(frozenset(_ALL))
    files = [_file_of(module) for module in modules]
    for module, file in zip(modules, files, strict=True):
        if file is None:
            raise ModuleNotFoundError(f"There is no module {module!r} in this project.")
    return digest_of(_closure(frozenset(file for file in files if file)))


def sources_of(function: Callable[..., Any]) -> frozenset[Path]:
    """List the files from which a function is compiled: its own, and all files that it imports.

    Examples
    --------
    >>> sorted(file.name for file in sources_of(sources_digest))
    ['sources.py']
    """
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
        for each in (*_cells(value), *(value.__defaults__ or ())):
            _collect(each, found, seen)
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


def _cells(function: Callable[..., Any]) -> Iterator[Any]:
    for cell in getattr(function, "__closure__", None) or ():
        with contextlib.suppress(ValueError):  # an empty cell
            yield cell.cell_contents


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
    found: set[Path | None] = set()
    text = _TYPES_ONLY.sub("", _text(file).decode("utf-8", errors="replace"))
    text = text.replace("\\\n", " ")
    for package, names, modules in _IMPORT.findall(text):
        if package.startswith("."):
            package = _absolute(file, package)
        for name in re.sub(r"#[^\n]*", "", names or modules).strip("() \t\n").split(","):
            word = name.split()[0] if name.split() else ""
            if package.split(".")[0] in _PACKAGES:
                found.add(_file_of(f"{package}.{word}") or _file_of(package))
            elif not package and word.split(".")[0] in _PACKAGES:
                found.add(_file_of(word))
    return frozenset(
        file for file in found if file and not any(map(file.is_relative_to, _PICTURES))
    )


def _absolute(file: Path, package: str) -> str:
    """Return the full name of a package or module that is imported relative to a file."""
    n_dots = len(package) - len(package.lstrip("."))
    parts = file.relative_to(_ROOT).parts[:-n_dots] if file.is_relative_to(_ROOT) else ()
    return ".".join([*parts, *filter(None, package.lstrip(".").split("."))])


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
    """Whether files are unchanged since this process began, so that they match the code in memory.

    Examples
    --------
    >>> are_unchanged(frozenset([Path("my_learner.py")]))
    False
    """
    return all(
        file in _ALL and _stamp(file) == _ALL[file] and not _has_old_bytecode(file)
        for file in files
    )


def _stamp(file: Path) -> tuple[int, int, int] | None:
    try:
        status = file.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_ctime_ns, status.st_size


def _has_old_bytecode(file: Path) -> bool:
    """Whether Python may run bytecode that is older than a file.

    Python compares only the file's size and the second of its last change.
    """
    try:
        bytecode = Path(importlib.util.cache_from_source(str(file))).stat()
        source = file.stat()
    except OSError:
        return False
    is_same_second = int(bytecode.st_mtime) == int(source.st_mtime)
    return is_same_second and bytecode.st_mtime_ns < source.st_mtime_ns


@cache
def digest_of(files: frozenset[Path]) -> str:
    """Compute the digest of some files and of the settings that change compiled code.

    Examples
    --------
    >>> len(digest_of(sources_of(sources_digest)))
    12
    """
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
