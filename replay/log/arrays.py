"""Large arrays, in memory that is reused or on disk."""

import errno
import mmap
import os
import sys
import tempfile
import threading
import weakref
from typing import IO, Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

_SMALLEST = 1 << 17
_MOST_BYTES = 1 << 27
_MOST_IN_MEMORY = 1 << 25
_NOT_SUPPORTED = (errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP)
_spare: dict[int, list[NDArray[np.uint8]]] = {}  # by size; the last used at the end
_lock = threading.Lock()


def _references(arrays: list[NDArray[Any]], place: int) -> int:
    return sys.getrefcount(arrays[place])


_ALONE = _references([np.empty(0)], 0)
"""The number of references to an array that only a list holds: no view of it is left."""


def uninitialised(n_rows: int, dtype: DTypeLike) -> NDArray[Any]:
    """Make an uninitialised array, if possible in memory that an earlier run has used.

    Touching new memory of the operating system takes longer than a learner's step. The array
    shares its memory with no other.

    Examples
    --------
    >>> len(uninitialised(3, np.float64))
    3
    """
    n_bytes = n_rows * np.dtype(dtype).itemsize
    if not _SMALLEST <= n_bytes <= _MOST_BYTES // 2:
        return np.empty(n_rows, dtype=dtype)
    unit = 1 << (n_bytes.bit_length() - 3)
    size = -(-n_bytes // unit) * unit  # of a few sizes, so that memory fits again
    with _lock:
        alike = _spare[size] = _spare.pop(size, [])
        for place in reversed(range(len(alike))):  # the last one used may still be in the cache
            if _references(alike, place) == _ALONE:
                memory = alike.pop(place)
                break
        else:
            memory = np.empty(size, dtype=np.uint8)
            while size + sum(each * len(_spare[each]) for each in _spare) > _MOST_BYTES:
                oldest = next(each for each in _spare if _spare[each])
                del _spare[oldest][0]
        alike.append(memory)
        return memory[:n_bytes].view(dtype)


class GrowingArray:
    """An array that is filled from its beginning, and extended when necessary.

    Up to 32 MB it is made by `uninitialised`. Then it becomes a memory-mapped temporary file
    without a name, in the folder that :mod:`tempfile` chooses, which the operating system writes to
    disk when it needs the memory. The array may therefore outgrow the memory, but not the disk. If
    that folder is itself kept in memory, nothing is gained.

    Parameters
    ----------
    dtype : dtype
        The type of the rows.

    Attributes
    ----------
    rows : ndarray of dtype
        The array; `reserve` may replace it.

    Examples
    --------
    >>> array = GrowingArray(np.float64)
    >>> array.reserve(2, 0)
    >>> array.rows[:2] = 1.0, 2.0
    >>> array.reserve(10_000_000, 2)
    >>> array.rows[:2].tolist()
    [1.0, 2.0]
    """

    def __init__(self, dtype: DTypeLike) -> None:
        self.rows = np.empty(0, dtype)
        self._file: IO[bytes] | None = None
        self._n_reserved = 0

    def reserve(self, n_rows: int, n_filled: int) -> None:
        """Extend the array to at least this number of rows, and keep those that are filled."""
        most_in_memory = _MOST_IN_MEMORY // self.rows.itemsize
        if n_rows > max(len(self.rows), most_in_memory):
            known, is_new = self.rows, self._file is None
            n_bytes = max(n_rows, 2 * len(known)) * known.itemsize
            if self._file is None:
                self._file = tempfile.TemporaryFile()  # noqa: SIM115 (open as long as the array is)
                weakref.finalize(self, self._file.close)
            self._file.truncate(n_bytes)
            self.rows = np.frombuffer(mmap.mmap(self._file.fileno(), n_bytes), known.dtype)
            if is_new:
                self._allocate(known.nbytes)
                self.rows[: min(n_filled, len(known))] = known[:n_filled]
        elif n_rows > len(self.rows):
            longer = uninitialised(
                max(n_rows, min(2 * len(self.rows), most_in_memory)), self.rows.dtype
            )
            longer[: min(n_filled, len(self.rows))] = self.rows[:n_filled]
            self.rows = longer
        self._allocate(n_rows * self.rows.itemsize)

    def _allocate(self, n_bytes: int) -> None:
        """Reserve disk space: writing to a mapped file without space would end the process."""
        n_more = n_bytes - self._n_reserved
        if self._file is None or n_more <= 0 or not hasattr(os, "posix_fallocate"):
            return
        try:
            os.posix_fallocate(self._file.fileno(), self._n_reserved, n_more)
        except OSError as error:
            if error.errno not in _NOT_SUPPORTED:
                raise OSError(
                    error.errno,
                    f"{tempfile.gettempdir()} has no room for another {n_more / 1e6:,.0f} MB of "
                    "temporary files; set TMPDIR to another folder",
                ) from error
        self._n_reserved = n_bytes
