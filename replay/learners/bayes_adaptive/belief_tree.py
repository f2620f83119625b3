"""Belief states: where the agent may be, and what it may know by then about uncertain moves.

The agent knows where a move leads, but not for sure whether it can be made, since a barrier may
block it. Its belief is a Beta distribution with two counts: how often the move was *open*, and how
often it was *shut* and led nowhere. Each try changes the belief, so the possible futures are a tree
of belief states, pairs of a place and of what was learned on the way there. Equal belief states are
merged, unless histories are kept apart.

References
----------
.. [1] Duff (2002), Optimal learning: computational procedures for Bayes-adaptive Markov decision
   processes. https://scholarworks.umass.edu/dissertations/AAI3039353
"""

from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from replay.checks.arrays import Bools, Floats, Int32s, Ints
from replay.jit import inlined
from replay.learners import ranges
from replay.learners.contract import Between, Choice
from replay.parts.pauses import IN_PAUSES

UNTRIED = ("unknown", "way_back", "seen")
"""What is known of where untried moves lead: nothing, where the reverse of a move that was made
leads, or everything, since the maze is seen. Whether they are open is uncertain."""
UNKNOWN, WAY_BACK, SEEN = range(3)


class Params(NamedTuple):
    """Parameters of Bayes-adaptive replay.

    What is not listed is explained in :data:`replay.learners.ranges.SHARED`.

    Attributes
    ----------
    inverse_temperature : float
        beta: of the softmax policy by which the agent acts, and for which gain and need are
        computed.
    learning_rate : float
        alpha, online: fraction of the distance to its target by which Q moves.
    replay_rate : float
        alpha_r: the same in replay.
    forgetting : float
        Fraction of all action values that is lost at each step.
    prior_open, prior_shut : float
        alpha and beta of the prior, a Beta distribution of the probability that a move is open.
    one_try_tells : bool
        Whether one try shows for certain whether a move is open, as with barriers; if not, tries
        are counted, as with bandits.
    volatility : float
        Fraction of the distance to the prior by which beliefs return when an episode ends.
    untried : {"unknown", "way_back", "seen"}
        What is known of where untried moves lead: nothing, where the reverse of a move that was
        made leads, or everything, since the maze is seen.
    n_uncertain : int
        Largest number of uncertain moves.
    least_doubt : float
        A move is certain if one of its outcomes is no likelier than this.
    horizon : int
        Number of moves to look ahead.
    n_belief_states : int
        Largest number of belief states; the nearest ones are kept.
    merges : bool
        Whether histories that lead to the same place and belief share one node.
    max_backups : int
        Largest number of backups per pause.
    min_priority : float
        xi: a pause ends when no backup has a larger expected value than this.
    """

    discount: ranges.DiscountBelowOne = 0.9
    inverse_temperature: ranges.InverseTemperature = 5.0
    learning_rate: ranges.Share = 1.0
    replay_rate: ranges.Share = 1.0
    forgetting: ranges.Share = 0.0
    prior_open: Annotated[float, Between(1e-3, 1e6)] = 1.0
    prior_shut: Annotated[float, Between(1e-3, 1e6)] = 1.0
    one_try_tells: bool = True
    volatility: ranges.Share = 0.0
    untried: Annotated[int, Choice(UNTRIED)] = UNKNOWN
    n_uncertain: Annotated[int, Between(0, 10)] = 3
    least_doubt: Annotated[float, Between(0.0, 0.5)] = 0.1
    horizon: Annotated[int, Between(1, 10_000)] = 100
    n_belief_states: Annotated[int, Between(1, 100_000)] = 200
    merges: bool = True
    replay_at: ranges.Moment = IN_PAUSES
    max_backups: ranges.Count = 20
    min_priority: ranges.Threshold = 0.0
    backup_cost: ranges.NotNegative = 0.0
    mean_backups: ranges.Mean = np.inf


OPEN, SHUT = range(2)
_UNKNOWN, NOWHERE = -1.0, -2.0
"""Values in place of the probability that an action is open. ``_UNKNOWN``: it is not known where
the action leads. ``NOWHERE``: it is known to lead nowhere, or lies beyond the horizon."""


