"""Bits per event: how well an account predicts where replay begins and how it goes on.

In each lap, what an account replays gives the probability of each beginning, of each move to a
neighbour, and of stopping; few simulated sequences are smoothed by those of all laps, and these by
the track. A decoded path is not what was replayed: its probability is summed over all paths that
may have been read as this one (the forward algorithm of hidden Markov models [1]_). The *ceiling*
is a flexible model without a theory, which learns from the animal's own replay: how much structure
there is to explain at all. The *walk* knows the track only. Both predict the path as it was
decoded.

References
----------
.. [1] Rabiner (1989). https://doi.org/10.1109/5.18626
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from scipy.optimize import minimize
from scipy.special import logsumexp

from analyses.inference.replayed import Places, Replayed
from replay.checks.arrays import Floats, Int32s, Ints

_OF_TRACK, _OF_ALL_LAPS = 1.0, 5.0  # decisions that count as made before the simulated ones
_LAPSE = 0.02  # share of decisions that may be any
_PENALTY = 1.0  # on squares of weights, which few sequences would make very large
_N_FOLDS = 5  # of laps
_NEVER = -1e9  # the score of an option that does not exist
Options = tuple[Floats, Ints, Ints]
"""Values of each option of each choice, the option chosen, and the sequence of each choice."""


def _moves(replayed: Replayed, places: Places) -> tuple[Ints, Int32s]:
    """Return the sequence of each move, and the number of the move, a row of `Places.ends`."""
    states, owner = replayed.states, replayed.states.owner
    is_move = owner[1:] == owner[:-1]
    here, there = states.flat[:-1][is_move], states.flat[1:][is_move]
    return owner[1:][is_move], places.move[here, there]


def path_bits(
    simulated: Replayed, replayed: Replayed, places: Places, wrong_places: float = 0.0
) -> Floats:
    """Return log2 of the probability of each sequence of the animal, shape (n_sequences,).

    `simulated` is what an account replays. A share `wrong_places` of the animal's places may be any
    place instead of the one that was replayed.
    """
    n_laps, n_places, n_moves = len(places.goal), places.n_places, places.n_moves
    out = np.bincount(places.ends[:, 0], minlength=n_places)
    # Moves come first, then the stop in each place; a choice is made among those of one place.
    place_of = np.append(places.ends[:, 0], np.arange(n_places)).astype(np.int64)
    even = np.asarray(1.0 / (1.0 + out[place_of]), dtype=np.float64)

    goes = np.zeros((n_laps, n_moves + n_places))
    owner, move = _moves(simulated, places)
    np.add.at(goes, (simulated.lap[owner], move), 1.0)
    np.add.at(goes, (simulated.lap, n_moves + simulated.states.last.astype(np.int64)), 1.0)
    starts = np.zeros((n_laps, n_places))
    np.add.at(starts, (simulated.lap, simulated.states.first), 1.0)

    start = _smoothed(starts, np.zeros(n_places, dtype=np.int64), np.full(n_places, 1 / n_places))
    go = _smoothed(goes, place_of, even)
    # A lapse bounds what a single odd sequence can cost.
    start = (1 - _LAPSE) * start + _LAPSE / n_places
    go = (1 - _LAPSE) * go + _LAPSE * even
    into = sparse.csr_array(
        (np.ones(n_moves), (places.ends[:, 1], np.arange(n_moves))), (n_places, n_moves)
    )
    states, lap = replayed.states, replayed.lap
    bits = np.zeros(len(lap))
    at = start[lap]  # the probability of what was seen so far, and to be in each place
    for step in range(int(states.length.max(initial=0))):
        rows = np.flatnonzero(states.length > step)
        if step:
            moved = at[rows][:, places.ends[:, 0]] * go[lap[rows], :n_moves]
            at[rows] = (into @ moved.T).T
        read = np.full((len(rows), n_places), wrong_places / n_places)
        read[np.arange(len(rows)), states.flat[states.begin[rows] + step]] += 1 - wrong_places
        at[rows] *= read
        # Products of so many probabilities would underflow, so their logarithms are added up.
        total = at[rows].sum(axis=1)
        at[rows] /= total[:, None]
        bits[rows] += np.log2(total)
    return np.asarray(bits + np.log2((at * go[lap, n_moves:]).sum(axis=1)))


def _smoothed(counts: Floats, group: Ints, even: Floats) -> Floats:
    """Return probabilities within each group of columns, lap by lap, shape (n_laps, n_columns)."""
    n_groups = int(group.max()) + 1
    total = counts.sum(axis=0)
    of_all = (total + _OF_TRACK * even) / (np.bincount(group, total, n_groups) + _OF_TRACK)[group]
    by_lap = np.stack([np.bincount(group, row, n_groups) for row in counts])
    return np.asarray((counts + _OF_ALL_LAPS * of_all) / (by_lap + _OF_ALL_LAPS)[:, group])


def walk_bits(replayed: Replayed, places: Places) -> Floats:
    """Return log2 of the probability of each sequence under a walk along the track."""
    owner, move = _moves(replayed, places)
    even = -np.log2(1.0 + np.bincount(places.ends[:, 0], minlength=places.n_places))
    bits = -np.log2(places.n_places) + even[replayed.states.last]
    moved = even[places.ends[move, 0]]
    return np.asarray(bits + np.bincount(owner, moved, minlength=len(bits)))


def held_out_bits(bits: Floats, lap: Int32s) -> Floats:
    """Average over the draws of an account, weighted by how well they predict other laps.

    `bits` has shape (n_draws, n_sequences). Every second lap is predicted by draws that are
    weighted by the laps between; returns shape (n_sequences,).
    """
    found = np.empty(bits.shape[1])
    for part in (0, 1):
        held = lap % 2 == part
        weight = np.log(2) * bits[:, ~held].sum(axis=1)
        weight = weight - logsumexp(weight)
        found[held] = logsumexp(weight[:, None] + np.log(2) * bits[:, held], axis=0) / np.log(2)
    return found


def ceiling_bits(replayed: Replayed, places: Places) -> Floats:
    """Return log2 of the probability of each sequence under a model that learns from the others.

    A regularised choice model: the next place (a neighbour, or a stop) by how often it was next in
    other laps' replay, whether, how often and how long ago the move was made in each direction, and
    whether it leads back, nearer to the animal, or nearer to the place that paid most; beginnings
    likewise. It is fitted in four fifths of the laps and evaluated in the others.
    """
    # Whole laps are held out: sequences of one lap resemble one another.
    fold = np.unique(replayed.lap, return_inverse=True)[1] % _N_FOLDS
    found = np.empty(len(fold))
    for one in np.unique(fold):
        held = fold == one
        train, test = (replayed.take(np.flatnonzero(rows)) for rows in (~held, held))
        total = np.zeros(len(test.lap))
        for options in (_beginnings, _continuations):
            values, chosen, _ = options(train, train, places, leaves_self_out=True)
            weights = _fitted(values, chosen)
            values, chosen, owner = options(test, train, places, leaves_self_out=False)
            scores = values @ weights
            log_p = scores[np.arange(len(chosen)), chosen] - logsumexp(scores, axis=1)
            total += np.bincount(owner, log_p, minlength=len(test.lap)) / np.log(2)
        found[held] = total
    return found


def _fitted(values: Floats, chosen: Ints) -> Floats:
    """Fit the weights of a choice model; the last feature marks options that do not exist."""
    n, _, n_features = values.shape
    rows = np.arange(n)

    def loss(free: Floats) -> tuple[float, Floats]:
        weights = np.append(free, 1.0)
        scores = values @ weights
        log_total = logsumexp(scores, axis=1)
        share = np.exp(scores - log_total[:, None])
        value = (log_total - scores[rows, chosen]).sum() + 0.5 * _PENALTY * (free**2).sum()
        slope = np.einsum("ik,ikj->j", share, values) - values[rows, chosen].sum(axis=0)
        return float(value), slope[:-1] + _PENALTY * free

    found = minimize(loss, np.zeros(n_features - 1), jac=True, method="L-BFGS-B")
    return np.append(found.x, 1.0)


def _beginnings(
    replayed: Replayed, base: Replayed, places: Places, *, leaves_self_out: bool
) -> Options:
    """Describe every place as a possible beginning of each sequence, counted in `base`."""
    first, n_places = replayed.states.first.astype(np.int64), places.n_places
    rows = np.arange(len(first))
    counts = np.tile(np.bincount(base.states.first, minlength=n_places), (len(first), 1))
    if leaves_self_out:
        counts[rows, first] -= 1
    near = np.where(
        replayed.location[:, None] >= 0, places.distance[replayed.location], places.distance.max()
    )
    goal = places.goal[replayed.lap]
    far = np.where(goal[:, None] >= 0, places.distance[goal], places.distance.max())
    entered = [np.bincount(places.ends[:, 1], made, n_places) for made in places.n_made]
    visits = np.stack(entered)[replayed.lap]
    features = {
        "how often it is one": np.log(counts + 1.0 / n_places),
        "at the animal": near == 0,
        "one move from the animal": near == 1,
        "distance from the animal": np.log1p(near),
        "at the goal": far == 0,
        "distance from the goal": np.log1p(far),
        "visits": np.log1p(visits),
        "was visited": visits > 0,
        "does not exist": np.zeros(near.shape),
    }
    return np.stack([*features.values()], axis=2).astype(np.float64), first, rows


def _continuations(
    replayed: Replayed, base: Replayed, places: Places, *, leaves_self_out: bool
) -> Options:
    """Describe each neighbour, and stopping, after each place of each sequence, likewise."""
    states, n_moves = replayed.states, places.n_moves
    owner = states.owner
    here = states.flat.astype(np.int64)
    order = np.argsort(places.ends[:, 0], kind="stable")
    degree = np.bincount(places.ends[:, 0], minlength=places.n_places)
    begin = np.concatenate(([0], np.cumsum(degree)))
    # All choices have as many options as that of the place with most neighbours.
    width = int(degree.max()) + 1
    slots = np.arange(width - 1)
    exists = slots < degree[here][:, None]
    move = np.where(exists, order[np.minimum(begin[here][:, None] + slots, n_moves - 1)], 0)
    is_last = np.append(owner[1:] != owner[:-1], True)
    before = np.where(np.append(True, owner[1:] != owner[:-1]), -1, np.roll(here, 1))
    after = np.where(is_last, -1, np.roll(here, -1))
    there = places.ends[move, 1]
    chosen = np.where(is_last, width - 1, np.argmax(exists & (there == after[:, None]), axis=1))

    lap = replayed.lap[owner][:, None]
    back = places.move[there, here[:, None]]
    n_ahead, n_back = places.n_made[lap, move], places.n_made[lap, back]
    age = np.where(
        places.last_made[lap, move] >= 0, lap - places.last_made[lap, move], len(places.goal)
    )
    location, goal = replayed.location[owner], places.goal[replayed.lap[owner]]

    def nearer(to: Int32s) -> Floats:
        to = to.astype(np.int64)
        gain = places.distance[to, here][:, None] - places.distance[to[:, None], there]
        return np.where(to[:, None] >= 0, gain, 0.0)

    n_moved = np.bincount(_moves(base, places)[1], minlength=n_moves)[move]
    n_stopped = np.bincount(base.states.last, minlength=places.n_places)[here]
    if leaves_self_out:
        n_moved[np.arange(len(here)), np.minimum(chosen, width - 2)] -= ~is_last
        n_stopped -= is_last
    # Of each feature, the values for moves and for stopping; 0 where it describes the other.
    features: dict[str, tuple[ArrayLike, ArrayLike]] = {
        "how often it was next": (np.log(n_moved + 0.5), np.log(n_stopped + 0.5)),
        "leads back": (there == before[:, None], 0),
        "was made": (n_ahead > 0, 0),
        "was made backwards": (n_back > 0, 0),
        "times made": (np.log1p(n_ahead), 0),
        "times made backwards": (np.log1p(n_back), 0),
        "laps since it was made": (np.log1p(age), 0),
        "nearer to the animal": (nearer(location), 0),
        "nearer to the goal": (nearer(goal), 0),
        "is a stop": (0, 1),
        "stops after so many moves": (0, np.log1p(np.arange(len(here)) - states.begin[owner])),
        "stops at the animal": (0, here == location),
        "stops at the goal": (0, here == goal),
        "does not exist": (np.where(exists, 0.0, _NEVER), 0),
    }
    values = np.empty((len(here), width, len(features)))
    for number, (of_moves, of_stop) in enumerate(features.values()):
        values[:, :-1, number], values[:, -1, number] = of_moves, of_stop
    return values, chosen, owner
