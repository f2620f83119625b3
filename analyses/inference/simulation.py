"""Simulated replay: what an account would have replayed after the moves that an animal made.

An account learns from the animal's own moves and rewards, and replays in its pauses: at the ends
and beginnings of laps, and at rest where the animal rested. Of all that it replays, as many
sequences are compared as the animal replayed in and after each lap, so that *when* an account
replays, and how much, says nothing for or against it.

Decoded places are sometimes wrong. Each place that a simulated animal reactivates is replaced, with
the probability that the recording has, before sequences are found, so that a classifier learns from
sequences that are as broken as those of the recording. And a recording shows only a part of replay:
paths are smoothed, lose their ends, and are not found at all if they are short. How much is lost is
drawn anew for each simulated animal, so that the answer does not depend on it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from analyses.findings.accounts import Account
from analyses.findings.controls import CONTROLS, replay_of_control
from analyses.findings.priors import Parameter
from analyses.inference.animals import Replayed, ReplayingAnimal
from analyses.sequences.detection import RECORDED
from analyses.sequences.reactivations import reactivated_by, reactivations_by_run
from analyses.sequences.runs import Columns
from analyses.sequences.sequences import Lists
from analyses.sequences.track import graph_of_log
from replay.jit import kernel
from replay.learners import find_learner
from replay.simulation.driver import LogWriter

_MOST_CONSIDERED = 5000
_FAR = 2**20  # more than there are laps

# Where decoding loses most: places lost at an end, on average, and the places of a straight part
# that is found in half of cases.
_MOST_LOST, _LEAST_FOUND = 2.0, 7.0
_HALF_TO_MOST = 0.8  # places, from there until three in four are found

__all__ = ["as_decoded", "as_many", "misread", "simulate_misread", "simulate_replay"]


def simulate_replay(
    animal: ReplayingAnimal,
    account: Account,
    params: dict[str, Parameter],
    seeds: np.random.SeedSequence,
    *,
    wrong_places: float = 0.0,
) -> Replayed:
    """Simulate all sequences that an account replays after an animal's moves."""
    return simulate_misread(animal, account, params, seeds, [wrong_places])[0]


def simulate_misread(
    animal: ReplayingAnimal,
    account: Account,
    params: dict[str, Parameter],
    seeds: np.random.SeedSequence,
    shares: Sequence[float],
) -> list[Replayed]:
    """Simulate what an account replays once, and find its sequences with each share misread."""
    replay_seed, noise_seed = seeds.spawn(2)
    reactivated: Columns
    if account.is_control:
        rng = np.random.default_rng(replay_seed)
        control = CONTROLS[account.generator]
        learned = animal.learned
        paths = replay_of_control(
            control, params, learned, animal.pauses, graph_of_log(learned), rng
        )
        [(_, reactivated)] = reactivations_by_run(learned, paths)
    else:
        if "reversible" in params and not animal.has_two_ways:
            params = params | {"reversible": False}  # no move leads back
        learner = find_learner(account.generator, params)
        writer = LogWriter("replay", learner, animal.learned.mdp)
        seed = int(replay_seed.generate_state(1)[0])
        reactivated = reactivated_by(
            animal.experience.feed_to(learner, writer, seed).columns("backups")
        )
    if animal.headings is not None:
        reactivated = animal.headings.in_places(reactivated)
    n_places, found = animal.places.n_places, []
    for share in shares:
        rng = np.random.default_rng(noise_seed)
        seen = misread(reactivated, share, n_places, rng) if share else reactivated
        made = animal.found(seen)
        found.append(made if animal.headings is None else _told(made, animal.told, rng))
    return found


def _told(replayed: Replayed, share: float, rng: np.random.Generator) -> Replayed:
    """Leave the headings of a share of sequences known, or of as many as have one."""
    along, owner = replayed.along, replayed.along.owner
    own = max(float(replayed.is_told.sum()), 1.0) / max(len(replayed.lap), 1)
    is_kept = rng.random(len(replayed.lap)) < share / own
    return replayed._replace(along=Lists(along.flat * is_kept[owner], along.begin))


def misread(reactivated: Columns, share: float, n_places: int, rng: np.random.Generator) -> Columns:
    """Replace a share of reactivated places by any place; equal neighbours become one."""
    place = reactivated["place"].copy()
    wrong = rng.random(len(place)) < share
    place[wrong] = rng.integers(n_places, size=np.count_nonzero(wrong))
    event = reactivated["event"]
    is_new = np.ones(len(place), dtype=bool)
    is_new[1:] = (place[1:] != place[:-1]) | (event[1:] != event[:-1])
    return {name: values[is_new] for name, values in {**reactivated, "place": place}.items()}


