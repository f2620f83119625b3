"""Functions of Python that compiled loops call by their address."""

from collections.abc import Callable
from ctypes import CFUNCTYPE, c_int64, c_void_p, cast
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic, overload

__all__ = ["address_of", "call"]

_NUMBER_TO_NUMBER = CFUNCTYPE(c_int64, c_int64)


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
