"""The learned model of the world: which transitions were seen, and how often.

Every distinct transition (state, action, next state) is one edge. The edges out of a pair of
state and action, and the edges into a state, are linked lists, so nothing ever scans all states.
"""

from typing import NamedTuple

import numpy as np

from replay.jit import inlined

__all__ = ["WorldModel", "forget", "observe", "world_model"]

_EDGE = np.dtype(
    [
        ("state", np.int32),
        ("action", np.int32),
        ("next_state", np.int32),
        ("count", np.int32),
        ("next_out", np.int32),
        ("next_in", np.int32),
    ]
)


class WorldModel(NamedTuple):
    """The arrays of the model.

    Attributes
    ----------
    edges : structured ndarray, shape (n_transitions,)
        ``state``, ``action``, ``next_state``, ``count``; ``next_out`` and ``next_in`` link the
        edges of one pair and those into one state (-1 at the end).
    n_edges : ndarray of int64, shape (1,)
        How many edges are in use.
    visits : ndarray of int64, shape (n_states, n_actions)
        How often each pair was tried.
    first_out : ndarray of int32, shape (n_states, n_actions)
        The latest edge out of each pair; -1 if there is none.
    first_in, last_in : ndarray of int32, shape (n_states,)
        The ends of the list of edges into each state, in the order of discovery.
    n_in : ndarray of int32, shape (n_states,)
        The length of that list.
    most_in : ndarray of int64, shape (1,)
        The longest that any of these lists has been.
    """

    edges: np.ndarray
    n_edges: np.ndarray
    visits: np.ndarray
    first_out: np.ndarray
    first_in: np.ndarray
    last_in: np.ndarray
    n_in: np.ndarray
    most_in: np.ndarray


def world_model(n_states: int, n_actions: int, n_transitions: int) -> WorldModel:
    """Make an empty model.

    Parameters
    ----------
    n_states, n_actions : int
        Size of the world.
    n_transitions : int
        The most distinct transitions (state, action, next state) that can occur.

    Returns
    -------
    WorldModel
        The model.

    Examples
    --------
    >>> model = world_model(3, 1, 2)
    >>> for state, next_state in [(0, 1), (1, 2), (0, 1)]:
    ...     observe(model, state, 0, next_state, False)
    >>> model.edges["count"][: model.n_edges[0]].tolist()
    [2, 1]
    """
    return WorldModel(
        np.empty(n_transitions, dtype=_EDGE),
        np.zeros(1, dtype=np.int64),
        np.zeros((n_states, n_actions), dtype=np.int64),
        np.full((n_states, n_actions), -1, dtype=np.int32),
        np.full(n_states, -1, dtype=np.int32),
        np.full(n_states, -1, dtype=np.int32),
        np.zeros(n_states, dtype=np.int32),
        np.zeros(1, dtype=np.int64),
    )


@inlined
def observe(model, state, action, next_state, terminated):
    """Count one transition. Terminal states get no list of edges into them."""
    model.visits[state, action] += 1
    edge = model.first_out[state, action]
    while edge >= 0:
        if model.edges[edge]["next_state"] == next_state:
            model.edges[edge]["count"] += 1
            return
        edge = model.edges[edge]["next_out"]
    edge = model.n_edges[0]
    model.n_edges[0] = edge + 1
    model.edges[edge]["state"] = state
    model.edges[edge]["action"] = action
    model.edges[edge]["next_state"] = next_state
    model.edges[edge]["count"] = 1
    model.edges[edge]["next_out"] = model.first_out[state, action]
    model.edges[edge]["next_in"] = -1
    model.first_out[state, action] = edge
    if not terminated:
        if model.first_in[next_state] < 0:
            model.first_in[next_state] = edge
        else:
            model.edges[model.last_in[next_state]]["next_in"] = edge
        model.last_in[next_state] = edge
        model.n_in[next_state] += 1
        model.most_in[0] = max(model.most_in[0], model.n_in[next_state])


@inlined
def forget(model):
    """Empty the model, in time proportional to what it holds."""
    for edge in range(model.n_edges[0]):
        state = model.edges[edge]["state"]
        action = model.edges[edge]["action"]
        model.visits[state, action] = 0
        model.first_out[state, action] = -1
        next_state = model.edges[edge]["next_state"]
        model.first_in[next_state] = -1
        model.n_in[next_state] = 0
    model.n_edges[0] = 0
