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

Numba optimises each function as a whole and turns it into machine code, then does so again for
each function that calls it, since the code of the called function becomes part of the caller's: in
a loop whose functions call one another five deep, five times, and only the last result is ever run.
Here such a function stays as it is until it has been linked into a kernel, and is optimised there.
That saves a third of the time, and kernels are as fast. Such a function cannot print, which needs
an environment that only machine code of its own has.

The loop is then optimised as a whole, which takes longest by far for the learners that plan, and
makes their steps no faster: what counts in them was optimised function by function. It is left out
where there is much code. The time of compiling is stopped, too, since it does not count as work.
"""

import atexit
import contextlib
import gc
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
from ctypes import CFUNCTYPE, c_int64, c_void_p, cast
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import numba
import numba.core.caching
import numba.core.codegen
import numba.core.compiler
import numba.core.event
import platformdirs
from llvmlite import ir
from numba import types
from numba.extending import intrinsic, overload, register_jitable
from numpy.typing import NDArray

from replay.sources import are_unchanged, digest_of, sources_of

__all__ = ["address_of", "as_int", "call", "count_up_to", "inlined", "jitable", "kernel"]
__all__ += ["loop_kernel", "own_code", "uncached_kernel", "working_seconds"]

_Function = TypeVar("_Function", bound=Callable[..., Any])

_KEPT_SECONDS = 7 * 24 * 3600  # each edit of a file makes a new folder; most are never used again
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


_codegen: Any = numba.core.codegen
_compiler: Any = numba.core.compiler
_event: Any = numba.core.event
_dynfunc: Any = numba._dynfunc  # type: ignore[attr-defined]

_LARGE = 8500  # lines; sweeping, whose steps would take a tenth longer, has 8300 with a log


class _LinkedLibrary(_codegen.JITCodeLibrary):  # type: ignore[misc]
    """The code of a function with all that it calls, not optimised and never run by itself."""

    def finalize(self) -> None:
        self._raise_if_finalized()
        for library in dict.fromkeys(self._linking_libraries):
            if hasattr(library, "_reload_init"):  # of numba 0.63 and later
                self._reload_init.update(library._reload_init)
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        self._finalize_dynamic_globals()
        self._finalized = True


class _LoopLibrary(_codegen.JITCodeLibrary):  # type: ignore[misc]
    """The code of a loop with all that it calls; much code is optimised only in part."""

    def _optimize_final_module(self) -> None:
        codegen, module = self._codegen, self._final_module
        is_large = str(module).count("\n") > _LARGE
        if not is_large or hasattr(codegen, "_mpm_cheap"):  # of older numba
            super()._optimize_final_module()
            return
        passes, builder = codegen._module_pass_manager(
            loop_vectorize=codegen._loopvect,
            slp_vectorize=False,
            opt=codegen._opt_level,
            cost="cheap",
        )
        passes.run(module, builder)


class LoopCompiler(_compiler.Compiler):  # type: ignore[misc]
    """Numba's compiler for the loop of a learner."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        state = self.state
        state.library = _LoopLibrary(state.targetctx.codegen(), "loop")
        state.library.enable_object_caching()


