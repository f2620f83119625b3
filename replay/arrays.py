"""Large arrays: in memory that earlier work is done with, or on disk."""

import errno
import mmap
import os
import sys
import tempfile
import threading
import weakref

import numpy as np
from numpy.typing import DTypeLike

__all__ = ["GrowingArray", "uninitialised"]

_SMALLEST = 1 << 17
_MOST_BYTES = 1 << 27
_NOT_SUPPORTED = (errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP)
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


class GrowingArray:
    """An array that is filled from its beginning, with room for all that may ever come.

    Up to 64 MB it is as `uninitialised` makes it. A larger one is a temporary file without a name,
    in the folder that :mod:`tempfile` chooses, mapped into memory: what the operating system needs
    the memory for, it writes out. So the array may outgrow the memory, but not the disk; in a
    folder that is kept in memory, nothing is gained.

    Parameters
    ----------
    most : int
        How many rows may come; those that never do take neither memory nor disk.
    dtype : dtype
        Their type.

    Attributes
    ----------
    rows : ndarray of dtype, shape (most,)
        The array. What is not reserved yet must not be written.

    Examples
    --------
    >>> array = GrowingArray(1_000_000_000, np.float64)
    >>> array.reserve(2)
    >>> array.rows[:2] = 1.0, 2.0
    >>> float(array.rows[1])
    2.0
    """

    def __init__(self, most: int, dtype: DTypeLike) -> None:
        dtype = np.dtype(dtype)
        n_bytes = most * dtype.itemsize
        self._file = None
        self._n_reserved = 0
        if n_bytes <= _MOST_BYTES // 2:
            self.rows = uninitialised(most, dtype)
            return
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 (it is open as long as the array is)
        weakref.finalize(self, self._file.close)
        self._file.truncate(n_bytes)
        self.rows = np.frombuffer(mmap.mmap(self._file.fileno(), n_bytes), dtype)

    def reserve(self, n_rows: int) -> None:
        """Make sure that there is room for the first rows.

        Parameters
        ----------
        n_rows : int
            How many.

        Raises
        ------
        OSError
            If the disk is full.
        """
        n_bytes = min(n_rows, len(self.rows)) * self.rows.itemsize - self._n_reserved
        # Writing to a mapped file ends the process if the disk turns out to be full.
        if self._file is None or n_bytes <= 0 or not hasattr(os, "posix_fallocate"):
            return
        try:
            os.posix_fallocate(self._file.fileno(), self._n_reserved, n_bytes)
        except OSError as error:
            if error.errno not in _NOT_SUPPORTED:
                raise OSError(
                    error.errno,
                    f"{tempfile.gettempdir()} has no room for {n_bytes / 1e6:,.0f} MB more of "
                    "temporary files; TMPDIR names another folder",
                ) from error
        self._n_reserved += n_bytes
