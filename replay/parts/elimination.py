"""Expected visits of a Markov chain, by eliminating one state after another.

When a state is eliminated, the transitions through it are replaced by direct ones between the other
states, as in Gaussian elimination. Nothing is ever subtracted [1]_: the diagonal of a state is the
sum of what leaves it, so that every number, however small, is accurate to its last digits. States
with few neighbours are eliminated first [2]_, so that few pairs become neighbours; the order is
computed again only when the chain has a new edge. Rows are kept from one call to the next: only
those that changed, and those that depend on them, are computed again.

References
----------
.. [1] Grassmann, Taksar & Heyman (1985). https://doi.org/10.1287/opre.33.5.1107
.. [2] Tinney & Walker (1967). https://doi.org/10.1109/PROC.1967.6011
"""

from typing import NamedTuple

import numpy as np

from replay.checks.arrays import Bools, Floats, Int32s, Ints
from replay.jit import inlined
from replay.parts.markov_chain import MarkovChain, expected_visits, sum_visits

_MOST_PER_EDGE = 16
_NONE = -1


class Elimination(NamedTuple):
    """What is kept of an elimination; the place of a state is its rank in the order."""

    # (n_states,): the state at each place, and the place of each state; -1: none yet
    order: Int32s
    place: Int32s
    # (n_states + 1,): where the rows of the following tables begin, by place
    begin_later: Int32s
    begin_earlier: Int32s
    # (room,): the neighbours that a state had when it was eliminated; they are eliminated
    # later
    later: Int32s
    # (room,): the places of the states that had a state as such a neighbour, in order
    earlier: Int32s
    # (room,): the discounted probability of going from a state to each of ``later``, directly
    # or through earlier states, except by way of the state itself
    onward: Floats
    # (room,): the share of visits to a state that leads to visits of each of ``earlier``
    back: Floats
    # (n_states,): for each place, the sum of its ``onward`` and ``lost``
    leaving: Floats
    # (n_states,): for each place, the probability that is lost to discounting
    lost: Floats
    row: Floats  # (n_states,): workspace for a row of the chain; 0 between calls
    is_new: Bools  # (n_states,): which places the latest call computed again
    # (2 * room,): linked lists of neighbours, used while the order is computed
    neighbour: Int32s
    next_one: Int32s
    # (n_states,): where these lists begin, how long they are, and which states one of them
    # holds
    first_one: Int32s
    degree: Int32s
    mark: Int32s
    n_edges: Ints  # (1,): the number of edges of the chain when the order was computed


