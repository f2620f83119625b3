"""How functions are compiled, and where compiled code is kept.

Numba's own disk cache notices an edit of the file that holds a kernel, but not of the helpers that
the kernel calls from other files. Here the cache folder of a kernel is named after the contents of
its own file and of all files that this one imports, at first or second hand. What these hold is
compiled anew after an edit, once, and old code never runs; an edit elsewhere changes nothing.
Kernels are kept in the user's cache folder, or below ``NUMBA_CACHE_DIR`` if that is set.
``NUMBA_DISABLE_JIT=1`` runs everything as plain Python, ``NUMBA_BOUNDSCHECK=1`` checks all indices.
"""

import contextlib
import hashlib
import inspect
import os
import platform
import re
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import numba
import numpy as np
import platformdirs
from numba.extending import register_jitable as jitable

__all__ = ["inlined", "jitable", "kernel", "loop_kernel", "sources_digest", "uncached_kernel"]

Function = TypeVar("Function", bound=Callable)

_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy"}
# Counting references to the arrays of nested NamedTuples, and passing these to functions that are
# not inlined, takes ten times as long as the work of a learner's step.
_LEAN: dict[str, Any] = {"_nrt": False, "forceinline": True}
_KEPT_SECONDS = 3 * 24 * 3600
_PROBE = 1 << 20
_IMPORT = re.compile(
    r"^[ \t]*(?:from ((?:replay|analyses)[\w.]*) import (\([^)]*\)|.*)"
    r"|import ((?:replay|analyses)[\w.]*))",
    re.MULTILINE,
)
_TYPES_ONLY = re.compile(r"^if TYPE_CHECKING:\n(?:[ \t]+.*\n)+", re.MULTILINE)
_lock = threading.Lock()
_settings: Any = numba.config


def inlined(function: Function) -> Function:
    """Mark a part of a `loop_kernel`: a function that allocates nothing and is always inlined."""
    return jitable(**_LEAN, error_model="numpy")(function)


def loop_kernel(function: Function) -> Function:
    """Compile a loop over many steps that allocates nothing, and keep it on disk.

    Parameters
    ----------
    function : callable
        A function of arrays, scalars and NamedTuples; what it calls is `inlined`.

    Returns
    -------
    callable
        The same function, compiled.

    Examples
    --------
    >>> @loop_kernel
    ... def fill(values, number):
    ...     for i in range(len(values)):
    ...         values[i] = number
    >>> values = np.zeros(2)
    >>> fill(values, 1.0)
    >>> values.tolist()
    [1.0, 1.0]
    """
    return _cached(function, _OPTIONS | {"_nrt": False})


def kernel(function: Function) -> Function:
    """Compile a function of this project when it is first called, and keep it on disk.

    Parameters
    ----------
    function : callable
        A function of arrays, scalars and NamedTuples that does not check its input.

    Returns
    -------
    callable
        The same function, compiled, without the global interpreter lock.

    Examples
    --------
    >>> @kernel
    ... def total(values):
    ...     result = 0.0
    ...     for value in values:
    ...         result += value
    ...     return result
    >>> total(np.arange(4.0))
    6.0
    """
    return _cached(function, _OPTIONS)


def _cached(function: Function, options: dict[str, Any]) -> Function:
    sources = _sources(function)
    folder = _cache_folder(_digest(sources)) if _are_unchanged(sources) else None
    if folder is None:
        return numba.njit(**options)(function)
    with _lock:  # numba reads this setting when a function is decorated, for other packages too
        before = _settings.CACHE_DIR
        _settings.CACHE_DIR = str(folder)
        try:
            return numba.njit(cache=True, **options)(function)
        finally:
            _settings.CACHE_DIR = before


def uncached_kernel(function: Function) -> Function:
    """Compile a function that calls code from outside this project, for this process only.

    Parameters
    ----------
    function : callable
        As for `kernel`; it may call functions of a user's own module.

    Returns
    -------
    callable
        The same function, compiled.

    Examples
    --------
    >>> uncached_kernel(lambda number: number + 1)(1)
    2
    """
    return numba.njit(**_OPTIONS)(function)