def as_decoded(replayed: Replayed, rng: np.random.Generator) -> Replayed:
    """Leave what a recording would show: no single steps aside, no ends, and no short stretches.

    Of straight paths in simulated spikes of 60 cells at 4 m/s, 18 % with 4 places were found, 70 %
    with 6, and 85 % with 8, on average without two of their places; and no place was wrong.
    """
    loss = rng.random()
    lost, least = _MOST_LOST * loss, _LEAST_FOUND * loss
    kept, begin, longest = _smoothed(replayed.states)
    before, after = rng.poisson(lost, (2, len(longest)))
    left = np.diff(begin) - before - after
    is_found = (longest - least) / _HALF_TO_MOST > rng.logistic(size=len(longest))
    rows = np.flatnonzero(is_found & (left >= RECORDED.min_length))
    ends = np.append(0, np.cumsum(left[rows]))
    at = np.arange(ends[-1]) + np.repeat((begin[:-1] + before)[rows] - ends[:-1], left[rows])
    states, along = (Lists(each.flat[kept[at]], ends) for each in (replayed.states, replayed.along))
    return replayed.take(rows)._replace(states=states, along=along)


def _smoothed(
    states: Lists,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Leave out single steps aside; also return the number of places of the longest straight part.

    Returns which of `states.flat` are left, and where each sequence begins among these.

    Examples
    --------
    >>> from analyses.sequences.sequences import Lists
    >>> states = Lists.of([[3, 2, 3, 4, 5, 4, 5, 6], [1, 2, 3, 4, 3, 2]])
    >>> kept, begin, longest = _smoothed(states)
    >>> states.flat[kept].tolist(), begin.tolist(), longest.tolist()
    ([3, 4, 5, 6, 1, 2, 3, 2], [0, 4, 8], [4, 3])
    """
    n = len(states.begin) - 1
    kept, begin = np.empty(len(states.flat), np.int64), np.zeros(n + 1, np.int64)
    longest = np.ones(n, np.int64)
    _smooth(states.flat.astype(np.int32), states.begin.astype(np.int64), kept, begin, longest)
    return kept[: begin[-1]], begin, longest


@kernel
def _smooth(
    given: NDArray[np.int32],
    given_begin: NDArray[np.int64],
    kept: NDArray[np.int64],
    begin: NDArray[np.int64],
    longest: NDArray[np.int64],
) -> None:
    n = 0
    for k in range(len(longest)):
        first, went_back = n, False
        for row in range(given_begin[k], given_begin[k + 1]):
            went_back = n - first >= 2 and given[kept[n - 2]] == given[row] and not went_back
            if went_back:
                n -= 1
            else:
                kept[n] = row
                n += 1
        begin[k + 1] = n
        straight = 1
        for i in range(first + 1, n):
            turned = i - first >= 2 and given[kept[i]] == given[kept[i - 2]]
            straight = 2 if turned else straight + 1
            longest[k] = max(longest[k], straight)


def as_many(
    simulated: Replayed, laps: NDArray[np.int32], rng: np.random.Generator
) -> NDArray[np.int64]:
    """Choose, for each sequence of the animal, a simulated one of the same lap or the nearest one.

    `laps` are those of the animal's sequences, ascending. Each simulated sequence is chosen once as
    long as there are enough of them.

    Examples
    --------
    >>> from analyses.sequences.sequences import Lists
    >>> no = np.zeros(3, dtype=np.int64)
    >>> states = Lists.of([[1, 2], [2, 1], [3, 4]])
    >>> made = Replayed(np.array([0, 0, 5]), no, no, no, states, no, states)
    >>> sorted(as_many(made, np.array([0, 4, 4]), np.random.default_rng(1)).tolist())
    [0, 1, 2]
    """
    n_made = len(simulated.lap)
    if not n_made or not len(laps):
        return np.empty(0, dtype=np.int64)
    order = rng.permutation(n_made)[:_MOST_CONSIDERED]
    lap = simulated.lap[order].astype(np.int64)
    n_used = np.zeros(len(lap), dtype=np.int64)
    chosen: list[NDArray[np.int64]] = []
    for own, n in zip(*np.unique(laps, return_counts=True), strict=True):
        left = int(n)
        while left:
            away = np.abs(lap - own) + n_used * _FAR
            nearest = np.argsort(away, kind="stable")[:left]
            n_used[nearest] += 1
            chosen.append(order[nearest])
            left -= len(nearest)
    return np.concatenate(chosen)
