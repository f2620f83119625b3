"""Replacing eligibility traces: a temporal-difference error is applied to all recent pairs.

A trace is set to 1 when its pair is tried, whatever it was before, and decays by a constant factor
per step; `end_other_traces` then also ends the traces of the state's other actions [1]_. Traces of
1e-12 or less are dropped. Only recently visited pairs are processed.

References
----------
.. [1] Singh & Sutton (1996), Reinforcement learning with replacing eligibility traces.
   https://doi.org/10.1023/A:1018012322525
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from replay.jit import inlined
from replay.log.backups import TRACE, BackupBuffer, keeps, record

__all__ = ["Traces", "add_trace", "back_up_traced", "clear_traces", "end_other_traces"]
__all__ += ["trace_at", "trace_words", "traces"]

_SMALLEST = 1e-12
_ROOM = 256


class Traces(NamedTuple):
    """The recently visited pairs in order; entries ``end - n_traced`` to ``end - 1`` are in use.

    A pair that was visited again has two entries, of which only the later one counts. Beyond
    ``n_kept`` entries the oldest one is dropped; at the end of the arrays all entries move to the
    beginning.

    Attributes
    ----------
    strength : ndarray of float64, shape (n_kept,)
        The trace of a pair by its age in steps, the oldest first.
    pair : ndarray of uint32, shape (n_kept + room,)
        The pairs, state * n_actions + action.
    value : ndarray of float64, shape (n_kept + room,)
        Their action values: contiguous, they are faster to change than in the table.
    next_state : ndarray of int32, shape (n_kept + room,)
        The states that these transitions entered.
    reward : ndarray of float64, shape (n_kept + room,)
        Their rewards.
    place : ndarray of int32, shape (n_states * n_actions,)
        The latest entry of each pair; -1 if its trace was ended.
    end, n_traced : ndarray of int64, shape (1,)
        The index of the next entry, and the number of entries in use.
    """

    strength: NDArray[np.float64]
    pair: NDArray[np.uint32]
    value: NDArray[np.float64]
    next_state: NDArray[np.int32]
    reward: NDArray[np.float64]
    place: NDArray[np.int32]
    end: NDArray[np.int64]
    n_traced: NDArray[np.int64]


def traces(n_states: int, n_actions: int, decay: float, n_steps: int) -> Traces:
    """Make room for traces, none of which is set.

    Parameters
    ----------
    n_states, n_actions : int
        Size of the world.
    decay : float
        Decay per step: discount times lambda, in [0, 1].
    n_steps : int
        The length of the longest episode; bounds the number of traces if they do not decay.

    Returns
    -------
    Traces

    Examples
    --------
    >>> traces(2, 1, 0.1, 100).strength.round(3).tolist()[-3:]
    [0.01, 0.1, 1.0]
    """
    n_kept = n_steps
    if decay < 1.0:
        n_kept = min(n_steps, 2 + int(math.log(_SMALLEST) / math.log(decay)) if decay > 0.0 else 1)
    strength = np.multiply.accumulate(np.append(1.0, np.full(max(n_kept - 1, 0), decay)))
    strength = strength[: 1 + np.count_nonzero(strength[:-1] > _SMALLEST)]
    room = len(strength) + _ROOM
    return Traces(
        strength[::-1].copy(),
        np.zeros(room, dtype=np.uint32),
        np.zeros(room),
        np.zeros(room, dtype=np.int32),
        np.zeros(room),
        np.zeros(n_states * n_actions, dtype=np.int32),
        np.zeros(1, dtype=np.int64),
        np.zeros(1, dtype=np.int64),
    )


def trace_words(traces: Traces) -> int:
    """Count the numbers held: two for each trace. The other fields are copies, or for the log."""
    return 2 * int(traces.n_traced[0])


@inlined
def _move_to_front(traces: Traces) -> None:
    begin = traces.end[0] - traces.n_traced[0]
    for i in range(traces.n_traced[0]):
        pair = traces.pair[begin + i]
        if traces.place[pair] == begin + i:
            traces.place[pair] = i
        traces.pair[i] = pair
        traces.value[i] = traces.value[begin + i]
        traces.next_state[i] = traces.next_state[begin + i]
        traces.reward[i] = traces.reward[begin + i]
    traces.end[0] = traces.n_traced[0]


@inlined
def add_trace(
    traces: Traces, action_values: NDArray[np.float64], pair: int, reward: float, next_state: int
) -> None:
    """Set the trace of a pair to 1, and let all others decay by a step.

    Parameters
    ----------
    traces : Traces
        Changed in place.
    action_values : ndarray of float64, shape (n_states, n_actions)
        Q.
    pair : int
        The pair, as state * n_actions + action.
    reward : float
        The reward of its transition, for the log.
    next_state : int
        The state entered, for the log.
    """
    n_actions = action_values.shape[1]
    if traces.n_traced[0] == len(traces.strength):
        traces.n_traced[0] -= 1
    if traces.end[0] == len(traces.pair):
        _move_to_front(traces)
    end = traces.end[0]
    traces.pair[end] = pair
    traces.value[end] = action_values[pair // n_actions, pair % n_actions]
    traces.next_state[end] = next_state
    traces.reward[end] = reward
    traces.place[pair] = end
    traces.end[0] = end + 1
    traces.n_traced[0] += 1


@inlined
def end_other_traces(traces: Traces, state: int, action: int, n_actions: int) -> None:
    """End the traces of all other actions of a state.

    Parameters
    ----------
    traces : Traces
        Changed in place.
    state, action : int
        The pair whose trace stays.
    n_actions : int
        The number of actions.
    """
    for b in range(n_actions):
        if b != action:
            traces.place[state * n_actions + b] = -1


@inlined
def trace_at(traces: Traces, age: int) -> tuple[int, float]:
    """Return the pair that was visited some steps ago, and its trace.

    Parameters
    ----------
    traces : Traces
    age : int
        How many steps ago; 0 for the latest pair.

    Returns
    -------
    pair : int
        The pair, as state * n_actions + action.
    trace : float
        Its trace; 0 if it was ended, or if the pair was visited again since.

    Examples
    --------
    >>> kept = traces(2, 2, 0.5, 10)
    >>> for pair in (0, 2, 1):
    ...     add_trace(kept, np.zeros((2, 2)), pair, 0.0, 0)
    ...     end_other_traces(kept, pair // 2, pair % 2, 2)
    >>> [(int(pair), float(trace)) for pair, trace in (trace_at(kept, age) for age in range(3))]
    [(1, 1.0), (2, 0.5), (0, 0.0)]
    """
    place = traces.end[0] - 1 - age
    pair = traces.pair[place]
    strength = traces.strength[len(traces.strength) - 1 - age]
    return pair, strength if traces.place[pair] == place and strength > _SMALLEST else 0.0


@inlined
def clear_traces(traces: Traces) -> None:
    """Drop all traces."""
    traces.end[0] = 0
    traces.n_traced[0] = 0


@inlined
def back_up_traced(
    traces: Traces,
    action_values: NDArray[np.float64],
    error: float,
    learning_rate: float,
    first_phase: int,
    log: BackupBuffer,
) -> None:
    """Add its share of a temporal-difference error to the action value of every traced pair.

    Backups are logged from the newest pair to the oldest. If the newest pair was never tried, its
    value is set to the error.

    Parameters
    ----------
    traces : Traces
        Changed in place.
    action_values : ndarray of float64, shape (n_states, n_actions)
        Q, changed in place; infinite where an action was never tried.
    error : float
        The temporal-difference error.
    learning_rate : float
    first_phase : int
        The phase in which the newest pair is logged; that of the others is ``TRACE``.
    log : BackupBuffer
        Where backups are recorded.
    """
    table = action_values.reshape(-1)
    end, n_traced = np.uint64(traces.end[0]), np.uint64(traces.n_traced[0])
    first, newest = end - n_traced, end - np.uint64(1)
    oldest_age = np.uint64(len(traces.strength)) - n_traced
    step = learning_rate * error
    if keeps(log, first_phase):
        n_actions = action_values.shape[1]
        for age in range(traces.n_traced[0]):
            place = traces.end[0] - 1 - age
            pair = traces.pair[place]
            if traces.place[pair] == place:
                before = traces.value[place]
                after = before + step * traces.strength[len(traces.strength) - 1 - age]
                record(
                    log,
                    first_phase if age == 0 else TRACE,
                    pair // n_actions,
                    pair % n_actions,
                    traces.next_state[place],
                    before,
                    error if before == np.inf else after,
                    traces.reward[place],
                )
    untried = traces.value[newest] == np.inf
    for i in range(n_traced):
        traces.value[first + i] += step * traces.strength[oldest_age + i]
    if untried:
        traces.value[newest] = error
    for i in range(n_traced):  # the oldest first: if a pair has two entries, the later one counts
        table[traces.pair[first + i]] = traces.value[first + i]
