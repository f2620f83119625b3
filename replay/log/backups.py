"""The buffer to which learners write their backups while a kernel runs.

A learner calls :func:`record` for every backup; a learner without values calls :func:`reactivate`
for every move from one reactivated place to the next. If nothing is logged, the buffer is None: a
learner is written once for both cases, and compiled without any code for a log if there is none.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from replay.arrays import Ints
from replay.jit import inlined
from replay.log.arrays import uninitialised

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
    """Make an empty buffer; `keep` is "replay" or "all".

    Examples
    --------
    >>> backup_buffer(100, "all").rows.shape
    (100,)
    """
    counter = np.zeros(6, dtype=np.int64)
    counter[_PAUSE] = -len(PHASES) - 1  # before any
    evaluations = uninitialised(capacity, EVALUATION) if evaluates else None
    rows = uninitialised(capacity, BACKUP)
    return BackupBuffer(rows, counter, _FIRST_PHASE[keep], evaluations)


def renew(buffer: BackupBuffer, capacity: int) -> tuple[tuple[NDArray[np.void], ...], BackupBuffer]:
    """Return what is `filled` of a buffer, and an empty buffer for the backups that follow.

    Examples
    --------
    >>> tables, buffer = renew(backup_buffer(5, "all"), 100)
    >>> len(tables[0]), len(buffer.rows)
    (0, 100)
    """
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