class Beliefs(NamedTuple):
    """The belief about each move."""

    # (n_states, n_actions, 2): how often the move was open and shut, including the prior
    counts: Floats
    # (n_states, n_actions): where it leads if it is open; -1 if that is not known, the state
    # itself if nowhere
    next_state: Int32s
    reward: Floats  # (n_states, n_actions): its reward when it was last open
    ends: Bools  # (n_states, n_actions): whether the episode ended then


class BeliefTree(NamedTuple):
    """The possible futures; each node is a belief state."""

    n: Ints  # (2,): the number of nodes in use, and of uncertain moves
    doubted: Int32s  # (n_uncertain,): the uncertain moves, as state * n_actions + action
    # (n_states * n_actions,): the index of a move in `doubted`; -1 if it is not uncertain
    number: Int32s
    # (n_uncertain, 2): how often each uncertain move was found open and shut since the tree
    # was grown
    since: NDArray[np.int16]
    state: Int32s  # (n_nodes,): the place
    depth: Int32s  # (n_nodes,): the number of moves from the root
    # (n_nodes, n_uncertain, 2): how often each uncertain move was found open and shut on the
    # way from the root
    tries: NDArray[np.int16]
    # (n_nodes,): whether this is the first node of its place before which nothing was learned
    # on the way
    is_now: Bools
    first_at: Int32s  # (n_states,): the latest node of each place; -1 if there is none
    next_at: Int32s  # (n_nodes,): the node before it at this place
    # (n_nodes, n_actions): the probability that each action is open; or ``_UNKNOWN``, or
    # ``NOWHERE``
    chance: Floats
    # (n_nodes, n_actions, 2): the node that follows if it is open, and if it is shut; -1 if
    # there is none
    child: Int32s
    # (n_nodes,): the last flat index of `child` that holds this node; -1 if there is none
    first_in: Int32s
    next_in: Int32s  # (n_nodes * n_actions * 2,): the index before it


def beliefs(params: Params, n_states: int, n_actions: int) -> Beliefs:
    """Make the beliefs of an agent that has tried no move, and knows of none where it leads."""
    shape = (n_states, n_actions)
    prior = np.array([params.prior_open, params.prior_shut])
    return Beliefs(
        counts=np.tile(prior, (*shape, 1)),
        next_state=np.full(shape, -1, dtype=np.int32),
        reward=np.zeros(shape),
        ends=np.zeros(shape, dtype=np.bool_),
    )


def belief_tree(params: Params, n_states: int, n_actions: int) -> BeliefTree:
    """Make a tree without nodes."""
    n, k = params.n_belief_states, params.n_uncertain
    return BeliefTree(
        n=np.zeros(2, dtype=np.int64),
        doubted=np.zeros(k, dtype=np.int32),
        number=np.full(n_states * n_actions, -1, dtype=np.int32),
        since=np.zeros((k, 2), dtype=np.int16),
        state=np.zeros(n, dtype=np.int32),
        depth=np.zeros(n, dtype=np.int32),
        tries=np.zeros((n, k, 2), dtype=np.int16),
        is_now=np.zeros(n, dtype=np.bool_),
        first_at=np.full(n_states, -1, dtype=np.int32),
        next_at=np.full(n, -1, dtype=np.int32),
        chance=np.full((n, n_actions), NOWHERE),
        child=np.full((n, n_actions, 2), -1, dtype=np.int32),
        first_in=np.full(n, -1, dtype=np.int32),
        next_in=np.full(n * n_actions * 2, -1, dtype=np.int32),
    )


# -- what is believed ---------------------------------------------------------------------


@inlined
def learn_outcome(
    params: Params,
    known: Beliefs,
    state: int,
    action: int,
    reward: float,
    next_state: int,
    ends: bool,
) -> int:
    """Learn from one try of a move."""
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
def fade_beliefs(params: Params, known: Beliefs, share: float) -> None:
    """Move all beliefs towards the prior."""
    for s in range(known.counts.shape[0]):
        for a in range(known.counts.shape[1]):
            counts = known.counts[s, a]
            counts[OPEN] += share * (params.prior_open - counts[OPEN])
            counts[SHUT] += share * (params.prior_shut - counts[SHUT])