def sources_digest(*modules: str) -> str:
    """Name the contents of the sources of some modules, and of all that these import.

    Parameters
    ----------
    *modules : str
        Names of modules of this project; without any, all of its sources count.

    Returns
    -------
    str
        The same on all machines with these sources, versions of Python, numba and numpy, and
        settings of the compiler.

    Raises
    ------
    ModuleNotFoundError
        If there is no such module.

    Examples
    --------
    >>> sources_digest("replay.names") == sources_digest("replay.names")
    True
    >>> sources_digest("replay.names") == sources_digest("replay.files")
    False
    """
    if not modules:
        return _digest(frozenset(_ALL))
    files = [_file_of(module) for module in modules]
    for module, file in zip(modules, files, strict=True):
        if file is None:
            raise ModuleNotFoundError(f"There is no module {module!r} in this project.")
    return _digest(_closure(frozenset(file for file in files if file)))


def _sources(function: Callable) -> frozenset[Path]:
    """List the files from which a function is compiled: its own, and all that these import.

    A loop of a learner holds the learner's functions as closed variables.
    """
    cells = [cell.cell_contents for cell in function.__closure__ or ()]
    functions = [function, *(inspect.unwrap(cell) for cell in cells if inspect.isfunction(cell))]
    return _closure(frozenset(Path(each.__code__.co_filename).resolve() for each in functions))


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
    """List the files of this project that a file imports from, at its top or within functions."""
    found = set()
    text = _TYPES_ONLY.sub("", _text(file).decode("utf-8", errors="replace"))
    for package, names, module in _IMPORT.findall(text):
        words = (name.split() for name in names.strip("() ").split(","))
        each = [f"{package}.{word[0]}" for word in words if word] if package else [module]
        found |= {_file_of(name) or _file_of(package) for name in each}
    return frozenset(file for file in found if file)


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


def _are_unchanged(files: frozenset[Path]) -> bool:
    """Tell whether files are as they were when this process began: so is the code in memory."""
    return all(file in _ALL and _stamp(file) == _ALL[file] for file in files)


def _stamp(file: Path) -> tuple[int, int] | None:
    try:
        status = file.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size


@cache
def _digest(files: frozenset[Path]) -> str:
    """Name the contents of some files, and the settings that change what is compiled."""
    versions = (platform.python_version(), numba.__version__, np.__version__)
    switches = (_settings.BOUNDSCHECK, _settings.DEBUGINFO_DEFAULT, _settings.OPT)
    digest = hashlib.sha256(repr((versions, switches)).encode())
    for file in sorted(files):
        digest.update(hashlib.sha256(_text(file)).digest())
    return digest.hexdigest()[:12]


def _roots() -> Iterable[Path]:
    """List the folders that may hold the cache, the best first."""
    if _settings.CACHE_DIR:
        yield Path(_settings.CACHE_DIR) / "hippocampal-replay"
    yield platformdirs.user_cache_path("hippocampal-replay", appauthor=False)
    user = os.getuid() if hasattr(os, "getuid") else "user"
    # Others may write to the temporary folder, and a cache is code: it must be our own.
    with contextlib.suppress(OSError):
        private = Path(tempfile.gettempdir()) / f"hippocampal-replay-{user}"
        private.mkdir(mode=0o700, exist_ok=True)
        status = private.lstat()
        if user == "user" or (status.st_uid == user and not status.st_mode & 0o022):
            yield private


@cache
def _cache_folder(digest: str) -> Path | None:
    """Make the folder for these sources in the first place that can be written to."""
    for root in _roots():
        folder = root / digest
        with contextlib.suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=folder) as probe:
                probe.write(bytes(_PROBE))  # a full disk or quota shows only when written to
            os.utime(folder)
            _prune(root, folder)
            return folder
    return None


def _prune(root: Path, current: Path) -> None:
    """Remove the folders that no process has begun with for days; another may be doing the same."""
    with contextlib.suppress(OSError):
        for path in root.iterdir():
            unused = time.time() - path.stat().st_mtime
            if path.is_dir() and path != current and unused > _KEPT_SECONDS:
                shutil.rmtree(path, ignore_errors=True)


_ROOT = Path(__file__).resolve().parents[1]
_ALL = {
    file: _stamp(file)
    for package in ("replay", "analyses")
    for file in sorted((_ROOT / package).rglob("*.py"))
}
"""All sources of this project, as they were when this process began."""
