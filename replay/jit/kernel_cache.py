"""Where compiled code is kept, and when it is used again."""

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
import platformdirs

from replay.sources import are_unchanged, digest_of, sources_of

_Function = TypeVar("_Function", bound=Callable[..., Any])

_KEPT_SECONDS = 7 * 24 * 3600
_QUIET_SECONDS = 60
_lock = threading.Lock()
_settings: Any = numba.config
_caching: Any = numba.core.caching


def cached(function: _Function, options: dict[str, Any], what: str | None = "") -> _Function:
    """Compile a function with numba's options, and keep its code on disk; `what` it is for."""
    sources = sources_of(function)
    folder = _cache_folder(digest_of(sources)) if are_unchanged(sources) else None
    compiled: _Function = numba.njit(**options)(function)
    if folder is None or _settings.DISABLE_JIT:
        return compiled
    with _lock:  # numba reads this setting for the kernels of other packages too
        before = _settings.CACHE_DIR
        _settings.CACHE_DIR = str(folder)
        try:
            compiled._cache = _KernelCache(function, what)  # type: ignore[attr-defined]
        finally:
            _settings.CACHE_DIR = before
    return compiled


_announced: dict[str, float] = {}  # what is compiled -> when that was said


def announce(what: str | None) -> None:
    """Say what is compiled: a learner once, other code at most once a minute; not in workers.

    None is compiled too soon to be worth a word.
    """
    if what is None:
        return
    now = time.monotonic()
    is_main = multiprocessing.current_process().name == "MainProcess"
    recent = now - max(_announced.values(), default=-math.inf) < _QUIET_SECONDS
    if not is_main or _settings.DISABLE_JIT or what in _announced or (not what and recent):
        return
    _announced[what] = now
    print(f"Compiling {what or 'new code'}: some seconds, the first time only.", file=sys.stderr)


class _KernelCache(_caching.FunctionCache):  # type: ignore[misc]
    """Numba's disk cache, for processes that share it and for disks that fail."""

    def __init__(self, function: Callable[..., Any], what: str | None) -> None:
        super().__init__(function)
        self._what = what
        # Numba counts the files of a kernel. Two processes that compile two signatures at the same
        # time would give both one number, and lead from one signature to the code of the other.
        name = self._cache_file._data_name
        self._cache_file._data_name = lambda _: name(uuid.uuid4().int >> 64)

    def load_overload(self, signature: Any, context: Any) -> Any:
        """Find compiled code; what is damaged is compiled anew, all of the kernel."""
        found = None
        try:
            found = super().load_overload(signature, context)
        except Exception:  # a damaged file may raise anything
            with contextlib.suppress(OSError):
                self.flush()
        if found is None:
            announce(self._what)
        return found

    def save_overload(self, signature: Any, compiled: Any) -> None:
        """Keep compiled code if there is room for it."""
        with contextlib.suppress(OSError):
            super().save_overload(signature, compiled)


def _roots() -> Iterable[Path]:
    """List the folders that may hold the cache, the best first."""
    # Not numba's setting, which a file in the working folder can change.
    if given := os.environ.get("NUMBA_CACHE_DIR"):
        yield Path(given) / "hippocampal-replay"
    yield platformdirs.user_cache_path("hippocampal-replay", appauthor=False)
    user = os.getuid() if hasattr(os, "getuid") else "user"
    yield Path(tempfile.gettempdir()) / f"hippocampal-replay-{user}"


def _is_private(folder: Path) -> bool:
    """Whether nobody else can put files into a folder: a cache holds code, which is run."""
    if not hasattr(os, "getuid"):  # folders have owners on POSIX only
        return True
    found, link = folder.stat(), folder.lstat()
    is_own = found.st_uid == link.st_uid == os.getuid()
    return is_own and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


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
    """Return the first root that this user, and nobody else, can write to."""
    refused = []
    found = None
    for root in _roots():
        with contextlib.suppress(OSError):
            root.mkdir(mode=0o700, parents=True, exist_ok=True)
            if not _is_private(root):
                refused.append(root)
                continue
            tempfile.TemporaryFile(dir=root).close()  # a disk may be read-only
            atexit.register(_prune, root)  # when this process has touched all folders it needs
            found = root
            break
    if refused and multiprocessing.current_process().name == "MainProcess":
        print(
            f"Others can write to {refused[0]}, so compiled code is "
            f"{'not kept' if found is None else f'kept in {found} instead'}.",
            file=sys.stderr,
        )
    return found


def _prune(root: Path) -> None:
    """Remove the folders that no process has touched for days; one that needs them makes them."""
    for path in root.iterdir() if root.is_dir() else ():
        with contextlib.suppress(OSError):
            unused = time.time() - path.stat().st_mtime
            if path.is_dir() and unused > _KEPT_SECONDS:
                shutil.rmtree(path, ignore_errors=True)
