"""Eligibility traces of which a state has one: that of the action taken there last.

A trace is 1 when its pair is tried, which ends those of the state's other actions [1]_, and decays
by a constant factor a step. It is dropped once it is no larger than 1e-12.

References
----------
.. [1] Singh & Sutton (1996), Reinforcement learning with replacing eligibility traces.
   https://doi.org/10.1023/A:1018012322525
"""

from typing import NamedTuple

import numpy as np

from replay.jit import inlined

__all__ = ["StateTraces", "clear_state_traces", "set_state_trace", "state_traces"]

_SMALLEST = 1e-12


class StateTraces(NamedTuple):
    """The traces of this episode.

    Attributes
    ----------
    state, action : ndarray of int32, shape (n_states,)
        The traced pairs, the latest one last; the first ``n_traced[0]`` count.
    strength : ndarray of float64, shape (n_states,)
        Their traces.
    n_traced : ndarray of int64, shape (1,)
        How many there are.
    """

    state: np.ndarray
    action: np.ndarray
    strength: np.ndarray
    n_traced: np.ndarray


def state_traces(n_states: int) -> StateTraces:
    """Make room for the traces of so many states.

    Examples
    --------
    >>> traces = state_traces(3)
    >>> for state, action in [(0, 0), (1, 0), (0, 1)]:
    ...     set_state_trace(traces, state, action, 0.5)
    >>> [column[: traces.n_traced[0]].tolist() for column in traces[:3]]
    [[1, 0], [0, 1], [0.5, 1.0]]
    """
    return StateTraces(
        np.zeros(n_states, dtype=np.int32),
        np.zeros(n_states, dtype=np.int32),
        np.zeros(n_states),
        np.zeros(1, dtype=np.int64),
    )


@inlined
def set_state_trace(traces, state, action, decay):
    """Let all traces decay, and set that of the pair just tried to 1."""
    n_kept = 0
    for i in range(traces.n_traced[0]):
        strength = traces.strength[i] * decay
        if traces.state[i] != state and strength > _SMALLEST:
            traces.state[n_kept] = traces.state[i]
            traces.action[n_kept] = traces.action[i]
            traces.strength[n_kept] = strength
            n_kept += 1
    traces.state[n_kept] = state
    traces.action[n_kept] = action
    traces.strength[n_kept] = 1.0
    traces.n_traced[0] = n_kept + 1


@inlined
def clear_state_traces(traces):
    """Drop all traces."""
    traces.n_traced[0] = 0
