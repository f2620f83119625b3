"""The learned model of the world: which transitions were seen, and how much each still counts.

Every distinct transition (state, action, next state) is one edge. The edges out of a pair of
state and action, and the edges into a state, are linked lists, so nothing ever scans all states.

The weight of an edge is how often it was seen, and its share of the weight of its pair is its
probability. `remember` lets the earlier outcomes of a pair lose a share kappa of their weight
before it adds the new one, which counts 1:

* kappa = 0 (``forgetting=0``): counts, for a world that stays as it is;
* 0 < kappa < 1: leaky integration, for a world that drifts. It is the rule of [1]_,
  p <- (1 - kappa) p + kappa 1[s'], once a pair is known well: the rate is 1 / N, and N grows from
  1 towards 1 / kappa. Until then the outcomes are averaged, so that the first does not weigh more
  than the others;
* kappa = 1: the last outcome only, for a world that changes but knows no chance;
* with ``surprise_rate`` each pair has a kappa of its own that follows its surprise, as
  associability does [2]_ [3]_: kappa <- kappa + surprise_rate (surprise - kappa). Surprise is what
  the outcome was less probable than outcomes of this pair are on average; chance that is known is
  no sign of change [4]_.

An average of what followed a pair, such as its action value, stays true to the model by one and
the same rule, average <- (average (N - 1) + new) / N, with the N of after the outcome.

What is remembered can be bounded: see `retain`.

References
----------
.. [1] Brea (2018), Is prioritized sweeping the better episodic control?
   https://arxiv.org/abs/1711.06677
.. [2] Pearce & Hall (1980), A model for Pavlovian learning.
   https://doi.org/10.1037/0033-295X.87.6.532
.. [3] Behrens et al. (2007), Learning the value of information in an uncertain world.
   https://doi.org/10.1038/nn1954
.. [4] Yu & Dayan (2005), Uncertainty, neuromodulation, and attention.
   https://doi.org/10.1016/j.neuron.2005.04.026
"""

import math
from typing import NamedTuple

import numpy as np

from replay.jit import inlined
from replay.parts.priority_queue import (
    PriorityQueue,
    clear,
    pop,
    priority_queue,
    queue_words,
    remove,
    set_priority,
)

__all__ = ["EPISODES", "FADING", "RETENTION", "TRANSITIONS", "VALUABLE", "WorldModel"]
__all__ += ["assume", "edge_to", "end_episode", "fade", "forget", "in_words", "model_words"]
__all__ += ["observe", "remember", "retain", "revalue", "surprise", "unknown_way_back"]
__all__ += ["world_model"]

RETENTION = ("recent_episodes", "recent_transitions", "valuable_transitions", "fading")
"""How a bounded memory chooses what to forget; see `retain`."""
EPISODES, TRANSITIONS, VALUABLE, FADING = range(4)

_TIE = 1e-12  # of value, for each transition by which a pair was used later than another one
_NOTHING = 1e-30  # of the weight of one outcome: it adds nothing to any average

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
    """The arrays of the model.

    Attributes
    ----------
    edges : structured ndarray, shape (n_transitions,)
        ``state``, ``action``, ``next_state``, ``count`` (the weight); ``next_out`` and ``next_in``
        link the edges of one pair and those into one state (-1 at the end).
    n_edges, n_places : ndarray of int64, shape (1,)
        How many edges are known, and how many places of `edges` they or forgotten ones have taken.
    free : ndarray of int64, shape (1,)
        The first place of a forgotten edge, -1 if there is none; ``next_out`` leads to the others.
    visits : ndarray of float64, shape (n_states, n_actions)
        The weight N of each pair: how often it was tried, as far as that still counts.
    first_out : ndarray of int32, shape (n_states, n_actions)
        The latest edge out of each pair; -1 if there is none.
    first_in, last_in : ndarray of int32, shape (n_states,)
        The ends of the list of edges into each state, in the order of discovery.
    n_in : ndarray of int32, shape (n_states,)
        The length of that list.
    most_in : ndarray of int64, shape (1,)
        The longest that any of these lists has been.
    forgetting : ndarray of float64, shape (n_states, n_actions), or None
        The kappa of each pair; None: transitions are counted.
    way_back : ndarray of int32, shape (n_states, n_actions), or None
        The action that undoes each pair, -1 if there is none; None: ways back are not assumed.
    is_assumed : ndarray of bool, shape (n_states, n_actions), or None
        Whether a pair is known only as the way back of another one.
    expendable : PriorityQueue or None
        The remembered pairs, as s * n_actions + a, the next to go first; None: nothing goes.
    clock : ndarray of int64, shape (2,)
        How many transitions were retained, and how many episodes have ended.
    """

    # What is None is not compiled either: an option that is off costs nothing.

    edges: np.ndarray
    n_edges: np.ndarray
    n_places: np.ndarray
    free: np.ndarray
    visits: np.ndarray
    first_out: np.ndarray
    first_in: np.ndarray
    last_in: np.ndarray
    n_in: np.ndarray
    most_in: np.ndarray
    forgetting: np.ndarray | None
    way_back: np.ndarray | None
    is_assumed: np.ndarray | None
    expendable: PriorityQueue | None
    clock: np.ndarray