class LinkedCompiler(_compiler.Compiler):  # type: ignore[misc]
    """Numba's compiler for a function that only other compiled code calls."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        state = self.state
        state.targetctx = state.targetctx.subtarget(get_executable=_name_of)
        state.library = _LinkedLibrary(state.targetctx.codegen(), "linked code")


def _name_of(library: Any, function: Any, environment: Any) -> Any:
    """Make what numba looks a compiled function up by; Python cannot call it."""
    library._ensure_finalized()
    name = function.qualname.split(".")[-1]
    return _dynfunc.make_function(function.lookup_module(), name, "", 0, environment, (library,))


class _Stopwatch(_event.Listener):  # type: ignore[misc]
    """Sums the time in which this process compiles, or loads compiled code.

    Compiling makes many objects and little garbage: to search them for some takes an eighth of it.
    """

    def __init__(self) -> None:
        self.seconds, self._begun, self._depth, self._collects = 0.0, 0.0, 0, False

    def on_start(self, event: Any) -> None:
        if not self._depth:
            self._begun, self._collects = time.process_time(), gc.isenabled()
            gc.disable()
        self._depth += 1

    def on_end(self, event: Any) -> None:
        self._depth -= 1
        if not self._depth:
            self.seconds += time.process_time() - self._begun
            if self._collects:
                gc.enable()


_stopwatch = _Stopwatch()
_event.register("numba:compiler_lock", _stopwatch)


def working_seconds() -> float:
    """Return the processor seconds of this process, without compiling or loading compiled code."""
    return time.process_time() - _stopwatch.seconds


_NUMBER_TO_NUMBER = CFUNCTYPE(c_int64, c_int64)
_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy"}
# Functions that only compiled code calls need no wrappers for Python and C, which take a third of
# the time to compile.
_WITHIN: dict[str, Any] = {"no_cfunc_wrapper": True, "no_cpython_wrapper": True}
# They need no machine code of their own either, unless they print, as a user's learner may.
_OURS: dict[str, Any] = {"pipeline_class": LinkedCompiler}
# To count references to the arrays of nested NamedTuples, and to pass these to functions that are
# not inlined, takes ten times as long as a learner's step itself.
_LEAN: dict[str, Any] = {"_nrt": False, "forceinline": True}


def inlined(function: _Function) -> _Function:
    """Mark a function that a `loop_kernel` calls; it allocates nothing and is always inlined."""
    return _within(function, _OURS | _LEAN | {"error_model": "numpy"})


def jitable(function: _Function) -> _Function:
    """Mark a function that kernels call."""
    return _within(function, _OURS)


def own_code(function: _Function) -> _Function:
    """Mark a function of a user's learner: every index is checked."""
    return _within(function, {"boundscheck": True})


def _within(function: _Function, options: dict[str, Any]) -> _Function:
    marked: _Function = register_jitable(**_WITHIN, **options)(function)
    return marked


def loop_kernel(function: _Function, what: str | None = "") -> _Function:
    """Compile a loop over many steps that allocates nothing, and keep it on disk.

    When it is compiled, a line says `what` for, such as a learner; None: nothing is said.
    """
    return cached(function, _OPTIONS | {"_nrt": False, "pipeline_class": LoopCompiler}, what)


def kernel(function: _Function) -> _Function:
    """Compile a function of this project at its first call, and keep it on disk."""
    return cached(function, _OPTIONS)


def uncached_kernel(function: _Function, what: str = "") -> _Function:
    """Compile a function that calls code from outside this project, for this process only."""
    announce(what)
    compiled: _Function = numba.njit(**_OPTIONS)(function)
    return compiled


@inlined
def as_int(number: int) -> int:
    """Widen a number that comes from an array, so that one type of it is compiled, not two."""
    return 0 + int(number)  # numba's int leaves it as narrow as it is


@inlined
def count_up_to(ascending: NDArray[Any], value: float) -> int:
    """Count the entries of an ascending array that are at most `value`."""
    # ``np.searchsorted`` takes a quarter of a second to compile.
    first, last = 0, len(ascending)
    while first < last:
        middle = (first + last) // 2
        if ascending[middle] <= value:
            first = middle + 1
        else:
            last = middle
    return first


def address_of(function: Callable[[int], int]) -> tuple[int, object]:
    """Return the address of a function, and what must be kept as long as it may be called.

    It must not raise.
    """
    made = _NUMBER_TO_NUMBER(function)
    return cast(made, c_void_p).value or 0, made


def call(address: int, number: int) -> int:
    """Call the function at an address, in Python or in compiled code."""
    return int(_NUMBER_TO_NUMBER(address)(number))


@intrinsic
def _call(typing_context: Any, address: Any, number: Any) -> Any:
    # Numba calls a function at an address that it knows while it compiles; this one comes later.
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = ir.FunctionType(ir.IntType(64), [ir.IntType(64)])
        function = builder.inttoptr(arguments[0], kind.as_pointer())
        return builder.call(function, arguments[1:])

    return types.int64(types.int64, types.int64), generate


@overload(call, inline="always")
def _compiled_call(address, number):  # type: ignore[no-untyped-def]
    return lambda address, number: _call(address, number)  # type: ignore[call-arg]
