"""Belief states: where one may be, and what one may know by then of moves that are in doubt.

Of a move it is known where it leads, but not for sure whether it can be made: a barrier may be
there. What is believed is a Beta distribution, two counts: how often the move was *open*, and how
often it was *shut* and led nowhere. To try it is to learn more. So what may come is a tree of
belief states, pairs of a place and of what has been learned there on the way; those that are the
same are one, unless histories are kept apart.

Functions read these parameters of a learner: ``horizon``, ``n_belief_states``, ``n_uncertain``,
``least_doubt``, ``prior_open``, ``prior_shut``, ``one_try_tells``, ``merges``.

References
----------
.. [1] Duff (2002), Optimal learning: computational procedures for Bayes-adaptive Markov decision
   processes. https://scholarworks.umass.edu/dissertations/AAI3039353
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from replay.jit import inlined

__all__ = ["NOWHERE", "OPEN", "SHUT", "BeliefTree", "Beliefs", "add_root", "belief_tree", "beliefs"]
__all__ += ["chance_open", "clear_tree", "fade_beliefs", "grow", "has_come_true"]
__all__ += ["learn_outcome", "note_try"]

OPEN, SHUT = range(2)
_UNKNOWN, NOWHERE = -1.0, -2.0
"""Instead of how likely an action is open: it is not known where it would lead, or it is known that
it leads nowhere, or it is beyond what is looked ahead."""


class Beliefs(NamedTuple):
    """What is believed of each move.

    Attributes
    ----------
    counts : ndarray of float64, shape (n_states, n_actions, 2)
        How often it was open and shut, prior included.
    next_state : ndarray of int32, shape (n_states, n_actions)
        Where it leads if it is open; -1 if that is not known, the state itself if nowhere.
    reward : ndarray of float64, shape (n_states, n_actions)
        What it earned when it was open last.
    ends : ndarray of bool, shape (n_states, n_actions)
        Whether the episode ended with that.
    """

    counts: NDArray[np.float64]
    next_state: NDArray[np.int32]
    reward: NDArray[np.float64]
    ends: NDArray[np.bool_]


class BeliefTree(NamedTuple):
    """What may come; of the nodes, the belief states, the first ``n`` count.

    Attributes
    ----------
    n : ndarray of int64, shape (2,)
        How many nodes there are, and how many moves in doubt.
    doubted : ndarray of int32, shape (n_uncertain,)
        The moves in doubt, as state * n_actions + action.
    number : ndarray of int32, shape (n_states * n_actions,)
        Which of them a move is; -1 if none.
    since : ndarray of int16, shape (n_uncertain, 2)
        What their tries brought since the tree was grown.
    state : ndarray of int32, shape (n_nodes,)
        The place.
    depth : ndarray of int32, shape (n_nodes,)
        How many moves ahead it is.
    tries : ndarray of int16, shape (n_nodes, n_uncertain, 2)
        What the moves in doubt brought on the way.
    is_now : ndarray of bool, shape (n_nodes,)
        Whether nothing was learned on the way, and no node before it is this place.
    first_at : ndarray of int32, shape (n_states,)
        The latest node of each place; -1 if there is none.
    next_at : ndarray of int32, shape (n_nodes,)
        The one before it at this place.
    chance : ndarray of float64, shape (n_nodes, n_actions)
        How likely each action is open; or ``_UNKNOWN``, or ``NOWHERE``.
    child : ndarray of int32, shape (n_nodes, n_actions, 2)
        The node that follows if it is open, and if it is shut; -1 if there is none.
    first_in : ndarray of int32, shape (n_nodes,)
        The last of the places in `child` that hold a node; -1 if there is none.
    next_in : ndarray of int32, shape (n_nodes * n_actions * 2,)
        The one before it.
    """

    n: NDArray[np.int64]
    doubted: NDArray[np.int32]
    number: NDArray[np.int32]
    since: NDArray[np.int16]
    state: NDArray[np.int32]
    depth: NDArray[np.int32]
    tries: NDArray[np.int16]
    is_now: NDArray[np.bool_]
    first_at: NDArray[np.int32]
    next_at: NDArray[np.int32]
    chance: NDArray[np.float64]
    child: NDArray[np.int32]
    first_in: NDArray[np.int32]
    next_in: NDArray[np.int32]


def beliefs(params: Any, n_states: int, n_actions: int) -> Beliefs:
    """Make the beliefs of one who has tried nothing, and knows of no move where it leads."""
    shape = (n_states, n_actions)
    prior = np.array([params.prior_open, params.prior_shut])
    return Beliefs(
        np.tile(prior, (*shape, 1)),
        np.full(shape, -1, dtype=np.int32),
        np.zeros(shape),
        np.zeros(shape, dtype=np.bool_),
    )


def belief_tree(params: Any, n_states: int, n_actions: int) -> BeliefTree:
    """Make a tree without nodes.

    Parameters
    ----------
    params : NamedTuple
        Of the learner.
    n_states, n_actions : int
        Size of the world.

    Returns
    -------
    BeliefTree
        With room for ``params.n_belief_states`` nodes.

    Examples
    --------
    A barrier is in doubt; whoever tries it knows:

    >>> from replay.learners.bayes_adaptive import Params
    >>> params = Params(horizon=1)
    >>> known, tree = beliefs(params, 2, 1), belief_tree(params, 2, 1)
    >>> known.next_state[0, 0] = 1
    >>> add_root(params, tree, 0)
    0
    >>> grow(params, known, tree)
    >>> int(tree.n[0]), float(tree.chance[0, 0]), tree.state[tree.child[0, 0]].tolist()
    (3, 0.5, [1, 0])
    """
    n, k = params.n_belief_states, params.n_uncertain
    return BeliefTree(
        np.zeros(2, dtype=np.int64),
        np.zeros(k, dtype=np.int32),
        np.full(n_states * n_actions, -1, dtype=np.int32),
        np.zeros((k, 2), dtype=np.int16),
        np.zeros(n, dtype=np.int32),
        np.zeros(n, dtype=np.int32),
        np.zeros((n, k, 2), dtype=np.int16),
        np.zeros(n, dtype=np.bool_),
        np.full(n_states, -1, dtype=np.int32),
        np.full(n, -1, dtype=np.int32),
        np.full((n, n_actions), NOWHERE),
        np.full((n, n_actions, 2), -1, dtype=np.int32),
        np.full(n, -1, dtype=np.int32),
        np.full(n * n_actions * 2, -1, dtype=np.int32),
    )


# -- what is believed ---------------------------------------------------------------------


@inlined
def learn_outcome(
    params: Any, known: Beliefs, state: int, action: int, reward: float, next_state: int, ends: bool
) -> int:
    """Learn what a try of a move brought.

    Parameters
    ----------
    params : NamedTuple
        Of the learner.
    known : Beliefs
        Changed in place.
    state, action : int
        The move.
    reward : float
        What it earned.
    next_state : int
        Where it led.
    ends : bool
        Whether the episode ended with it.

    Returns
    -------
    int
        ``OPEN``; or ``SHUT`` if it led nowhere, and paid nothing.
    """
    outcome = OPEN if next_state != state or reward != 0.0 or ends else SHUT
    if outcome == OPEN:
        known.next_state[state, action] = next_state
        known.reward[state, action] = reward
        known.ends[state, action] = ends
    elif known.next_state[state, action] < 0:
        known.next_state[state, action] = state
    counts = known.counts[state, action]
    if params.one_try_tells:
        counts[outcome], counts[1 - outcome] = 1.0, 0.0
    else:
        counts[outcome] += 1.0
    return outcome


@inlined
def fade_beliefs(params: Any, known: Beliefs, share: float) -> None:
    """Let a share of what was believed give way to what is believed before any try."""
    for s in range(known.counts.shape[0]):
        for a in range(known.counts.shape[1]):
            counts = known.counts[s, a]
            counts[OPEN] += share * (params.prior_open - counts[OPEN])
            counts[SHUT] += share * (params.prior_shut - counts[SHUT])


@inlined
def chance_open(params: Any, counts: NDArray[np.float64], n_open: int, n_shut: int) -> float:
    """Return how likely a move is open, by Bayes' rule.

    Parameters
    ----------
    params : NamedTuple
        Of the learner.
    counts : ndarray of float64, shape (2,)
        Of the move, before these tries.
    n_open, n_shut : int
        What the tries brought.

    Returns
    -------
    float
        The mean of the Beta distribution; 1 or 0 after a try that tells.
    """
    if params.one_try_tells and n_open + n_shut > 0:
        return 1.0 if n_open > 0 else 0.0
    n_tries = n_open + n_shut
    chance: float = (counts[OPEN] + n_open) / (counts[OPEN] + counts[SHUT] + n_tries)
    return chance


# -- the tree -----------------------------------------------------------------------------


@inlined
def clear_tree(tree: BeliefTree) -> None:
    """Remove all nodes, and all doubt."""
    for z in range(tree.n[0]):
        tree.first_at[tree.state[z]] = -1
    for k in range(tree.n[1]):
        tree.number[tree.doubted[k]] = -1
    tree.n[:] = 0
    tree.since[:] = 0


@inlined
def add_root(params: Any, tree: BeliefTree, state: int) -> int:
    """Add a place where one may begin, and return its node; -1 if there is no room."""
    if tree.n[0] >= len(tree.state):
        return -1
    return _reach(params, tree, -1, state, -1, OPEN)


@inlined
def _is_known(tree: BeliefTree, z: int, parent: int, k: int, outcome: int) -> bool:
    """Tell whether in node z as much is known as after one more try of move k in the parent."""
    for j in range(tree.n[1]):
        for o in range(2):
            n_tries = tree.tries[parent, j, o] if parent >= 0 else 0
            if tree.tries[z, j, o] != n_tries + (j == k and o == outcome):
                return False
    return True


@inlined
def _reach(params: Any, tree: BeliefTree, parent: int, state: int, k: int, outcome: int) -> int:
    """Find or add the node of a place, where one knows the outcome of move k besides."""
    same = tree.first_at[state]
    while same >= 0 and not _is_known(tree, same, parent, k, outcome):
        same = tree.next_at[same]
    if same >= 0 and params.merges:
        return int(same)
    z = tree.n[0]
    tree.n[0] += 1
    is_now = same < 0
    for j in range(tree.tries.shape[1]):
        for o in range(2):
            n_tries = tree.tries[parent, j, o] if parent >= 0 else 0
            tree.tries[z, j, o] = n_tries + (j == k and o == outcome)
            is_now = is_now and tree.tries[z, j, o] == 0
    tree.state[z], tree.is_now[z], tree.first_in[z] = state, is_now, -1
    tree.depth[z] = tree.depth[parent] + 1 if parent >= 0 else 0
    tree.next_at[z], tree.first_at[state] = tree.first_at[state], z
    for a in range(tree.chance.shape[1]):
        tree.chance[z, a] = NOWHERE
        for o in range(2):
            tree.child[z, a, o] = -1
    return int(z)


@inlined
def _doubt(params: Any, known: Beliefs, tree: BeliefTree, state: int, action: int) -> int:
    """Return the number of a move that is in doubt; -1 if it isn't, or there is no room."""
    pair = state * known.counts.shape[1] + action
    if tree.number[pair] < 0:
        chance, k = chance_open(params, known.counts[state, action], 0, 0), tree.n[1]
        if k < len(tree.doubted) and min(chance, 1.0 - chance) > params.least_doubt:
            tree.doubted[k], tree.number[pair] = pair, k
            tree.n[1] += 1
    return int(tree.number[pair])