def world_model(
    n_states: int,
    n_actions: int,
    n_transitions: int,
    *,
    forgetting: float | None = None,
    way_back: np.ndarray | None = None,
    bounded: bool = False,
) -> WorldModel:
    """Make an empty model.

    Parameters
    ----------
    n_states, n_actions : int
        Size of the world.
    n_transitions : int
        The most distinct transitions (state, action, next state) that can occur.
    forgetting : float, optional
        The kappa at which every pair begins; None: transitions are counted.
    way_back : ndarray of int, shape (n_states, n_actions), optional
        The action that undoes each pair, if the ways back are to be known at once.
    bounded : bool, default False
        Whether anything will be forgotten by `retain`.

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
    [2.0, 1.0]
    """
    pairs = (n_states, n_actions)
    return WorldModel(
        np.empty(n_transitions if way_back is None else 2 * n_transitions, dtype=_EDGE),
        np.zeros(1, dtype=np.int64),
        np.zeros(1, dtype=np.int64),
        np.full(1, -1, dtype=np.int64),
        np.zeros(pairs),
        np.full(pairs, -1, dtype=np.int32),
        np.full(n_states, -1, dtype=np.int32),
        np.full(n_states, -1, dtype=np.int32),
        np.zeros(n_states, dtype=np.int32),
        np.zeros(1, dtype=np.int64),
        None if forgetting is None else np.full(pairs, float(forgetting)),
        None if way_back is None else np.array(way_back, dtype=np.int32),
        None if way_back is None else np.zeros(pairs, dtype=np.bool_),
        priority_queue(n_states * n_actions) if bounded else None,
        np.zeros(2, dtype=np.int64),
    )


def model_words(model: WorldModel) -> int:
    """Count the numbers held: six for each edge, and those of pairs and of states led to.

    A pair has its weight and the first edge of its list, and a number more for each option that
    keeps one; a state has both ends of its list. The lengths of lists only bound the log.
    """
    options = (model.forgetting, model.is_assumed)
    per_pair = 2 + sum(option is not None for option in options)
    words = len(_EDGE.names or ()) * int(model.n_edges[0])
    words += per_pair * int(np.count_nonzero(model.first_out >= 0))
    words += 2 * int(np.count_nonzero(model.first_in >= 0))
    return words if model.expendable is None else words + queue_words(model.expendable)


@inlined
def edge_to(model, state, action, next_state):
    """Return the place of an edge; -1 if it is not known."""
    edge = model.first_out[state, action]
    while edge >= 0 and model.edges[edge]["next_state"] != next_state:
        edge = model.edges[edge]["next_out"]
    return edge


@inlined
def observe(model, state, action, next_state, terminated):
    """Count one transition. Terminal states get no list of edges into them."""
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
def remember(model, params, state, action, next_state, terminated):
    """Count one transition, after earlier outcomes of its pair have lost weight.

    Parameters
    ----------
    model : WorldModel
        The model.
    params : NamedTuple
        ``surprise_rate`` of a learner.
    state, action, next_state : int
        The transition.
    terminated : bool
        Whether it ended the episode.

    Returns
    -------
    float
        What earlier outcomes of the pair still weigh, N - 1.
    """
    _replace_assumption(model.is_assumed, model, state, action)
    _lose_weight(model.forgetting, model, params, state, action, next_state)
    kept = model.visits[state, action]
    observe(model, state, action, next_state, terminated)
    return kept


@inlined
def _replace_assumption(is_assumed, model, state, action):
    if is_assumed is None:
        return
    if is_assumed[state, action]:
        is_assumed[state, action] = False
        fade(model, state, action, 1.0)


@inlined
def _lose_weight(forgetting, model, params, state, action, next_state):
    if forgetting is None:
        return
    kappa = forgetting[state, action]
    if params.surprise_rate > 0.0:
        unexpected = surprise(model, state, action, next_state)
        forgetting[state, action] = kappa + params.surprise_rate * (unexpected - kappa)
    fade(model, state, action, kappa)


