"""Replacing eligibility traces: one temporal-difference error, applied to recent pairs.

A trace that starts at 1 decays by a constant factor a step and is dropped once it is no larger
than 1e-12. Only the traced pairs are touched, newest first.
"""

from typing import NamedTuple

import numpy as np

from replay.backups import TRACE, record
from replay.jit import inlined

__all__ = ["Traces", "add_trace", "back_up_traced", "clear_traces", "traces"]

_SMALLEST = 1e-12


_VOID = 0xFFFFFFFF


class Traces(NamedTuple):
    """The pairs visited recently, in a ring.

    Attributes
    ----------
    strength : ndarray of float64, shape (n_kept,)
        The trace of a pair by its age in steps.
    pair : ndarray of uint32, shape (n_kept,)
        The pairs in the ring, state * n_actions + action; void where the pair came again later.
    next_state : ndarray of int32, shape (n_kept,)
        The states that these transitions entered.
    reward : ndarray of float64, shape (n_kept,)
        Their rewards.
    place : ndarray of int32, shape (n_states * n_actions,)
        Where each pair was put in the ring last.
    newest, n_traced : ndarray of int64, shape (1,)
        The place of the newest pair, and how many places have been filled since the last clearing.
    """

    strength: np.ndarray
    pair: np.ndarray
    next_state: np.ndarray
    reward: np.ndarray
    place: np.ndarray
    newest: np.ndarray
    n_traced: np.ndarray


def traces(n_states: int, n_actions: int, decay: float, n_steps: int) -> Traces:
    """Make traces that decay by ``decay`` a step, for episodes of at most ``n_steps``.

    Parameters
    ----------
    n_states, n_actions : int
        Size of the world.
    decay : float
        Discount times trace decay, in [0, 1].
    n_steps : int
        The longest possible episode; bounds the ring where nothing decays.

    Returns
    -------
    Traces
        No pair has a trace yet.

    Examples
    --------
    >>> traces(2, 1, 0.1, 100).strength.round(3).tolist()[:3]
    [1.0, 0.1, 0.01]
    """
    strength = [1.0]
    while strength[-1] > _SMALLEST and decay > 0.0 and len(strength) < n_steps:
        strength.append(strength[-1] * decay)
    return Traces(
        np.array(strength),
        np.full(len(strength), _VOID, dtype=np.uint32),
        np.zeros(len(strength), dtype=np.int32),
        np.zeros(len(strength)),
        np.zeros(n_states * n_actions, dtype=np.int32),
        np.zeros(1, dtype=np.int64),
        np.zeros(1, dtype=np.int64),
    )


@inlined
def add_trace(traces, pair, reward, next_state):
    """Set the trace of a pair to 1; all others are a step older."""
    former = traces.place[pair]
    if traces.pair[former] == pair:
        traces.pair[former] = _VOID
    place = traces.newest[0] + 1
    if place == len(traces.pair):
        place = 0
    traces.newest[0] = place
    traces.n_traced[0] = min(traces.n_traced[0] + 1, len(traces.pair))
    traces.pair[place] = pair
    traces.reward[place] = reward
    traces.next_state[place] = next_state
    traces.place[pair] = place


@inlined
def clear_traces(traces):
    """Drop all traces."""
    traces.n_traced[0] = 0


@inlined
def back_up_traced(traces, action_values, error, learning_rate, first_phase, log):
    """Add its share of a temporal-difference error to every traced pair, the newest first.

    A pair that was never tried, which can only be the newest, takes the whole error. The newest
    pair is logged in ``first_phase``, the others as ``TRACE``.
    """
    values = action_values.reshape(-1)
    n_actions = np.uint32(action_values.shape[1])
    place = np.uint64(traces.newest[0])
    n_kept = np.uint64(len(traces.pair))
    for age in range(np.uint64(traces.n_traced[0])):
        pair = traces.pair[place]
        if pair != _VOID:
            before = values[pair]
            if before == np.inf:
                after = error
            else:
                after = before + learning_rate * error * traces.strength[age]
            values[pair] = after
            record(
                log,
                first_phase if age == 0 else TRACE,
                pair // n_actions,
                pair % n_actions,
                traces.next_state[place],
                before,
                after,
                traces.reward[place],
            )
        place = (n_kept if place == 0 else place) - np.uint64(1)