@inlined
def _connect(tree: BeliefTree, z: int, a: int, outcome: int, child: int) -> None:
    place = (z * tree.chance.shape[1] + a) * 2 + outcome
    tree.child[z, a, outcome] = child
    tree.next_in[place], tree.first_in[child] = tree.first_in[child], place


@inlined
def grow(params: Any, known: Beliefs, tree: BeliefTree) -> None:
    """Add what may come after the roots, the nearest first.

    The first ``n_uncertain`` moves in doubt that are met remain in doubt; of others the likelier
    outcome is taken for sure. Nodes at the horizon, and those for which there is no room, stay
    without moves.

    Parameters
    ----------
    params : NamedTuple
        Of the learner.
    known : Beliefs
        What is believed now.
    tree : BeliefTree
        With its roots; grown in place.
    """
    z, n_actions = 0, tree.chance.shape[1]
    while z < tree.n[0]:
        if tree.depth[z] < params.horizon and tree.n[0] + 2 * n_actions <= len(tree.state):
            for a in range(n_actions):
                _branch(params, known, tree, z, a)
        z += 1


@inlined
def _branch(params: Any, known: Beliefs, tree: BeliefTree, z: int, a: int) -> None:
    """Add what may come of an action."""
    s = tree.state[z]
    s_next = known.next_state[s, a]
    if s_next < 0:
        tree.chance[z, a] = _UNKNOWN
        return
    if s_next == s and known.reward[s, a] == 0.0 and not known.ends[s, a]:
        return
    k = _doubt(params, known, tree, s, a)
    n_open, n_shut = (tree.tries[z, k, OPEN], tree.tries[z, k, SHUT]) if k >= 0 else (0, 0)
    chance = chance_open(params, known.counts[s, a], n_open, n_shut)
    if k < 0:
        chance = 1.0 if chance >= 0.5 else 0.0
    tells = k if 0.0 < chance < 1.0 else -1
    tree.chance[z, a] = chance
    if chance > 0.0 and not known.ends[s, a]:
        reached = _reach(params, tree, z, s_next, tells, OPEN)
        _connect(tree, z, a, OPEN, reached)
    if chance < 1.0:
        _connect(tree, z, a, SHUT, _reach(params, tree, z, s, tells, SHUT))


@inlined
def note_try(params: Any, tree: BeliefTree, state: int, action: int, outcome: int) -> bool:
    """Note what a try of a move brought since the tree was grown.

    Parameters
    ----------
    params : NamedTuple
        Of the learner.
    tree : BeliefTree
        Changed in place.
    state, action : int
        The move.
    outcome : int
        ``OPEN`` or ``SHUT``.

    Returns
    -------
    bool
        Whether the move was in doubt, so that more is known now.
    """
    k = tree.number[state * tree.chance.shape[1] + action]
    if k < 0 or (params.one_try_tells and tree.since[k, outcome] > 0):
        return False
    tree.since[k, outcome] += 1
    if params.one_try_tells:
        tree.since[k, 1 - outcome] = 0
    return True


@inlined
def has_come_true(tree: BeliefTree, z: int) -> bool:
    """Tell whether in a node as much is known as was learned since the tree was grown."""
    for k in range(tree.n[1]):
        for outcome in range(2):
            if tree.tries[z, k, outcome] != tree.since[k, outcome]:
                return False
    return True
