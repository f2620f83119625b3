"""How each kind of function is compiled; and functions of Python that compiled code calls.

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

import gc
import time
from collections.abc import Callable
from ctypes import CFUNCTYPE, c_int64, c_void_p, cast
from typing import Any, TypeVar

import numba
import numba.core.codegen
import numba.core.compiler
import numba.core.event
from llvmlite import ir
from numba import types
from numba.extending import intrinsic, overload, register_jitable
from numpy.typing import NDArray

from replay.jit.kernel_cache import announce, cached

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


_Function = TypeVar("_Function", bound=Callable[..., Any])

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


def loop_kernel(function: _Function, what: str | None = "") -> _Function:
    """Compile a loop over many steps that allocates nothing, and keep it on disk.

    When it is compiled, a line says `what` for, such as a learner; None: nothing is said.

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
    return cached(function, _OPTIONS | {"_nrt": False, "pipeline_class": LoopCompiler}, what)


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
    return cached(function, _OPTIONS)


def uncached_kernel(function: _Function, what: str = "") -> _Function:
    """Compile a function that calls code from outside this project, for this process only.

    Examples
    --------
    >>> uncached_kernel(lambda number: number + 1)(1)
    2
    """
    announce(what)
    compiled: _Function = numba.njit(**_OPTIONS)(function)
    return compiled


@inlined
def as_int(number: int) -> int:
    """Widen a number that comes from an array, so that one type of it is compiled, not two."""
    return 0 + int(number)  # numba's int leaves it as narrow as it is


@inlined
def count_up_to(ascending: NDArray[Any], value: float) -> int:
    """Count the entries of an ascending array that are at most `value`.

    Examples
    --------
    >>> import numpy as np
    >>> count_up_to(np.array([1, 3, 3, 8]), 3)
    3
    """
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

    Examples
    --------
    >>> address, kept = address_of(lambda number: number + 1)
    >>> call(address, 2)
    3
    """
    made = _NUMBER_TO_NUMBER(function)
    return cast(made, c_void_p).value or 0, made


def call(address: int, number: int) -> int:
    """Call the function at an address, in Python or in compiled code."""
    return int(_NUMBER_TO_NUMBER(address)(number))


def _generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    kind = ir.FunctionType(ir.IntType(64), [ir.IntType(64)])
    function = builder.inttoptr(arguments[0], kind.as_pointer())
    return builder.call(function, arguments[1:])


@intrinsic
def _call(typing_context: Any, address: Any, number: Any) -> Any:
    return types.int64(types.int64, types.int64), _generate


@overload(call, inline="always")
def _compiled_call(address, number):  # type: ignore[no-untyped-def]
    return lambda address, number: _call(address, number)  # type: ignore[call-arg]