@inlined
def unknown_way_back(way_back, model, state, action, next_state):
    """Return the action that leads back, if its outcome is not known yet; else -1.

    Parameters
    ----------
    way_back : ndarray of int32, shape (n_states, n_actions), or None
        That of the model; None: ways back are not assumed.
    model : WorldModel
        The model.
    state, action, next_state : int
        A transition that was just observed.

    Returns
    -------
    int
        An action of `next_state`, or -1.
    """
    if way_back is None:
        return -1
    back = way_back[state, action]
    if back >= 0 and model.visits[next_state, back] > 0.0:
        return -1
    return back


@inlined
def assume(is_assumed, state, action):
    """Note that a pair is known only as the way back of another one."""
    if is_assumed is None:
        return
    is_assumed[state, action] = True


@inlined
def surprise(model, state, action, next_state):
    """Return what an outcome is less probable than outcomes of its pair are on average.

    It is 1 if another outcome was certain, and 0 if the pair was never tried.
    """
    total = model.visits[state, action]
    average, this = 0.0, 0.0
    edge = model.first_out[state, action]
    while edge >= 0:
        probability = model.edges[edge]["count"] / total
        average += probability * probability
        if model.edges[edge]["next_state"] == next_state:
            this = probability
        edge = model.edges[edge]["next_out"]
    return max(average - this, 0.0)


@inlined
def fade(model, state, action, kappa):
    """Let a pair lose a share of its weight; an edge without weight is no longer known."""
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
        edge = following


@inlined
def _leave_list_in(model, edge):
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


def in_words(params):
    """Say of what a learner keeps a model.

    Parameters
    ----------
    params : NamedTuple
        ``retention`` and ``capacity`` of a learner.

    Returns
    -------
    str
        Such as "a model of recent episodes".
    """
    unbounded = params.capacity == np.inf
    kept = "all transitions" if unbounded else RETENTION[params.retention].replace("_", " ")
    return f"a model of {kept}".replace("fading", "fading transitions")


@inlined
def retain(model, params, state, action, value):
    """Note that a pair is remembered anew, and forget what no longer fits.

    A pair is forgotten with all its outcomes, so that the probabilities of those that are
    remembered stay true. ``retention`` of the learner says which one goes, ``capacity`` when:

    * ``recent_episodes``: what was not tried in the last `capacity` episodes;
    * ``recent_transitions``: the least recently tried, so that at most `capacity` edges are left;
    * ``valuable_transitions``: the one of the least value, of equals the least recently tried or
      replayed, likewise;
    * ``fading``: a trace that decays to 1 / e in `capacity` episodes, from the pair's weight when
      it was last tried, is gone below 1 / e: after capacity (1 + log N) episodes.

    Parameters
    ----------
    model : WorldModel
        The model, after the pair was observed.
    params : NamedTuple
        ``retention`` and ``capacity`` of a learner.
    state, action : int
        The pair; it is not forgotten at once, whatever its value.
    value : float
        Its action value.
    """
    _retain(model.expendable, model, params, state, action, value)


@inlined
def _retain(queue, model, params, state, action, value):
    if queue is None:
        return
    pair = state * model.visits.shape[1] + action
    if params.retention == EPISODES or params.retention == FADING:
        lifetime = params.capacity
        if params.retention == FADING:
            lifetime *= 1.0 + math.log(model.visits[state, action])
        set_priority(queue, pair, -(model.clock[1] + lifetime), -1)
        return
    remove(queue, pair)
    while model.n_edges[0] > params.capacity and queue.size[0] > 0:
        _forget_pair(model, pop(queue))
    model.clock[0] += 1
    used = float(model.clock[0])
    if params.retention == VALUABLE:
        used = value + _TIE * used
    set_priority(queue, pair, -used, -1)


@inlined
def revalue(model, params, state, action, value):
    """Tell a memory that keeps what is valuable about the new value of a pair in it."""
    _revalue(model.expendable, model, params, state, action, value)


@inlined
def _revalue(queue, model, params, state, action, value):
    if queue is None:
        return
    if params.retention == VALUABLE:
        pair = state * model.visits.shape[1] + action
        set_priority(queue, pair, -(value + _TIE * model.clock[0]), -1)


@inlined
def end_episode(model, params):
    """Forget the pairs whose time is over, at the end of an episode."""
    model.clock[1] += 1
    _end_episode(model.expendable, model, params)


@inlined
def _end_episode(queue, model, params):
    if queue is None:
        return
    if params.retention == EPISODES or params.retention == FADING:
        while queue.size[0] > 0 and -queue.priority[0] <= model.clock[1]:
            _forget_pair(model, pop(queue))


@inlined
def _forget_pair(model, pair):
    n_actions = model.visits.shape[1]
    fade(model, pair // n_actions, pair % n_actions, 1.0)


@inlined
def forget(model):
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
    model.n_places[0] = 0
    model.free[0] = -1
    _forget_all(model.expendable)


@inlined
def _forget_all(queue):
    if queue is None:
        return
    clear(queue)
