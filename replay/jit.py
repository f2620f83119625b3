"""How functions are compiled, and where compiled code is kept.

Numba's disk cache notices an edit of the file that holds a kernel, but not of other files whose
functions the kernel calls. Here the cache folder of a kernel is named after the contents of its own
file and of all files that it imports, directly or indirectly. After an edit of one of these the
kernel is compiled again, once, and old code never runs; other edits have no effect. A kernel is not
kept if a file has changed since this process began, since the code in memory may be older than the
file. Many processes may share the cache: each writes its own files, and code that is damaged, or
cannot be written, is compiled again.
Kernels are kept in the user's cache folder, or below ``NUMBA_CACHE_DIR`` if that is set, but only
where nobody else can write: code that others put there would be run.
``NUMBA_DISABLE_JIT=1`` runs everything as plain Python, ``NUMBA_BOUNDSCHECK=1`` checks all indices.
"""

import atexit
import contextlib
import math
import multiprocessing
import os
import shutil
import stat
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import numba
import numba.core.caching
import numba.core.event
import platformdirs
from numba.extending import register_jitable

from replay.linked_code import LinkedCompiler
from replay.sources import are_unchanged, digest_of, sources_of

__all__ = [
    "compiling_seconds",
    "inlined",
    "jitable",
    "kernel",
    "loop_kernel",
    "own_code",
    "uncached_kernel",
]

_Function = TypeVar("_Function", bound=Callable[..., Any])

_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy"}
# Functions that only compiled code calls need no wrappers for Python and C, which take a third of
# the time to compile.
_WITHIN: dict[str, Any] = {"no_cfunc_wrapper": True, "no_cpython_wrapper": True}
# They need no machine code of their own either, unless they print, as a user's learner may.
_OURS: dict[str, Any] = {"pipeline_class": LinkedCompiler}
# To count references to the arrays of nested NamedTuples, and to pass these to functions that are
# not inlined, takes ten times as long as a learner's step itself.
_LEAN: dict[str, Any] = {"_nrt": False, "forceinline": True}
_KEPT_SECONDS = 7 * 24 * 3600
_PROBE = 1 << 20
_QUIET_SECONDS = 60
_lock = threading.Lock()
_settings: Any = numba.config
_caching: Any = numba.core.caching
_event: Any = numba.core.event


def inlined(function: _Function) -> _Function:
    """Mark a function that a `loop_kernel` calls; it allocates nothing and is always inlined.

    Examples
    --------
    >>> @inlined
    ... def double(number):
    ...     return 2 * number
    >>> double(4)
    8
    """
    return _within(function, _OURS | _LEAN | {"error_model": "numpy"})


def jitable(function: _Function) -> _Function:
    """Mark a function that kernels call.

    Examples
    --------
    >>> import numpy as np
    >>> @jitable
    ... def halves(number):
    ...     return np.full(2, number / 2)
    >>> halves(4).tolist()
    [2.0, 2.0]
    """
    return _within(function, _OURS)


def own_code(function: _Function) -> _Function:
    """Mark a function of a user's learner: every index is checked.

    Examples
    --------
    >>> own_code(len)([1])
    1
    """
    return _within(function, {"boundscheck": True})


def _within(function: _Function, options: dict[str, Any]) -> _Function:
    marked: _Function = register_jitable(**_WITHIN, **options)(function)
    return marked


def loop_kernel(function: _Function) -> _Function:
    """Compile a loop over many steps that allocates nothing, and keep it on disk.

    Examples
    --------
    >>> import numpy as np
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


def kernel(function: _Function) -> _Function:
    """Compile a function of this project at its first call, and keep it on disk.

    Examples
    --------
    >>> import numpy as np
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


def _cached(function: _Function, options: dict[str, Any]) -> _Function:
    sources = sources_of(function)
    folder = _cache_folder(digest_of(sources)) if are_unchanged(sources) else None
    compiled: _Function = numba.njit(**options)(function)
    if folder is None or _settings.DISABLE_JIT:
        return compiled
    with _lock:  # numba reads this setting for the kernels of other packages too
        before = _settings.CACHE_DIR
        _settings.CACHE_DIR = str(folder)
        try:
            compiled._cache = _KernelCache(function)  # type: ignore[attr-defined]
        finally:
            _settings.CACHE_DIR = before
    return compiled


class _Stopwatch(_event.Listener):  # type: ignore[misc]
    """Sums the time in which this process compiles, or loads compiled code."""

    def __init__(self) -> None:
        self.seconds, self._begun, self._depth = 0.0, 0.0, 0

    def on_start(self, event: Any) -> None:
        if not self._depth:
            self._begun = time.process_time()
        self._depth += 1

    def on_end(self, event: Any) -> None:
        self._depth -= 1
        if not self._depth:
            self.seconds += time.process_time() - self._begun


_stopwatch = _Stopwatch()
_event.register("numba:compiler_lock", _stopwatch)


def compiling_seconds() -> float:
    """Return the time that this process has spent compiling, or loading compiled code."""
    return _stopwatch.seconds


_announced = [-math.inf]  # time of the last announcement