def elimination(n_states: int, n_edges: int) -> Elimination:
    """Make room for an elimination.

    There is room for 16 pairs of neighbours per edge, or for all pairs of states if these are
    fewer. If that does not suffice, `solve_visits` computes visits without an elimination.
    """
    room = min(n_states * (n_states - 1) // 2, _MOST_PER_EDGE * n_edges)
    return Elimination(
        order=np.zeros(n_states, dtype=np.int32),
        place=np.zeros(n_states, dtype=np.int32),
        begin_later=np.zeros(n_states + 1, dtype=np.int32),
        begin_earlier=np.zeros(n_states + 1, dtype=np.int32),
        later=np.zeros(room, dtype=np.int32),
        earlier=np.zeros(room, dtype=np.int32),
        onward=np.zeros(room),
        back=np.zeros(room),
        leaving=np.zeros(n_states),
        lost=np.zeros(n_states),
        row=np.zeros(n_states),
        is_new=np.zeros(n_states, dtype=np.bool_),
        neighbour=np.zeros(2 * room, dtype=np.int32),
        next_one=np.zeros(2 * room, dtype=np.int32),
        first_one=np.zeros(n_states, dtype=np.int32),
        degree=np.zeros(n_states, dtype=np.int32),
        mark=np.zeros(n_states, dtype=np.int32),
        n_edges=np.full(1, _NONE),
    )


@inlined
def solve_visits(
    elimination: Elimination, chain: MarkovChain, state: int, discount: float, visits: Floats
) -> None:
    """Compute the discounted number of expected visits to each state from one state on.

    That is a row of the inverse of 1 - discount T, written to `visits` (n_states,).
    """
    if _eliminate_all(elimination, chain, discount):
        elimination.row[state] = 1.0
        _pass_on(elimination, elimination.place[state], visits)
    else:
        expected_visits(chain, state, discount, visits)


@inlined
def solve_visits_from(
    elimination: Elimination, chain: MarkovChain, begin: Floats, discount: float, visits: Floats
) -> None:
    """Compute the discounted number of expected visits from a distribution of first states.

    That is `begin` (n_states,) times the inverse of 1 - discount T, written to `visits`.
    """
    if _eliminate_all(elimination, chain, discount):
        for s in range(len(begin)):
            elimination.row[s] = begin[s]
        _pass_on(elimination, 0, visits)
    else:
        for s in range(len(begin)):
            chain.arriving[s] = begin[s]
        sum_visits(chain, discount, visits)


@inlined
def _eliminate_all(elimination: Elimination, chain: MarkovChain, discount: float) -> bool:
    """Eliminate the states whose rows changed; return whether there is room for that."""
    if elimination.n_edges[0] != chain.n_edges[0]:
        elimination.n_edges[0] = chain.n_edges[0]
        chain.has_moved[:] = True
        if not _find_order(elimination, chain):
            elimination.order[0] = _NONE
    if elimination.order[0] < 0:  # the graph is too dense for the room there is
        return False
    for place in range(len(elimination.order)):
        due = chain.has_moved[elimination.order[place]]
        for i in range(elimination.begin_earlier[place], elimination.begin_earlier[place + 1]):
            due = due or elimination.is_new[elimination.earlier[i]]
        elimination.is_new[place] = due
        if due:
            _eliminate(elimination, chain, place, discount)
    chain.has_moved[:] = False
    return True


@inlined
def _eliminate(elimination: Elimination, chain: MarkovChain, place: int, discount: float) -> None:
    """Reduce the row of a state to transitions to later states, also through earlier ones."""
    order, row = elimination.order, elimination.row
    later, earlier = elimination.later, elimination.earlier
    state = order[place]
    total = 0.0
    edge = chain.first_out[state]
    while edge >= 0:
        probability = chain.edges[edge]["probability"]
        row[chain.edges[edge]["next_state"]] += discount * probability
        total += probability
        edge = chain.edges[edge]["next_out"]
    lost = 1.0 - discount * total
    for i in range(elimination.begin_earlier[place], elimination.begin_earlier[place + 1]):
        before = earlier[i]
        share = row[order[before]] / elimination.leaving[before]
        row[order[before]] = 0.0
        elimination.back[i] = share
        if share > 0.0:
            lost += share * elimination.lost[before]
            for j in range(elimination.begin_later[before], elimination.begin_later[before + 1]):
                row[later[j]] += share * elimination.onward[j]
    leaving = lost
    for j in range(elimination.begin_later[place], elimination.begin_later[place + 1]):
        elimination.onward[j] = row[later[j]]
        leaving += row[later[j]]
        row[later[j]] = 0.0
    row[state] = 0.0
    elimination.lost[place] = lost
    elimination.leaving[place] = leaving


@inlined
def _pass_on(elimination: Elimination, first: int, visits: Floats) -> None:
    """Propagate what is in the row from a place on to later states, and from there back."""
    order, row = elimination.order, elimination.row
    n_states = len(visits)
    visits[:] = 0.0
    for place in range(first, n_states):
        s = order[place]
        amount = row[s] / elimination.leaving[place]
        row[s] = 0.0
        visits[s] = amount
        if amount > 0.0:
            for j in range(elimination.begin_later[place], elimination.begin_later[place + 1]):
                row[elimination.later[j]] += amount * elimination.onward[j]
    for place in range(n_states - 1, -1, -1):
        amount = visits[order[place]]
        if amount > 0.0:
            for i in range(elimination.begin_earlier[place], elimination.begin_earlier[place + 1]):
                visits[order[elimination.earlier[i]]] += amount * elimination.back[i]


@inlined
def _find_order(elimination: Elimination, chain: MarkovChain) -> bool:
    """Find the order, and the neighbours of each state; return whether there is room for that."""
    n_states = len(elimination.order)
    n_listed = _list_neighbours(elimination, chain)
    n_placed = 0
    most = 0
    elimination.begin_later[0] = 0
    while n_placed < n_states and n_listed >= 0:
        n_before = n_placed
        for s in range(n_states):
            if elimination.place[s] < 0 and elimination.degree[s] <= most and n_listed >= 0:
                elimination.order[n_placed] = s
                elimination.place[s] = n_placed
                n_placed += 1
                n_listed = _join_neighbours(elimination, s, n_listed)
        # Rounds go on as long as a state has so few neighbours: eliminating one changes others.
        if n_placed == n_before:
            most += 1
    if n_listed < 0:
        return False
    # Invert the table of later states: list the earlier places of each place, in order.
    begin_earlier, degree = elimination.begin_earlier, elimination.degree
    degree[:] = 0
    for j in range(elimination.begin_later[n_states]):
        degree[elimination.place[elimination.later[j]]] += 1
    begin_earlier[0] = 0
    for place in range(n_states):
        begin_earlier[place + 1] = begin_earlier[place] + degree[place]
        degree[place] = begin_earlier[place]
    for place in range(n_states):
        for j in range(elimination.begin_later[place], elimination.begin_later[place + 1]):
            after = elimination.place[elimination.later[j]]
            elimination.earlier[degree[after]] = place
            degree[after] += 1
    return True


@inlined
def _list_neighbours(elimination: Elimination, chain: MarkovChain) -> int:
    """List the neighbours of each state; return how many entries there are, -1 if too many."""
    elimination.place[:] = _NONE
    elimination.first_one[:] = _NONE
    elimination.degree[:] = 0
    elimination.mark[:] = _NONE
    n_listed = 0
    for s in range(len(elimination.order)):
        edge = chain.first_out[s]
        while edge >= 0:
            t = chain.edges[edge]["next_state"]
            edge = chain.edges[edge]["next_out"]
            if s == t or _are_neighbours(elimination, s, t):
                continue
            if n_listed + 2 > len(elimination.neighbour):
                return -1
            n_listed = _add(elimination, s, t, n_listed)
            n_listed = _add(elimination, t, s, n_listed)
    return n_listed


@inlined
def _are_neighbours(elimination: Elimination, s: int, t: int) -> bool:
    if elimination.degree[s] > elimination.degree[t]:
        s, t = t, s
    one = elimination.first_one[s]
    while one >= 0:
        if elimination.neighbour[one] == t:
            return True
        one = elimination.next_one[one]
    return False


@inlined
def _add(elimination: Elimination, s: int, t: int, n_listed: int) -> int:
    elimination.neighbour[n_listed] = t
    elimination.next_one[n_listed] = elimination.first_one[s]
    elimination.first_one[s] = n_listed
    elimination.degree[s] += 1
    return n_listed + 1


@inlined
def _join_neighbours(elimination: Elimination, state: int, n_listed: int) -> int:
    """Make the neighbours of an eliminated state neighbours of each other.

    Return the new number of entries of the lists; -1 if there is no room for them. The longest of
    the neighbours' lists is never scanned: each other state's own list shows whether it is in it.
    """
    begin, end = _list_later(elimination, state)
    if end < 0:
        return -1
    hub = _NONE
    for j in range(begin, end):
        s = elimination.later[j]
        elimination.degree[s] -= 1
        if hub < 0 or elimination.degree[s] > elimination.degree[hub]:
            hub = s
    for j in range(begin, end):
        s = elimination.later[j]
        if s == hub:
            continue
        _mark_neighbours(elimination, s)
        for i in range(begin, end):
            t = elimination.later[i]
            if t == s or elimination.mark[t] == s:
                continue
            if n_listed + 1 + (t == hub) > len(elimination.neighbour):
                return -1
            n_listed = _add(elimination, s, t, n_listed)
            if t == hub:
                n_listed = _add(elimination, t, s, n_listed)
    return n_listed


@inlined
def _list_later(elimination: Elimination, state: int) -> tuple[int, int]:
    """Store the neighbours that a state still has; return between which entries they are."""
    place = elimination.place[state]
    begin = elimination.begin_later[place]
    end = begin
    one = elimination.first_one[state]
    while one >= 0:
        t = elimination.neighbour[one]
        one = elimination.next_one[one]
        if elimination.place[t] < 0:
            if end == len(elimination.later):
                return begin, -1
            elimination.later[end] = t
            end += 1
    elimination.begin_later[place + 1] = end
    return begin, end


@inlined
def _mark_neighbours(elimination: Elimination, state: int) -> None:
    """Mark the neighbours that a state still has, and remove the others from its list."""
    previous = _NONE
    one = elimination.first_one[state]
    while one >= 0:
        following = elimination.next_one[one]
        t = elimination.neighbour[one]
        if elimination.place[t] < 0:
            elimination.mark[t] = state
            previous = one
        elif previous < 0:
            elimination.first_one[state] = following
        else:
            elimination.next_one[previous] = following
        one = following
