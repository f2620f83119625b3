"""Bisection in compiled code: ``np.searchsorted`` takes a quarter of a second to compile there."""

from typing import Any

from numpy.typing import NDArray

from replay.jit.functions import inlined

__all__ = ["count_up_to"]


@inlined
def count_up_to(ascending: NDArray[Any], value: float) -> int:
    """Count the entries of an ascending array that are at most `value`.

    Examples
    --------
    >>> import numpy as np
    >>> count_up_to(np.array([1, 3, 3, 8]), 3)
    3
    """
    first, last = 0, len(ascending)
    while first < last:
        middle = (first + last) // 2
        if ascending[middle] <= value:
            first = middle + 1
        else:
            last = middle
    return first
