"""The buffer to which learners write their backups while a kernel runs.

A learner calls :func:`record` for every backup; a learner without values calls :func:`reactivate`
for every move from one reactivated place to the next. If nothing is logged, the buffer is None: a
learner is written once for both cases, and compiled without any code for a log if there is none.

Large arrays, in memory that is reused or on disk.
"""

import errno
import mmap
import os
import sys
import tempfile
import threading
import weakref
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from replay.checks.arrays import Ints
from replay.jit import inlined

_SMALLEST = 1 << 17  # bytes: smaller arrays come from memory that the process has already
_MOST_BYTES = 1 << 27  # of spare memory
_MOST_IN_MEMORY = 1 << 25  # bytes of a growing array, which then becomes a file
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


PHASES = ("online", "trace", "step", "episode_end", "start", "rest")
ONLINE, TRACE, STEP, EPISODE_END, START, REST = range(6)

BACKUP = np.dtype(
    [
        ("reward", np.float64),
        ("priority", np.float64),
        ("q_before", np.float64),
        ("q_after", np.float64),
        ("step", np.int32),
        ("cause", np.int32),
        ("state", np.int32),
        ("next_state", np.int32),
        ("pop", np.int32),
        ("action", np.int16),
        ("phase", np.int8),
    ],
    align=True,
)
"""One backup as a kernel writes it; columns that can be derived from the steps are added later."""

EVALUATION = np.dtype([("gain", np.float64), ("need", np.float64)])
"""What a learner that evaluates its backups writes in addition, one row per backup."""

_FIRST_ROW, _FILL, _STEP, _N_LOST, _N_EVENTS, _PAUSE = range(6)
_FIRST_PHASE = {"replay": STEP, "all": ONLINE}


class BackupBuffer(NamedTuple):
    """Preallocated rows, and counters for filling them."""

    rows: NDArray[np.void]  # (capacity,): the backups; the first ``n_rows(buffer)`` are filled
    # (6,): rows of the run before this buffer, rows filled, the current step, rows lost because
    # the buffer was full, replay events so far, and the pause (step and phase) of the last
    # backup.
    counter: Ints
    # The first phase that is kept. As a number, not an entry of an array, it stays in a
    # register.
    first_phase: int
    # (capacity,): gain and need, for learners that evaluate their backups.
    evaluations: NDArray[np.void] | None = None


def backup_buffer(capacity: int, keep: str, evaluates: bool = False) -> BackupBuffer:
    """Make an empty buffer; `keep` is "replay" or "all"."""
    counter = np.zeros(6, dtype=np.int64)
    counter[_PAUSE] = -len(PHASES) - 1  # before any
    evaluations = uninitialised(capacity, EVALUATION) if evaluates else None
    rows = uninitialised(capacity, BACKUP)
    return BackupBuffer(rows, counter, _FIRST_PHASE[keep], evaluations)


def renew(buffer: BackupBuffer, capacity: int) -> tuple[tuple[NDArray[np.void], ...], BackupBuffer]:
    """Return what is `filled` of a buffer, and an empty buffer for the backups that follow."""
    tables = filled(buffer)
    buffer.counter[_FIRST_ROW] += buffer.counter[_FILL]
    buffer.counter[_FILL] = 0
    evaluations = None if len(tables) == 1 else uninitialised(capacity, EVALUATION)
    return tables, buffer._replace(rows=uninitialised(capacity, BACKUP), evaluations=evaluations)


def filled(buffer: BackupBuffer) -> tuple[NDArray[np.void], ...]:
    """Return the filled rows of a buffer, and their evaluations, if there are any."""
    tables = (buffer.rows, buffer.evaluations)
    return tuple(table[: buffer.counter[_FILL]] for table in tables if table is not None)


def n_kept(buffer: BackupBuffer) -> int:
    """Count the backups kept since the run began."""
    return int(buffer.counter[_FIRST_ROW] + buffer.counter[_FILL])


def n_events(buffer: BackupBuffer) -> int:
    """Count the replay events since the run began."""
    return int(buffer.counter[_N_EVENTS])


def n_lost(buffer: BackupBuffer) -> int:
    """Count the backups lost since the run began because the buffer was full."""
    return int(buffer.counter[_N_LOST])


