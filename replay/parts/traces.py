"""Replacing eligibility traces: a temporal-difference error is applied to all recent pairs.

A trace is set to 1 when its pair is tried, whatever it was before, and decays by a constant factor
per step [1]_. Traces of 1e-12 or less are dropped. Only recently visited pairs are processed.

References
----------
.. [1] Singh & Sutton (1996). https://doi.org/10.1023/A:1018012322525
"""

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from replay.checks.arrays import Floats, Int32s, Ints
from replay.jit import inlined
from replay.log.backups import TRACE, BackupBuffer, keeps, record

_SMALLEST = 1e-12
_ROOM = 256  # entries beyond those in use: the more there are, the more seldom all are moved


class Traces(NamedTuple):
    """The recently visited pairs in order; entries ``end - n_traced`` to ``end - 1`` are in use.

    A pair that was visited again has two entries; only the later one counts. Beyond
    ``n_kept`` entries the oldest one is dropped; at the end of the arrays all entries move to the
    beginning.
    """

    # (n_kept,): the trace of a pair by its age in steps, the oldest first
    strength: Floats
    pair: NDArray[np.uint32]  # (n_kept + room,): the pairs, state * n_actions + action
    # (n_kept + room,): their action values: contiguous, they are faster to change than in the
    # table
    value: Floats
    # (n_kept + room,): the states that these transitions entered; this and what follows is
    # for the log alone
    next_state: Int32s
    reward: Floats  # (n_kept + room,): their rewards
    place: Int32s  # (n_states * n_actions,): the latest entry of each pair
    # (1,): the index of the next entry, and the number of entries in use
    end: Ints
    n_traced: Ints


def traces(n_states: int, n_actions: int, decay: float, n_steps: int) -> Traces:
    """Make room for traces; none is set."""
    strength = _strengths(decay, n_steps)
    room = len(strength) + _ROOM
    return Traces(
        strength=strength.copy(),
        pair=np.zeros(room, dtype=np.uint32),
        value=np.zeros(room),
        next_state=np.zeros(room, dtype=np.int32),
        reward=np.zeros(room),
        place=np.zeros(n_states * n_actions, dtype=np.int32),
        end=np.zeros(1, dtype=np.int64),
        n_traced=np.zeros(1, dtype=np.int64),
    )


@lru_cache(maxsize=16)
def _strengths(decay: float, n_steps: int) -> Floats:
    """Return the strengths of all traces that are kept, the oldest first."""
    n_kept = n_steps
    if decay < 1.0:
        n_kept = min(n_steps, 2 + int(math.log(_SMALLEST) / math.log(decay)) if decay > 0.0 else 1)
    strength = np.multiply.accumulate(np.append(1.0, np.full(max(n_kept - 1, 0), decay)))
    return strength[: 1 + np.count_nonzero(strength[:-1] > _SMALLEST)][::-1]


def trace_words(traces: Traces) -> int:
    """Count the numbers held: two for each trace. The other fields are copies, or for the log."""
    return 2 * int(traces.n_traced[0])


@inlined
def add_trace(
    traces: Traces,
    action_values: Floats,
    pair: int,
    reward: float,
    next_state: int,
    log: BackupBuffer | None,
) -> None:
    """Set the trace of a pair to 1, and let all others decay by a step."""
    if traces.n_traced[0] == len(traces.strength):
        traces.n_traced[0] -= 1
    if traces.end[0] == len(traces.pair):  # all move to the front, once in some hundred steps
        begin = traces.end[0] - traces.n_traced[0]
        for i in range(traces.n_traced[0]):
            moved = traces.pair[begin + i]
            traces.pair[i] = moved
            traces.value[i] = traces.value[begin + i]
            if log is not None:
                if traces.place[moved] == begin + i:  # not if the pair has a later entry
                    traces.place[moved] = i
                traces.next_state[i] = traces.next_state[begin + i]
                traces.reward[i] = traces.reward[begin + i]
        traces.end[0] = traces.n_traced[0]
    end = traces.end[0]
    traces.pair[end] = pair
    traces.value[end] = action_values.flat[pair]
    if log is not None:
        traces.next_state[end] = next_state
        traces.reward[end] = reward
        traces.place[pair] = end
    traces.end[0] = end + 1
    traces.n_traced[0] += 1


@inlined
def clear_traces(traces: Traces) -> None:
    """Drop all traces."""
    traces.end[0] = 0
    traces.n_traced[0] = 0


@inlined
def back_up_traced(
    traces: Traces,
    action_values: Floats,
    error: float,
    learning_rate: float,
    first_phase: int,
    log: BackupBuffer,
) -> None:
    """Add its share of a temporal-difference error to the action value of every traced pair.

    Backups are logged from the newest pair to the oldest. If the newest pair was never tried, its
    value is set to the error.
    """
    table = action_values.flat
    # Without signs compiled code does not ask whether an index counts from the end.
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
