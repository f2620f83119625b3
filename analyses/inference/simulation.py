"""Simulated replay: what an account would have replayed after the moves that an animal made.

An account learns from the animal's own moves and rewards, and replays in its pauses: at the ends
and beginnings of laps, within laps where the animal replayed, and at rest where it rested. Of all
that it replays, as many sequences are compared as the animal replayed in each pause and lap, and
each is taken as replayed where the animal was. So *when* an account replays, and how much, says
nothing for or against it.

Decoded places may be wrong. Each place that a simulated animal reactivates is replaced, with the
probability that is given, before sequences are found, so that a classifier learns from sequences
that are as broken. And a recording shows only a part of replay: decoded paths are straight, fall
short of their ends, and short ones are not found. How much is lost is drawn anew for each simulated
animal, so that the answer does not depend on it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from analyses.findings.accounts import CONTROLS, Account, replay_of_control
from analyses.findings.priors import Parameter
from analyses.inference.animals import Places, Replayed, ReplayingAnimal
from analyses.inference.moves import differ_from_before, in_described_states, scaled
from analyses.sequences import RECORDED
from analyses.sequences.reactivations import reactivated_by, reactivations_by_run
from analyses.sequences.sequences import Columns, Lists
from analyses.sequences.track import graph_of_log
from replay.checks.arrays import Int32s, Ints
from replay.learners import find_learner
from replay.simulation.driver import LogWriter

_MOST_CONSIDERED = 5000  # simulated sequences among which the nearest are looked for
_FAR = 2**20  # more than there are laps
_SHARE_FINER = 0.5  # of simulated animals
_ELSEWHERE = np.array([1, 2])  # how often one is used again before another phase, or place

# What is drawn for each simulated animal, and what is not: see `as_decoded`. In places.
_LOST, _DEAD_LOST, _NEXT_LOST = (0.15, 0.6), (0.8, 1.0), (0.05, 0.5)
_HALF_FOUND, _BROKEN, _LONGEST = (4.2, 5.8), 2.0, (15.0, 40.0)
_OVERSHOT = (0.02, 0.1)
_TIMES = 3  # that each path is seen, with other losses


def simulate_misread(
    animal: ReplayingAnimal,
    account: Account,
    params: dict[str, Parameter],
    seeds: np.random.SeedSequence,
    shares: Sequence[float],
) -> list[Replayed]:
    """Simulate what an account replays once, and find its sequences with each share misread."""
    replay_seed, noise_seed = seeds.spawn(2)
    described = animal
    if animal.n_finer > 1 and _is_finer(seeds):
        animal, params = animal.finer, scaled(params, animal.n_finer)
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
    n_places, found = described.places.n_places, []
    if animal is not described:
        animal = described
        reactivated = in_described_states(reactivated, animal.n_finer, n_places)
    for share in shares:
        rng = np.random.default_rng(noise_seed)
        seen = misread(reactivated, share, n_places, rng) if share else reactivated
        made = Replayed.found(seen, animal.track, animal.lap_of_step, animal.headings)
        if animal.headings is not None:
            made = _with_headings(made, animal.heading_share, rng)
        found.append(made)
    return found


def _is_finer(seeds: np.random.SeedSequence) -> bool:
    """Draw whether an animal learns in finer states; the same for all replicas of a draw."""
    own = np.random.SeedSequence(seeds.entropy, spawn_key=(*seeds.spawn_key, _FAR))
    return bool(np.random.default_rng(own).random() < _SHARE_FINER)


def _with_headings(replayed: Replayed, share: float, rng: np.random.Generator) -> Replayed:
    """Leave the headings of a share of sequences known, or of all that have one."""
    along, owner = replayed.along, replayed.along.owner
    present = max(float(replayed.has_heading.sum()), 1.0) / max(len(replayed.lap), 1)
    is_kept = rng.random(len(replayed.lap)) < share / present
    return replayed._replace(along=Lists(along.flat * is_kept[owner], along.begin))


def misread(reactivated: Columns, share: float, n_places: int, rng: np.random.Generator) -> Columns:
    """Replace a share of reactivated places by any place; equal neighbours become one."""
    place = reactivated["place"].copy()
    wrong = rng.random(len(place)) < share
    place[wrong] = rng.integers(n_places, size=np.count_nonzero(wrong))
    is_new = differ_from_before(place, reactivated["event"])
    return {name: values[is_new] for name, values in {**reactivated, "place": place}.items()}


def as_decoded(replayed: Replayed, places: Places, rng: np.random.Generator) -> Replayed:
    """Leave what a recording would show: straight stretches of paths, without their ends.

    A step back and forth is smoothed out, and where a path turns back, two stretches meet. The
    place where a stretch begins or ends is lost by a chance that is the same for all, more often at
    a dead end of the track; the next places are lost less often. Now and then a neighbour follows
    that was not replayed. A stretch is found the more probably the longer it is, and less if it is
    not all of its path, unless this lasts longer than a candidate event may. Each path is seen
    three times, with other losses: how many an account replays does not count.

    All this was measured by what `find_replay` found of 6,668 known sequences of six accounts on
    the W-track, in spikes of 30 to 120 cells at 4 m/s, and of 60 at 8 m/s. Of 2,055 sequences that
    were found, none went over a turn, and 1,851 were within one stretch, 192 others but for one or
    two places at an end. Of dead ends .84 to .97 were lost, of other ends .15 to .57, and
    then .04 to .5 of the next places. Of paths that are one stretch, half were found with 4.3 to
    5.5 places, of stretches of other paths with 7; of those longer than .75 s (20 places at 4 m/s)
    hardly any. ``tests/verification/lost_places.py`` measures it again.
    """
    lost, dead_lost, next_lost, half, longest = (
        rng.uniform(*each) for each in (_LOST, _DEAD_LOST, _NEXT_LOST, _HALF_FOUND, _LONGEST)
    )
    replayed = replayed.take(np.tile(np.arange(len(replayed.lap)), _TIMES))
    rows, begin = _stretches(replayed.states)
    path, n = replayed.states.owner[rows[begin[:-1]]], np.diff(begin)
    stretches, is_whole = replayed.take(path), n == replayed.states.length[path]
    place, along = replayed.states.flat[rows], replayed.along.flat[rows]
    is_dead_end = np.bincount(places.ends[:, 0], minlength=places.n_places) == 1
    ends = []
    for end in (place[begin[:-1]], place[begin[1:] - 1]):
        is_dead, draw = is_dead_end[end], rng.random((3, len(n)))
        is_lost = draw[0] < np.where(is_dead, dead_lost, lost)
        # The next places go only with those before them, and not at dead ends.
        is_next, is_third = is_lost & ~is_dead & (draw[1] < next_lost), draw[2] < next_lost
        ends.append(is_lost.astype(int) + is_next + (is_next & is_third))
    length = np.maximum(n - ends[0] - ends[1], 0)
    kept = np.append(0, np.cumsum(length))
    at = np.arange(kept[-1]) + np.repeat(begin[:-1] + ends[0] - kept[:-1], length)
    states, headings = Lists(place[at], kept), Lists(along[at], kept)
    is_found = n - half - _BROKEN * ~is_whole > rng.logistic(size=len(n))
    is_found &= (stretches.states.length <= longest) & (states.length >= RECORDED.min_length)
    found = np.flatnonzero(is_found)
    seen = stretches.take(found)._replace(states=states.take(found), along=headings.take(found))
    return _overshot(seen, places, rng.uniform(*_OVERSHOT), rng)


def _stretches(states: Lists) -> tuple[Ints, Ints]:
    """Cut paths where they turn back, once steps back and forth are smoothed out.

    Returns the rows of all stretches, where each begins, and their end. A turn belongs to two.

    Examples
    --------
    >>> rows, begin = _stretches(Lists.of([[1, 2, 1, 2, 3, 4, 3, 2]]))
    >>> np.split(np.array([1, 2, 1, 2, 3, 4, 3, 2])[rows], begin[1:-1])
    [array([1, 2, 3, 4]), array([4, 3, 2])]
    """
    place, owner = states.flat, states.owner
    rows = np.arange(len(place))
    while True:
        at, own = place[rows], owner[rows]
        is_smooth = (at[:-3] == at[2:-1]) & (at[1:-2] == at[3:]) & (own[:-3] == own[3:])
        # One that overlaps with another before it is looked at again.
        is_first = is_smooth.copy()
        for apart in (1, 2, 3):
            is_first[apart:] &= ~is_smooth[:-apart]
        if not is_first.any():
            break
        rows = np.delete(rows, np.add.outer(np.flatnonzero(is_first), [2, 3]).ravel())
    at, own = place[rows], owner[rows]
    is_turn = np.zeros(len(rows), dtype=bool)
    is_turn[1:-1] = (at[2:] == at[:-2]) & (own[2:] == own[:-2])
    n_before = np.arange(len(rows)) + np.cumsum(is_turn) - is_turn
    first = np.append(True, own[1:] != own[:-1])[: len(own)]
    begin = np.sort(np.concatenate((n_before[first], n_before[is_turn] + 1)))
    return np.repeat(rows, 1 + is_turn), np.append(begin, len(rows) + is_turn.sum())


def _overshot(
    replayed: Replayed, places: Places, chance: float, rng: np.random.Generator
) -> Replayed:
    """Let ends of paths go on to a neighbour of their last place, if there is another.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> from analyses.sequences.sequences import Lists
    >>> line = SimpleNamespace(ends=np.array([[0, 1], [1, 0], [1, 2], [2, 1], [2, 3], [3, 2]]))
    >>> no, states = np.zeros(2, dtype=np.int64), Lists.of([[1, 2], [3, 2, 1]])
    >>> made = Replayed(no, no, no, no, states, no, states)
    >>> drawn = [_overshot(made, line, 1.0, np.random.default_rng(k)).states for k in range(60)]
    >>> sorted({tuple(path.tolist()) for states in drawn for path in states.arrays()})
    [(0, 1, 2), (0, 1, 2, 3), (1, 2), (1, 2, 3), (3, 2, 1), (3, 2, 1, 0)]
    """
    states, n = replayed.states, len(replayed.lap)
    end = np.concatenate((states.begin[1:] - 1, states.begin[:-1]))  # the last places, then first
    before = np.repeat([1, 0], n)
    first, n_next = (
        np.searchsorted(places.ends[:, 0], states.flat[end], side) for side in ("left", "right")
    )
    added = places.ends[rng.integers(first, n_next), 1]
    goes_on = (rng.random(2 * n) < chance) & (added != states.flat[end + 1 - 2 * before])
    end, before, added = end[goes_on], before[goes_on], added[goes_on]
    begin = states.begin + np.append(0, np.cumsum(goes_on[:n].astype(int) + goes_on[n:]))
    longer, along = (
        Lists(np.insert(flat, end + before, new), begin)
        for flat, new in ((states.flat, added), (replayed.along.flat, replayed.along.flat[end]))
    )
    return replayed._replace(states=longer, along=along)


def in_pauses_of(seen: Replayed, simulated: Replayed, rng: np.random.Generator) -> Replayed:
    """Choose as many simulated sequences as the animal has, in the same pauses where there are any.

    Each is taken as replayed where the animal was: an account that replays at the ends of laps only
    is compared by what it replays, not by when.
    """
    chosen = simulated.take(as_many(simulated, seen.lap, rng, (seen.phase, seen.location)))
    return chosen._replace(phase=seen.phase, location=seen.location)


def as_many(
    simulated: Replayed,
    laps: Int32s,
    rng: np.random.Generator,
    pauses: tuple[NDArray[np.int8], Int32s] | None = None,
) -> Ints:
    """Choose, for each sequence of the animal, a simulated one of the same lap or the nearest one.

    `laps` are those of the animal's sequences, and `pauses` their phases and locations, which count
    before laps. Each simulated sequence is chosen once as long as there are enough of them; one in
    the same pause is chosen a second and a third time before one elsewhere.

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
    where = np.column_stack((simulated.phase, simulated.location))[order]
    wanted = np.column_stack((laps, *([] if pauses is None else pauses)))
    n_used = np.zeros(len(lap), dtype=np.int64)
    chosen = np.empty(len(laps), dtype=np.int64)
    kinds, kind = np.unique(wanted, axis=0, return_inverse=True)
    for number, (own, *pause) in enumerate(kinds.tolist()):
        elsewhere = (where[:, : len(pause)] != pause) @ _ELSEWHERE[: len(pause)]
        rows = np.flatnonzero(kind.ravel() == number)
        while len(rows):
            cost = n_used + elsewhere
            away = np.where(cost == cost.min(), np.abs(lap - own), _FAR)
            n_next = min(np.count_nonzero(away < _FAR), len(rows))
            nearest = np.argsort(away, kind="stable")[:n_next]
            n_used[nearest] += 1
            chosen[rows[:n_next]] = order[nearest]
            rows = rows[n_next:]
    return chosen
