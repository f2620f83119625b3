"""How each kind of function is compiled; and functions of Python that compiled code calls."""

from collections.abc import Callable
from ctypes import CFUNCTYPE, c_int64, c_void_p, cast
from typing import Any, TypeVar

import numba
from llvmlite import ir
from numba import types
from numba.extending import intrinsic, overload, register_jitable
from numpy.typing import NDArray

from replay.jit.compilers import LinkedCompiler, LoopCompiler
from replay.jit.kernel_cache import announce, cached

__all__ = ["address_of", "as_int", "call", "count_up_to", "inlined", "jitable", "kernel"]
__all__ += ["loop_kernel", "own_code", "uncached_kernel"]

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