@inlined
def set_step(log: BackupBuffer, step: int) -> None:
    """Set the step of the run to which the next backups belong.

    Steps are counted over the run; -1 before the first.
    """
    log.counter[_STEP] = step


@inlined
def room(log: BackupBuffer) -> int:
    """Count the backups for which there is still room."""
    n_rows: int = len(log.rows) - log.counter[_FILL]
    return n_rows


@inlined
def keeps(log: BackupBuffer | None, phase: int) -> bool:
    """Return whether backups of a phase are logged; `phase` is an index of ``PHASES``."""
    if log is None:
        return False
    return phase >= log.first_phase


# Many parameters, since numba takes no record with defaults: each is a column of the log.
@inlined
def record(
    log: BackupBuffer | None,
    phase: int,
    state: int,
    action: int,
    next_state: int,
    q_before: float,
    q_after: float,
    reward: float = np.nan,
    priority: float = np.nan,
    pop: int = 0,
    cause: int = -1,
    gain: float = np.nan,
    need: float = np.nan,
) -> int:
    """Log one backup.

    Parameters
    ----------
    log : BackupBuffer or None
        The buffer that is written to; None: nothing is logged.
    phase : int
        ``ONLINE``, ``TRACE``, ``STEP``, ``EPISODE_END``, ``START`` or ``REST``.
    state, action, next_state : int
        The remembered transition.
    q_before, q_after : float
        The action value before and after the backup.
    reward : float, default nan
        The remembered reward; nan if the learner keeps none.
    priority : float, default nan
        The quantity by which this backup was chosen; nan if there is none.
    pop : int, default 0
        The number of the choice, within the event, that led to this backup.
    cause : int, default -1
        The row of the backup that led to this one, as returned by an earlier call; -1: none. It
        must join it: its state is this ``next_state``, or, if the learner's description says that
        it goes forward, its next state is this ``state``.
    gain, need : float, default nan
        Gain of the backup and need of its state; kept if the learner evaluates its backups.

    Returns
    -------
    int
        The row, counted over the run, or -1 if it is not kept.
    """
    if log is None:
        return -1
    counter = log.counter
    if phase < log.first_phase:
        return -1
    fill = counter[_FILL]
    if fill == len(log.rows):
        counter[_N_LOST] += 1
        return -1
    row = log.rows[fill]
    row["step"] = counter[_STEP]
    row["cause"] = cause
    row["reward"] = reward
    row["priority"] = priority
    row["q_before"] = q_before
    row["q_after"] = q_after
    row["state"] = state
    row["action"] = action
    row["next_state"] = next_state
    row["pop"] = pop
    row["phase"] = phase
    _evaluate(log.evaluations, fill, gain, need)
    counter[_FILL] = fill + 1
    pause = counter[_STEP] * len(PHASES) + phase
    if pause != counter[_PAUSE]:
        counter[_PAUSE] = pause
        counter[_N_EVENTS] += phase >= STEP
    number: int = counter[_FIRST_ROW] + fill
    return number


@inlined
def reactivate(
    log: BackupBuffer | None,
    phase: int,
    state: int,
    next_state: int,
    priority: float = np.nan,
    pop: int = 0,
) -> int:
    """Log that one place was reactivated after another, without any backup.

    As in decoded replay the action is -1: moves are listed in order of time, whatever the direction
    in which they were experienced.

    Parameters
    ----------
    log : BackupBuffer or None
        The buffer that is written to; None: nothing is logged.
    phase : int
        ``STEP``, ``EPISODE_END``, ``START`` or ``REST``.
    state, next_state : int
        The place reactivated before, and this one; the same place twice if it stands alone.
    priority : float, default nan
        The quantity by which this place was chosen; nan if there is none.
    pop : int, default 0
        The number of this reactivation within the event.

    Returns
    -------
    int
        The row, counted over the run, or -1 if it is not kept.
    """
    return record(log, phase, state, -1, next_state, np.nan, np.nan, np.nan, priority, pop)


@inlined
def _evaluate(evaluations: NDArray[np.void] | None, fill: int, gain: float, need: float) -> None:
    # A function, since numba omits code for None if it is an argument, but not if it is a field.
    if evaluations is not None:
        evaluations[fill]["gain"] = gain
        evaluations[fill]["need"] = need
