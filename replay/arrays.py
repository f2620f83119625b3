"""Large arrays in memory that earlier work is done with."""

import sys
import threading

import numpy as np
from numpy.typing import DTypeLike

__all__ = ["uninitialised"]

_SMALLEST = 1 << 17
_MOST_BYTES = 1 << 28
_spare: list[np.ndarray] = []
_lock = threading.Lock()


def _references(arrays: list[np.ndarray], place: int) -> int:
    return sys.getrefcount(arrays[place])


_ALONE = _references([np.empty(0)], 0)
"""How many references there are to an array that only a list knows: no view of it is left."""


def uninitialised(n_rows: int, dtype: DTypeLike) -> np.ndarray:
    """Make an array whose content is yet to be written, of memory that an earlier run is done with.

    Memory that the operating system hands out anew costs more to touch than a learner's step.

    Parameters
    ----------
    n_rows : int
        Its length.
    dtype : dtype
        Its type.

    Returns
    -------
    ndarray of dtype, shape (n_rows,)
        An array that nobody else knows.

    Examples
    --------
    >>> len(uninitialised(3, np.float64))
    3
    """
    n_bytes = n_rows * np.dtype(dtype).itemsize
    if not _SMALLEST <= n_bytes <= _MOST_BYTES // 2:
        return np.empty(n_rows, dtype=dtype)
    with _lock:
        fitting = [
            place
            for place in range(len(_spare))
            if n_bytes <= len(_spare[place]) and _references(_spare, place) == _ALONE
        ]
        if fitting:
            best = min(fitting, key=lambda place: len(_spare[place]))
            memory = _spare.pop(best)
        else:
            memory = np.empty(n_bytes, dtype=np.uint8)
        _spare.append(memory)
        while sum(map(len, _spare)) > _MOST_BYTES:
            del _spare[0]
        return memory[:n_bytes].view(dtype)
