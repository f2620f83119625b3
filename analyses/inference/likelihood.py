"""Bits per event: how well an account predicts where replay begins and how it goes on.

In each lap, what an account replays gives the probability of each beginning, of each move to a
neighbour, and of stopping; few simulated sequences are smoothed by those of all laps, and these by
the track. A decoded path is not what was replayed: its probability is summed over all paths that
may have been read as this one (the forward algorithm of hidden Markov models [1]_). The *ceiling*
is a flexible model without a theory, which learns from the animal's own replay: how much structure
there is to explain at all. The *walk* knows the track only. Both predict the path as it was
decoded.

Which priorities explain logged backups? Exact, for accounts that choose among candidates.

A model's log, unlike a recording, says which backup was made, and its authors know among which
candidates, and with which priorities. An account then gives each choice a probability, by a power
of its priority: p(i) = (1 - lapse) priority_i ** power / sum_j priority_j ** power + lapse / n. A
power needs no units; 0 is random choice, and a large one the choice of the greatest priority.

References
----------
.. [1] Rabiner (1989). https://doi.org/10.1109/5.18626
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy import sparse
from scipy.optimize import minimize
from scipy.special import logsumexp, softmax

from analyses.inference.replayed import Places, Replayed
from replay.checks import check_array, typed
from replay.checks.arrays import Floats, Int32s, Ints

_OF_TRACK, _OF_ALL_LAPS = 1.0, 5.0  # decisions that count as made before the simulated ones
_LAPSE = 0.02  # share of decisions that may be any
_PENALTY = 1.0  # on squares of weights, which few sequences would make very large
_N_FOLDS = 5  # of laps
_NEVER = -1e9  # the score of an option that does not exist
Options = tuple[Floats, Ints, Ints]
"""Values of each option of each choice, the option chosen, and the sequence of each choice."""
_POWERS = np.array([0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 16.0])
_LAPSES = np.array([0.001, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5])


class _Steps:
    """The decisions of sequences: a beginning, moves, and a stop each, by lap."""

    def __init__(self, replayed: Replayed, places: Places) -> None:
        states = replayed.states
        owner = states.owner
        is_move = owner[1:] == owner[:-1]
        here, there = states.flat[:-1][is_move], states.flat[1:][is_move]
        self.lap, self.n = replayed.lap.astype(np.int64), len(replayed.lap)
        self.first, self.last = states.first.astype(np.int64), states.last.astype(np.int64)
        self.of_move, self.move = owner[1:][is_move], places.move[here, there].astype(np.int64)


def path_bits(
    simulated: Replayed, replayed: Replayed, places: Places, wrong_places: float = 0.0
) -> Floats:
    """Return log2 of the probability of each sequence of the animal, shape (n_sequences,).

    `simulated` is what an account replays. A share `wrong_places` of the animal's places may be any
    place instead of the one that was replayed.
    """
    own, seen = _Steps(simulated, places), _Steps(replayed, places)
    n_laps, n_places, n_moves = len(places.goal), places.n_places, places.n_moves
    out = np.bincount(places.ends[:, 0], minlength=n_places)
    # Moves come first, then the stop in each place; a choice is made among those of one place.
    place_of = np.append(places.ends[:, 0], np.arange(n_places)).astype(np.int64)
    even = np.asarray(1.0 / (1.0 + out[place_of]), dtype=np.float64)

    goes = np.zeros((n_laps, n_moves + n_places))
    np.add.at(goes, (own.lap[own.of_move], own.move), 1.0)
    np.add.at(goes, (own.lap, n_moves + own.last), 1.0)
    starts = np.zeros((n_laps, n_places))
    np.add.at(starts, (own.lap, own.first), 1.0)

    start = _smoothed(starts, np.zeros(n_places, dtype=np.int64), np.full(n_places, 1 / n_places))
    go = _smoothed(goes, place_of, even)
    # A lapse bounds what a single odd sequence can cost.
    start = (1 - _LAPSE) * start + _LAPSE / n_places
    go = (1 - _LAPSE) * go + _LAPSE * even
    into = sparse.csr_array(
        (np.ones(n_moves), (places.ends[:, 1], np.arange(n_moves))), (n_places, n_moves)
    )
    states, bits, lap = replayed.states, np.zeros(seen.n), seen.lap
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
    seen = _Steps(replayed, places)
    even = -np.log2(1.0 + np.bincount(places.ends[:, 0], minlength=places.n_places))
    bits = -np.log2(places.n_places) + even[seen.last]
    moved = even[places.ends[seen.move, 0]]
    return np.asarray(bits + np.bincount(seen.of_move, moved, minlength=seen.n))


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
    seen = _Steps(replayed, places)
    # Whole laps are held out: sequences of one lap resemble one another.
    fold = np.unique(replayed.lap, return_inverse=True)[1] % _N_FOLDS
    found = np.empty(seen.n)
    for one in np.unique(fold):
        held = fold == one
        train, test = (replayed.take(np.flatnonzero(rows)) for rows in (~held, held))
        total = np.zeros(len(test.lap))
        for options in (_beginnings, _continuations):
            weights = _fitted(*options(train, train, places)[:2])
            values, chosen, owner = options(test, train, places)
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


def _beginnings(replayed: Replayed, base: Replayed, places: Places) -> Options:
    """Describe every place as a possible beginning of each sequence."""
    seen, n_places = _Steps(replayed, places), places.n_places
    counts = _counts(base, places)[0]
    own = np.zeros((seen.n, n_places))
    if base is replayed:  # how often without the sequence itself
        own[np.arange(seen.n), seen.first] = 1.0
    near = np.where(
        replayed.location[:, None] >= 0, places.distance[replayed.location], places.distance.max()
    )
    goal = places.goal[replayed.lap]
    far = np.where(goal[:, None] >= 0, places.distance[goal], places.distance.max())
    visits = np.zeros((len(places.goal), n_places))
    for lap in range(len(places.goal)):
        visits[lap] = np.bincount(places.ends[:, 1], places.n_made[lap], minlength=n_places)
    values = np.stack(
        [
            np.log(counts - own + 1.0 / n_places), near == 0, near == 1, np.log1p(near),
            far == 0, np.log1p(far), np.log1p(visits[replayed.lap]),
            visits[replayed.lap] > 0, np.zeros((seen.n, n_places)),
        ],
        axis=2,
    )  # fmt: skip
    return values.astype(np.float64), seen.first, np.arange(seen.n)


def _continuations(replayed: Replayed, base: Replayed, places: Places) -> Options:
    """Describe each neighbour, and stopping, after each place of each sequence."""
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

    _, counts, stops = _counts(base, places)
    own_move, own_stop = np.zeros(move.shape), np.zeros(len(here))
    if base is replayed:
        own_move[np.arange(len(here)), np.minimum(chosen, width - 2)] = ~is_last
        own_stop = is_last.astype(np.float64)
    n = len(here)
    done = np.arange(n) - states.begin[:-1][owner]
    zeros = np.zeros((n, width - 1))
    of_moves = np.stack(
        [
            np.log(counts[move] - own_move + 0.5), there == before[:, None], n_ahead > 0,
            n_back > 0, np.log1p(n_ahead), np.log1p(n_back), np.log1p(age), nearer(location),
            nearer(goal), zeros, zeros, zeros, zeros, np.where(exists, 0.0, _NEVER),
        ],
        axis=2,
    )  # fmt: skip
    none = np.zeros(n)
    of_stop = np.stack(
        [
            np.log(stops[here] - own_stop + 0.5), *[none] * 8, np.ones(n), np.log1p(done),
            (here == location).astype(float), (here == goal).astype(float),
            none,
        ],
        axis=1,
    )  # fmt: skip
    values = np.concatenate((of_moves, of_stop[:, None]), axis=1)
    return values.astype(np.float64), chosen, owner


def _counts(replayed: Replayed, places: Places) -> tuple[Floats, ...]:
    """Count beginnings by place, moves, and stops by place."""
    seen = _Steps(replayed, places)
    return (
        np.bincount(seen.first, minlength=places.n_places).astype(np.float64),
        np.bincount(seen.move, minlength=places.n_moves).astype(np.float64),
        np.bincount(seen.last, minlength=places.n_places).astype(np.float64),
    )


@typed
def explain_backups(
    chosen: ArrayLike, priorities: Mapping[str, Sequence[ArrayLike]]
) -> pd.DataFrame:
    """Say which account's priorities explain the backups that were made.

    Parameters
    ----------
    chosen : array_like of int, shape (n_backups,)
        Which candidate was backed up, counted from 0, each time.
    priorities : mapping of str to sequence of array_like
        For each account, the priorities of all candidates each time, at least 0. For recency, give
        1 / rank.

    Returns
    -------
    DataFrame
        A row for each account: its `probability`, all being as probable before; its `bits`, log2 of
        the evidence per backup; `random_bits`, those of random choice; and the expected `power` and
        `lapse`.

    Raises
    ------
    ValueError
        If accounts have other numbers of candidates, or a priority is negative.

    Notes
    -----
    Powers from 0 to 16 and lapses from .001 to .5 are equally probable before.

    Examples
    --------
    >>> gain, age = [[0.1, 0.9], [0.2, 0.8], [0.7, 0.3]], [[1, 0.5], [1, 0.5], [1, 0.5]]
    >>> found = explain_backups([1, 1, 0], {"gain": gain, "recency": age})
    >>> found["account"].tolist(), found["probability"].round(2).tolist()
    (['gain', 'recency'], [0.9, 0.1])
    """
    made = check_array(chosen, "chosen", kind="whole", at_least=0)
    names, rows, n_candidates = list(priorities), [], None
    if not names:
        raise ValueError("priorities must have those of at least one account, got none.")
    for name in names:
        each = [
            check_array(values, f"priorities[{name!r}][{k}]", kind="number", at_least=0)
            for k, values in enumerate(priorities[name])
        ]
        own = [len(values) for values in each]
        n_candidates = own if n_candidates is None else n_candidates
        if own != n_candidates or len(own) != len(made):
            raise ValueError(
                f"{name!r} must have the priorities of as many candidates as {names[0]!r}, for "
                f"each of the {len(made):,} backups."
            )
        if not all(0 <= k < n for k, n in zip(made.tolist(), own, strict=True)):
            raise ValueError("chosen must count the candidates of each backup from 0.")
        # The evidence is a mean over a grid of powers and lapses, which are equally probable.
        log_p = np.zeros((len(_POWERS), len(_LAPSES)))
        for k, values in zip(made.tolist(), each, strict=True):
            # A priority of 0 remains possible with the power 0, which is random choice.
            log_values = np.log(np.maximum(values, np.finfo(float).tiny))
            p = softmax(_POWERS[:, None] * log_values, axis=1)[:, k]
            log_p += np.log((1 - _LAPSES) * p[:, None] + _LAPSES / len(values))
        weight = softmax(log_p)
        rows.append(
            {
                "account": name,
                "evidence": logsumexp(log_p) - np.log(log_p.size),
                "random_bits": -float(np.mean(np.log2(own))),
                "power": float(weight.sum(axis=1) @ _POWERS),
                "lapse": float(weight.sum(axis=0) @ _LAPSES),
            }
        )
    table = pd.DataFrame(rows)
    evidence = table.pop("evidence").to_numpy(dtype=np.float64)
    table.insert(1, "probability", softmax(evidence))
    table.insert(2, "bits", evidence / np.log(2) / len(made))
    return table