def _announce() -> None:
    """Announce that code is compiled, at most once a minute, and only in the parent process."""
    is_main = multiprocessing.current_process().name == "MainProcess"
    now = time.monotonic()
    if is_main and not _settings.DISABLE_JIT and now > _announced[0] + _QUIET_SECONDS:
        print("Compiling new code: some seconds, at most half a minute.", file=sys.stderr)
        _announced[0] = now


class _KernelCache(_caching.FunctionCache):  # type: ignore[misc]
    """Numba's disk cache, for processes that share it and for disks that fail."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        locator = self._impl.locator
        self._cache_file = _CacheFile(
            self._cache_path, self._impl.filename_base, locator.get_source_stamp()
        )

    def load_overload(self, signature: Any, context: Any) -> Any:
        """Find compiled code; unreadable code counts as missing."""
        found = None
        with contextlib.suppress(Exception):
            found = super().load_overload(signature, context)
        if found is None:
            _announce()
        return found

    def save_overload(self, signature: Any, compiled: Any) -> None:
        """Keep compiled code if there is room for it."""
        with contextlib.suppress(OSError):
            super().save_overload(signature, compiled)


class _CacheFile(_caching.IndexDataCacheFile):  # type: ignore[misc]
    """The index of a kernel's signatures, and a file for each of them.

    Numba numbers these files in turn. Two processes that compile two signatures at the same time
    would give both the same number, and the index of one could then lead to the code of the other.
    """

    def _data_name(self, number: int) -> str:
        name: str = super()._data_name(uuid.uuid4().int >> 64)
        return name

    def _load_index(self) -> dict[Any, str]:
        try:
            return dict(super()._load_index())
        except Exception:  # a damaged file may raise anything
            return {}


def uncached_kernel(function: _Function) -> _Function:
    """Compile a function that calls code from outside this project, for this process only.

    Examples
    --------
    >>> uncached_kernel(lambda number: number + 1)(1)
    2
    """
    _announce()
    compiled: _Function = numba.njit(**_OPTIONS)(function)
    return compiled


def _roots() -> Iterable[Path]:
    """List the folders that may hold the cache, the best first."""
    if _settings.CACHE_DIR:
        yield Path(_settings.CACHE_DIR) / "hippocampal-replay"
    yield platformdirs.user_cache_path("hippocampal-replay", appauthor=False)
    user = os.getuid() if hasattr(os, "getuid") else "user"
    yield Path(tempfile.gettempdir()) / f"hippocampal-replay-{user}"


def _is_private(folder: Path) -> bool:
    """Whether nobody else can put files into a folder: a cache holds code, which is run.

    The folders above it count too, since whoever can rename a folder can put another in its place.
    """
    if not hasattr(os, "getuid"):  # folders have owners on POSIX only
        return True
    user = os.getuid()
    folder, real = folder.absolute(), folder.resolve()
    above = {path: path.lstat() for path in (*folder.parents, *real.parents)}
    return (
        real.lstat().st_uid == user
        and not _others_write(real.lstat(), user)
        and all(
            found.st_uid in (0, user)
            and (
                stat.S_ISLNK(found.st_mode)
                or found.st_mode & stat.S_ISVTX
                or not _others_write(found, user)
            )
            for found in above.values()
        )
        and (not folder.is_symlink() or folder.lstat().st_uid == user)
    )


def _others_write(found: os.stat_result, user: int) -> bool:
    # The group that has the number of the user has no other members.
    others = stat.S_IWOTH if found.st_gid == user else stat.S_IWOTH | stat.S_IWGRP
    return bool(found.st_mode & others)


@cache
def _cache_folder(digest: str) -> Path | None:
    """Make the folder for these sources in the first root that can be written to."""
    root = _root()
    if root is None:
        return None
    folder = root / digest
    with contextlib.suppress(OSError):
        folder.mkdir(mode=0o700, exist_ok=True)
        os.utime(folder)
        if _is_private(folder):
            return folder
    return None


@cache
def _root() -> Path | None:
    """Return the first root that this user, and nobody else, can write to.

    Old folders there are removed at exit, when this process has touched all folders that it needs.
    """
    refused = []
    found = None
    for root in _roots():
        with contextlib.suppress(OSError):
            root.mkdir(mode=0o700, parents=True, exist_ok=True)
            if not _is_private(root):
                refused.append(root)
                continue
            with tempfile.TemporaryFile(dir=root) as probe:
                probe.write(bytes(_PROBE))  # only writing reveals a full disk or quota
            atexit.register(_prune, root)
            found = root
            break
    if refused and multiprocessing.current_process().name == "MainProcess":
        print(
            f"Others can write to {refused[0]}, or to a folder above it, so compiled code is "
            f"{'not kept' if found is None else f'kept in {found} instead'}.",
            file=sys.stderr,
        )
    return found


def _prune(root: Path) -> None:
    """Remove the folders that no process has touched for days; another may be doing the same.

    A process that still uses one makes it again when it has code to keep.
    """
    for path in root.iterdir() if root.is_dir() else ():
        with contextlib.suppress(OSError):
            unused = time.time() - path.stat().st_mtime
            if path.is_dir() and unused > _KEPT_SECONDS:
                shutil.rmtree(path, ignore_errors=True)
