"""The buffer that learners write their backups to while a kernel runs.

A learner calls :func:`record` for every backup it makes. Without a log (``log=None``) the call
compiles to nothing, so a learner has one source for both.
"""

from typing import NamedTuple

import numpy as np

from replay.arrays import uninitialised
from replay.jit import inlined

__all__ = ["BACKUP", "EPISODE_END", "ONLINE", "PHASES", "REST", "START", "STEP", "TRACE"]
__all__ += ["EVALUATION", "BackupBuffer", "backup_buffer", "keeps", "record"]

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

    rows: np.ndarray
    counter: np.ndarray
    evaluations: np.ndarray | None = None


def backup_buffer(capacity: int, keep: str, evaluates: bool = False) -> BackupBuffer:
    """Make an empty buffer.

    Parameters
    ----------
    capacity : int
        How many backups it holds.
    keep : {"replay", "all"}
        Whether online updates and eligibility traces are kept too.
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
    counter[_FIRST_PHASE] = ONLINE if keep == "all" else STEP
    return _empty(capacity, counter, evaluates)


def _empty(capacity: int, counter: np.ndarray, evaluates: bool) -> BackupBuffer:
    evaluations = uninitialised(capacity, EVALUATION) if evaluates else None
    return BackupBuffer(uninitialised(capacity, BACKUP), counter, evaluations)


def renew(buffer: BackupBuffer, capacity: int) -> tuple[tuple[np.ndarray, ...], BackupBuffer]:
    """Take the filled rows out of a buffer, and go on with an empty one of another capacity.

    Their evaluations come beside them, if there are any.
    """
    tables = (buffer.rows, buffer.evaluations)
    filled = tuple(table[: buffer.counter[_FILL]] for table in tables if table is not None)
    buffer.counter[_FILL] = 0
    return filled, _empty(capacity, buffer.counter, buffer.evaluations is not None)


def n_lost(buffer: BackupBuffer) -> int:
    """Count the backups that found the buffer full."""
    return int(buffer.counter[_N_LOST])


@inlined
def set_step(log, step):
    """Tell the buffer at which step of the run the next backups are made."""
    log.counter[_STEP] = step


@inlined
def room(log):
    """Count the backups that still fit."""
    return len(log.rows) - log.counter[_FILL]


@inlined
def keeps(log, phase):
    """Tell whether backups of a phase are logged at all."""
    if log is None:
        return False
    return phase >= log.counter[_FIRST_PHASE]


@inlined
def record(
    log,
    phase,
    state,
    action,
    next_state,
    q_before,
    q_after,
    reward=np.nan,
    priority=np.nan,
    pop=0,
    cause=-1,
    gain=np.nan,
    need=np.nan,
):
    """Log one backup.

    Parameters
    ----------
    log : BackupBuffer or None
        Where to; None logs nothing.
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
    if log is None:
        return -1
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
    number = counter[_N_KEPT]
    counter[_N_KEPT] = number + 1
    return number


@inlined
def _evaluate(evaluations, fill, gain, need):
    # A function, since numba leaves out what is None in arguments, but not in fields.
    if evaluations is not None:
        evaluations[fill]["gain"] = gain
        evaluations[fill]["need"] = need