@inlined
def chance_open(params: Params, counts: Floats, n_open: int, n_shut: int) -> float:
    """Return the probability that a move is open, by Bayes' rule.

    `counts` are those of open and shut, before these tries.
    """
    if params.one_try_tells and n_open + n_shut > 0:
        return 1.0 if n_open > 0 else 0.0
    n_tries = n_open + n_shut
    chance: float = (counts[OPEN] + n_open) / (counts[OPEN] + counts[SHUT] + n_tries)
    return chance


# -- the tree -----------------------------------------------------------------------------


@inlined
def clear_tree(tree: BeliefTree) -> None:
    """Remove all nodes and uncertain moves."""
    for z in range(tree.n[0]):
        tree.first_at[tree.state[z]] = -1
    for k in range(tree.n[1]):
        tree.number[tree.doubted[k]] = -1
    tree.n[:] = 0
    tree.since[:] = 0


@inlined
def add_root(params: Params, tree: BeliefTree, state: int) -> int:
    """Add a place where the future may begin.

    Return its node; -1 if there is no room.
    """
    if tree.n[0] >= len(tree.state):
        return -1
    return _reach(params, tree, -1, state, -1, OPEN)


@inlined
def _is_known(tree: BeliefTree, z: int, parent: int, k: int, outcome: int) -> bool:
    """Return whether the belief of node z is that of its parent after one more try of move k."""
    for j in range(tree.n[1]):
        for o in range(2):
            n_tries = tree.tries[parent, j, o] if parent >= 0 else 0
            if tree.tries[z, j, o] != n_tries + (j == k and o == outcome):
                return False
    return True


@inlined
def _reach(params: Params, tree: BeliefTree, parent: int, state: int, k: int, outcome: int) -> int:
    """Find or add the node of a place after one more outcome of move k than in the parent."""
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
def _connect(tree: BeliefTree, z: int, a: int, outcome: int, child: int) -> None:
    place = (z * tree.chance.shape[1] + a) * 2 + outcome
    tree.child[z, a, outcome] = child
    tree.next_in[place], tree.first_in[child] = tree.first_in[child], place


@inlined
def grow(params: Params, known: Beliefs, tree: BeliefTree) -> None:
    """Add the possible futures of the roots, the nearest ones first.

    Only the first ``n_uncertain`` uncertain moves are treated as such; for others the more probable
    outcome is taken as certain. Nodes at the horizon, and nodes for whose children there is no
    room, have no moves.
    """
    z, n_actions = 0, tree.chance.shape[1]
    while z < tree.n[0]:
        if tree.depth[z] < params.horizon and tree.n[0] + 2 * n_actions <= len(tree.state):
            for a in range(n_actions):
                _branch(params, known, tree, z, a)
        z += 1


@inlined
def _branch(params: Params, known: Beliefs, tree: BeliefTree, z: int, a: int) -> None:
    """Add the possible outcomes of an action."""
    s = tree.state[z]
    s_next = known.next_state[s, a]
    if s_next < 0:
        tree.chance[z, a] = _UNKNOWN
        return
    if s_next == s and known.reward[s, a] == 0.0 and not known.ends[s, a]:
        return
    pair = s * known.counts.shape[1] + a
    if tree.number[pair] < 0 and tree.n[1] < len(tree.doubted):  # uncertain, if there is room
        chance = chance_open(params, known.counts[s, a], 0, 0)
        if min(chance, 1.0 - chance) > params.least_doubt:
            tree.doubted[tree.n[1]], tree.number[pair] = pair, tree.n[1]
            tree.n[1] += 1
    k = tree.number[pair]
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
def note_try(params: Params, tree: BeliefTree, state: int, action: int, outcome: int) -> bool:
    """Note the outcome of a move tried after the tree was grown."""
    k = tree.number[state * tree.chance.shape[1] + action]
    if k < 0 or (params.one_try_tells and tree.since[k, outcome] > 0):
        return False
    tree.since[k, outcome] += 1
    if params.one_try_tells:
        tree.since[k, 1 - outcome] = 0
    return True


@inlined
def has_come_true(tree: BeliefTree, z: int) -> bool:
    """Return whether a node's belief is the present one, given what was learned since `grow`."""
    for k in range(tree.n[1]):
        for outcome in range(2):
            if tree.tries[z, k, outcome] != tree.since[k, outcome]:
                return False
    return True
