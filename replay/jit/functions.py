"""How each kind of function is compiled."""

from collections.abc import Callable
from typing import Any, TypeVar

import numba
from numba.extending import register_jitable

from replay.jit.kernel_cache import announce, cached
from replay.jit.linked_code import LinkedCompiler, LoopCompiler

__all__ = ["as_int", "inlined", "jitable", "kernel", "loop_kernel", "own_code", "uncached_kernel"]

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
