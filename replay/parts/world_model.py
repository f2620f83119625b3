"""The learned model of the world: which transitions were seen, and how much each still counts.

Every distinct transition (state, action, next state) is one edge. The edges out of a pair of
state and action, and the edges into a state, are linked lists, so nothing ever scans all states.
The weight of an edge is the number of times it was seen, less what was forgotten; its probability
is its share of the weight of its pair.

A model with ``forgetting`` follows a world that changes: it reduces the weight of the earlier
outcomes of a pair by this share kappa before it adds the new one, which has weight 1:

* kappa = 0 counts, for a stationary world;
* 0 < kappa < 1 is leaky integration, for a world that drifts. For a pair that is known well this is
  the rule of [1]_, p <- (1 - kappa) p + kappa 1[s']: the rate is 1 / N, and N grows from 1 towards
  1 / kappa. Until then the outcomes are averaged, so that the first has no more weight than the
  others;
* kappa = 1 keeps the last outcome only, for a world that changes but is deterministic.

The same rule keeps an average over the outcomes of a pair, such as its action value, consistent
with the model: average <- (average (N - 1) + new) / N, where N includes the new outcome.

A model with ``way_back`` knows both directions of a move at once: a way back that was not tried is
assumed until it is. How a bounded memory chooses what to forget, says
:func:`replay.learners.prioritized_sweeping.retain`.

References
----------
.. [1] Brea (2018). https://arxiv.org/abs/1711.06677
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from replay.checks.arrays import Bools, Floats, Int32s, Ints
from replay.jit import inlined
from replay.parts.priority_queue import PriorityQueue, clear, priority_queue, queue_words

_NOTHING = 1e-30  # a weight, in outcomes, that is too small to change any average

_EDGE = np.dtype(
    [
        ("count", np.float64),
        ("state", np.int32),
        ("action", np.int32),
        ("next_state", np.int32),
        ("next_out", np.int32),
        ("next_in", np.int32),
    ],
    align=True,
)


class WorldModel(NamedTuple):
    """The arrays of the model."""

    # Numba leaves out the code for fields that are None: an option that is off costs nothing.

    # (n_transitions,): ``state``, ``action``, ``next_state``, ``count`` (the weight);
    # ``next_out`` and ``next_in`` link the edges of one pair and those into one state (-1 at
    # the end)
    edges: NDArray[np.void]
    # (1,): the number of known edges, and of rows of `edges` ever used, by known or forgotten
    # edges
    n_edges: Ints
    n_places: Ints
    # (1,): the first row of a forgotten edge, -1 if there is none; ``next_out`` leads to the
    # others
    free: Ints
    # (n_states, n_actions): the weight N of each pair: the number of times it was tried, less
    # what was forgotten
    visits: Floats
    # (n_states, n_actions): the latest edge out of each pair; -1 if there is none
    first_out: Int32s
    # (n_states,): the ends of the list of edges into each state, in the order of discovery
    first_in: Int32s
    last_in: Int32s
    n_in: Int32s  # (n_states,): the length of that list
    most_in: Ints  # (1,): the greatest length that any of these lists has had
    # (1,): the share of its weight that a pair loses when it is tried again; None: nothing
    forgetting: Floats | None
    # (n_states, n_actions): the action that undoes each pair, -1 if there is none; None: ways
    # back are not assumed
    way_back: Int32s | None
    # (n_states, n_actions): whether a pair is known only as the way back of another one
    is_assumed: Bools | None
    # The remembered pairs, as s * n_actions + a, the next one to be forgotten first; None:
    # nothing is forgotten
    expendable: PriorityQueue | None
    n_changes: Ints  # (1,): how often an edge became known or was forgotten
    # (2,): the number of transitions retained, and of episodes that have ended
    clock: Ints


def world_model(
    n_states: int,
    n_actions: int,
    n_transitions: int,
    *,
    forgetting: float = 0.0,
    capacity: float = np.inf,
    way_back: Int32s | None = None,
) -> WorldModel:
    """Make an empty model.

    There is room for all edges that can be known at one time: one for each transition, and one for
    its way back. The row of a forgotten edge is used again.
    """
    pairs = (n_states, n_actions)
    return WorldModel(
        edges=np.zeros(n_transitions if way_back is None else 2 * n_transitions, dtype=_EDGE),
        n_edges=np.zeros(1, dtype=np.int64),
        n_places=np.zeros(1, dtype=np.int64),
        free=np.full(1, -1, dtype=np.int64),
        visits=np.zeros(pairs),
        first_out=np.full(pairs, -1, dtype=np.int32),
        first_in=np.full(n_states, -1, dtype=np.int32),
        last_in=np.full(n_states, -1, dtype=np.int32),
        n_in=np.zeros(n_states, dtype=np.int32),
        most_in=np.zeros(1, dtype=np.int64),
        forgetting=np.full(1, float(forgetting)) if forgetting > 0.0 else None,
        way_back=None if way_back is None else np.array(way_back, dtype=np.int32),
        is_assumed=None if way_back is None else np.zeros(pairs, dtype=np.bool_),
        expendable=priority_queue(n_states * n_actions) if capacity < np.inf else None,
        n_changes=np.zeros(1, dtype=np.int64),
        clock=np.zeros(2, dtype=np.int64),
    )


def model_words(model: WorldModel) -> int:
    """Count the numbers held: six for each edge, and those of pairs and of states entered.

    A pair has its weight and the first edge of its list, and where ways back are assumed, whether
    it is; a state has both ends of its list. The lengths of lists only bound the log.
    """
    per_pair = 2 + (model.is_assumed is not None)
    words = len(_EDGE.names or ()) * int(model.n_edges[0])
    words += per_pair * int(np.count_nonzero(model.first_out >= 0))
    words += 2 * int(np.count_nonzero(model.first_in >= 0))
    return words if model.expendable is None else words + queue_words(model.expendable)


@inlined
def edge_to(model: WorldModel, state: int, action: int, next_state: int) -> int:
    """Find the edge of a transition.

    Return its row in ``model.edges``; -1 if it is not known.
    """
    edge: int = model.first_out[state, action]
    while edge >= 0 and model.edges[edge]["next_state"] != next_state:
        edge = model.edges[edge]["next_out"]
    return edge


@inlined
def draw_edge(model: WorldModel, state: int, action: int, rng: np.random.Generator) -> int:
    """Draw an outcome of a known pair, by its probability in the model.

    Return its row in ``model.edges``.
    """
    edge: int = model.first_out[state, action]
    left = rng.random() * model.visits[state, action] - model.edges[edge]["count"]
    while left >= 0.0 and model.edges[edge]["next_out"] >= 0:
        edge = model.edges[edge]["next_out"]
        left -= model.edges[edge]["count"]
    return edge


@inlined
def count_transition(
    model: WorldModel, state: int, action: int, next_state: int, terminated: bool
) -> None:
    """Count one transition."""
    model.visits[state, action] += 1
    edge = edge_to(model, state, action, next_state)
    if edge >= 0:
        model.edges[edge]["count"] += 1
        return
    place = model.free[0]
    if place >= 0:
        model.free[0] = model.edges[place]["next_out"]
    else:
        place = model.n_places[0]
        model.n_places[0] = place + 1
    model.n_edges[0] += 1
    model.n_changes[0] += 1
    model.edges[place]["state"] = state
    model.edges[place]["action"] = action
    model.edges[place]["next_state"] = next_state
    model.edges[place]["count"] = 1
    model.edges[place]["next_out"] = model.first_out[state, action]
    model.edges[place]["next_in"] = -1
    model.first_out[state, action] = place
    if not terminated:
        if model.first_in[next_state] < 0:
            model.first_in[next_state] = place
        else:
            model.edges[model.last_in[next_state]]["next_in"] = place
        model.last_in[next_state] = place
        model.n_in[next_state] += 1
        model.most_in[0] = max(model.most_in[0], model.n_in[next_state])


@inlined
def fade(model: WorldModel, state: int, action: int, kappa: float) -> None:
    """Reduce the weight of a pair and of its edges; an edge without weight is forgotten."""
    kept = 1.0 - kappa
    model.visits[state, action] *= kept
    before = -1
    edge = model.first_out[state, action]
    while edge >= 0:
        following = model.edges[edge]["next_out"]
        model.edges[edge]["count"] *= kept
        if model.edges[edge]["count"] >= _NOTHING:
            before = edge
        else:
            if before < 0:
                model.first_out[state, action] = following
            else:
                model.edges[before]["next_out"] = following
            _leave_list_in(model, edge)
            model.edges[edge]["next_out"] = model.free[0]
            model.free[0] = edge
            model.n_edges[0] -= 1
            model.n_changes[0] += 1
        edge = following


@inlined
def _leave_list_in(model: WorldModel, edge: int) -> None:
    next_state = model.edges[edge]["next_state"]
    before = -1
    other = model.first_in[next_state]
    while other >= 0 and other != edge:
        before = other
        other = model.edges[other]["next_in"]
    if other != edge:
        return  # it ends in a terminal state
    following = model.edges[edge]["next_in"]
    if before < 0:
        model.first_in[next_state] = following
    else:
        model.edges[before]["next_in"] = following
    if following < 0:
        model.last_in[next_state] = before
    model.n_in[next_state] -= 1


@inlined
def clear_model(model: WorldModel) -> None:
    """Empty the model, in time proportional to what it holds."""
    for edge in range(model.n_places[0]):
        state = model.edges[edge]["state"]
        action = model.edges[edge]["action"]
        model.visits[state, action] = 0
        model.first_out[state, action] = -1
        next_state = model.edges[edge]["next_state"]
        model.first_in[next_state] = -1
        model.n_in[next_state] = 0
    model.n_edges[0] = 0
    model.n_changes[0] += 1
    model.n_places[0] = 0
    model.free[0] = -1
    clear(model.expendable)


@inlined
def remember(
    model: WorldModel, state: int, action: int, next_state: int, terminated: bool
) -> float:
    """Count one transition; return the weight that earlier outcomes of its pair have kept."""
    _replace_assumption(model.is_assumed, model, state, action)
    _lose_weight(model.forgetting, model, state, action)
    kept: float = model.visits[state, action]
    count_transition(model, state, action, next_state, terminated)
    return kept


@inlined
def _replace_assumption(
    is_assumed: Bools | None, model: WorldModel, state: int, action: int
) -> None:
    if is_assumed is None:
        return
    if is_assumed[state, action]:
        is_assumed[state, action] = False
        fade(model, state, action, 1.0)


@inlined
def _lose_weight(forgetting: Floats | None, model: WorldModel, state: int, action: int) -> None:
    if forgetting is None:
        return
    fade(model, state, action, forgetting[0])


# Fields that may be None are arguments, since numba omits code for None only there.


@inlined
def unknown_way_back(
    way_back: Int32s | None,
    model: WorldModel,
    state: int,
    action: int,
    next_state: int,
    terminated: bool,
) -> int:
    """Return the action that undoes a transition, if its outcome is not known yet, else -1."""
    if way_back is None:
        return -1
    if terminated:
        return -1
    back: int = way_back[state, action]
    if back >= 0 and model.visits[next_state, back] > 0.0:
        return -1
    return back


@inlined
def assume(is_assumed: Bools | None, state: int, action: int) -> None:
    """Note that a pair is known only as the way back of another one."""
    if is_assumed is None:
        return
    is_assumed[state, action] = True
