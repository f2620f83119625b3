"""The buffer that learners write their backups to while a kernel runs.

A learner calls :func:`record` for every backup it makes, and one that computes no values calls
:func:`reactivate` for every move from one reactivated place to the next. Where nothing is logged
the buffer has no rows and keeps none, so that a learner is written, and compiled, once for both.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from replay.jit import inlined
from replay.log.arrays import uninitialised

__all__ = ["BACKUP", "EPISODE_END", "ONLINE", "PHASES", "REST", "START", "STEP", "TRACE"]
__all__ += ["EVALUATION", "BackupBuffer", "backup_buffer", "keeps", "reactivate", "record"]

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
"""One backup as a kernel writes it; what can be derived from the steps is added afterwards."""

EVALUATION = np.dtype([("gain", np.float64), ("need", np.float64)])
"""What a learner that evaluates its backups writes besides, a row a backup."""

_N_KEPT, _FILL, _STEP, _FIRST_PHASE, _N_LOST = range(5)
_NO_LIMIT = np.iinfo(np.int64).max


class BackupBuffer(NamedTuple):
    """Preallocated rows and what is needed to fill them.

    Attributes
    ----------
    rows : ndarray of BACKUP, shape (capacity,)
        The backups; the first ``n_rows(buffer)`` are filled.
    counter : ndarray of int64, shape (5,)
        Rows kept since the run began, rows filled, the current step, the first phase that is
        kept, rows lost because the buffer was full.
    evaluations : ndarray of EVALUATION, shape (capacity,), or None
        Gain and need, for learners that evaluate their backups.
    """

    rows: NDArray[Any]
    counter: NDArray[np.int64]
    evaluations: NDArray[Any] | None = None


def backup_buffer(capacity: int, keep: str, evaluates: bool = False) -> BackupBuffer:
    """Make an empty buffer.

    Parameters
    ----------
    capacity : int
        How many backups it holds.
    keep : {"none", "replay", "all"}
        What it keeps: nothing, replay, or online updates and eligibility traces too.
    evaluates : bool, default False
        Whether there is room for gain and need.

    Returns
    -------
    BackupBuffer
        The buffer.

    Examples
    --------
    >>> backup_buffer(100, "all").rows.shape
    (100,)
    """
    counter = np.zeros(5, dtype=np.int64)
    counter[_FIRST_PHASE] = {"none": len(PHASES), "replay": STEP, "all": ONLINE}[keep]
    return _empty(capacity, counter, evaluates)


def _empty(capacity: int, counter: NDArray[np.int64], evaluates: bool) -> BackupBuffer:
    evaluations = uninitialised(capacity, EVALUATION) if evaluates else None
    return BackupBuffer(uninitialised(capacity, BACKUP), counter, evaluations)


def renew(buffer: BackupBuffer, capacity: int) -> tuple[tuple[NDArray[Any], ...], BackupBuffer]:
    """Give the filled rows of a buffer, and an empty buffer of another capacity to go on with.

    Parameters
    ----------
    buffer : BackupBuffer
        Not to be used any more.
    capacity : int
        How many backups the next buffer holds.

    Returns
    -------
    filled : tuple of ndarray
        The rows, and beside them their evaluations if there are any.
    buffer : BackupBuffer
        The next buffer; it counts on.

    Examples
    --------
    >>> filled, buffer = renew(backup_buffer(5, "all"), 100)
    >>> len(filled[0]), len(buffer.rows)
    (0, 100)
    """
    tables = (buffer.rows, buffer.evaluations)
    filled = tuple(table[: buffer.counter[_FILL]] for table in tables if table is not None)
    buffer.counter[_FILL] = 0
    return filled, _empty(capacity, buffer.counter, buffer.evaluations is not None)


def n_kept(buffer: BackupBuffer) -> int:
    """Count the backups kept since the run began."""
    return int(buffer.counter[_N_KEPT])


def n_lost(buffer: BackupBuffer) -> int:
    """Count the backups that found the buffer full.

    Parameters
    ----------
    buffer : BackupBuffer

    Returns
    -------
    int
        Since the run began.
    """
    return int(buffer.counter[_N_LOST])


@inlined
def set_step(log: BackupBuffer, step: int) -> None:
    """Tell the buffer at which step of the run the next backups are made.

    Parameters
    ----------
    log : BackupBuffer
    step : int
        Counted over the run; -1 before the first.
    """
    log.counter[_STEP] = step


@inlined
def room(log: BackupBuffer) -> int:
    """Count the backups that may still be made; if none are kept, that is no limit.

    Parameters
    ----------
    log : BackupBuffer

    Returns
    -------
    int
    """
    if log.counter[_FIRST_PHASE] > REST:
        return _NO_LIMIT
    n_rows: int = len(log.rows) - log.counter[_FILL]
    return n_rows


@inlined
def keeps(log: BackupBuffer, phase: int) -> bool:
    """Tell whether backups of a phase are logged at all.

    Parameters
    ----------
    log : BackupBuffer
    phase : int
        A number in ``PHASES``.

    Returns
    -------
    bool
    """
    is_kept: bool = phase >= log.counter[_FIRST_PHASE]
    return is_kept


@inlined
def record(
    log: BackupBuffer,
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
    log : BackupBuffer
        Where to.
    phase : int
        ``ONLINE``, ``TRACE``, ``STEP``, ``EPISODE_END``, ``START`` or ``REST``.
    state, action, next_state : int
        The remembered transition.
    q_before, q_after : float
        The action value before and after the backup.
    reward : float, default nan
        As remembered; nan where the learner keeps none.
    priority : float, default nan
        Why this backup was chosen; nan where the learner has no such quantity.
    pop : int, default 0
        Which choice of the event this backup belongs to.
    cause : int, default -1
        The row of the backup that led to this one, as returned by an earlier call.
    gain, need : float, default nan
        What the backup is worth in its state, and how often that will be visited; kept if the
        learner evaluates its backups.

    Returns
    -------
    int
        The row, counted over the run, or -1 if it is not kept.
    """
    counter = log.counter
    if phase < counter[_FIRST_PHASE]:
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
    number: int = counter[_N_KEPT]
    counter[_N_KEPT] = number + 1
    return number


@inlined
def reactivate(
    log: BackupBuffer,
    phase: int,
    state: int,
    next_state: int,
    priority: float = np.nan,
    pop: int = 0,
) -> int:
    """Log that one place was reactivated after another, without any backup.

    As in decoded replay the action is -1: the move is listed in order of time, and says nothing of
    the orientation in which it was experienced.

    Parameters
    ----------
    log : BackupBuffer
        Where to.
    phase : int
        ``STEP``, ``EPISODE_END``, ``START`` or ``REST``.
    state, next_state : int
        The place reactivated before and this one; the same for one that stands alone.
    priority : float, default nan
        Why this place was chosen; nan where there is no such quantity.
    pop : int, default 0
        Which reactivation of the event this is.

    Returns
    -------
    int
        The row, counted over the run, or -1 if it is not kept.
    """
    return record(log, phase, state, -1, next_state, np.nan, np.nan, np.nan, priority, pop)


@inlined
def _evaluate(evaluations: NDArray[Any] | None, fill: int, gain: float, need: float) -> None:
    # A function, since numba leaves out what is None in arguments, but not in fields.
    if evaluations is not None:
        evaluations[fill]["gain"] = gain
        evaluations[fill]["need"] = need
