"""What decoding loses of replay: simulated animals lose as much before they are compared.

Decoded paths are straight, fall short of their ends, and short ones are not found. Where known
replay was put into a recording, simulated replay loses what was lost of that; elsewhere, how much
is lost is drawn anew for each simulated animal, so that the answer does not depend on it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy import sparse

from analyses.inference.replayed import Places, Replayed
from analyses.sequences import RECORDED
from analyses.sequences.sequences import Lists
from replay.checks.arrays import Bools, Ints

# What is drawn for each simulated animal, and what is not: see `as_decoded`. In places.
_LOST, _DEAD_LOST, _NEXT_LOST = (0.15, 0.6), (0.8, 1.0), (0.05, 0.5)
_HALF_FOUND, _BROKEN, _LONGEST = (4.2, 5.8), 2.0, (15.0, 40.0)
_OVERSHOT = (0.02, 0.1)
_TIMES = 3  # that each path is seen, with other losses

# Of known replay: how many stretches stand for one that is like them, and how many moves it counts
# as that one is all of its path and the other is not, or that their headings differ.
_N_NEAR, _PART, _OTHER_HEADING = 8, 3.0, 1e3


class KnownReplay(NamedTuple):
    """Straight stretches of known replay, and the sequences that a recording showed of each."""

    states: Lists  # (n_stretches,): the places that were replayed
    sign: Ints  # (n_stretches,): the heading, along the way (1), against it (-1) or unknown (0)
    is_whole: Bools  # (n_stretches,): whether it is all of its path
    begin: Ints  # (n_stretches + 1,): the sequence at which those of each stretch begin
    found: Lists  # (n_sequences,): places, and headings
    along: Lists

    @classmethod
    def of(cls, table: pd.DataFrame) -> KnownReplay | None:
        """Take the table of `known_replay`; None if it is empty.

        A sequence belongs to the stretch of its path with which it has most moves in common. One
        that has none was made by something else, and is left out.
        """
        if not len(table):
            return None
        paths = table.drop_duplicates("path")
        replayed = Lists.of(paths["states"])
        rows, begin, of_stretch, is_whole = _stretches(replayed)
        states = Lists(replayed.flat[rows], begin)
        found = Lists.of(table["found"])
        of_sequence = paths["path"].searchsorted(table["path"])
        n_places = 1 + int(max(states.flat.max(), found.flat.max(initial=0)))
        shared = (_moves(found, n_places) @ _moves(states, n_places).T).tocoo()
        common = pd.DataFrame({"sequence": shared.row, "stretch": shared.col, "n": shared.data})
        common = common[of_sequence[shared.row] == of_stretch[shared.col]]
        most = common.sort_values("n", kind="stable").drop_duplicates("sequence", keep="last")
        most = most.sort_values(["stretch", "sequence"])
        sequence = most["sequence"].to_numpy()
        return cls(
            states, np.sign([sum(each) for each in paths["along"]])[of_stretch], is_whole,
            np.searchsorted(most["stretch"], np.arange(len(of_stretch) + 1)),
            found.take(sequence), Lists.of(table["found_along"]).take(sequence),
        )  # fmt: skip

    @classmethod
    def joined(cls, parts: Sequence[KnownReplay]) -> KnownReplay:
        """Take the known replay of several recordings on a track together."""
        n_found = np.concatenate([np.diff(each.begin) for each in parts])
        return cls(
            Lists.joined([each.states for each in parts]),
            np.concatenate([each.sign for each in parts]),
            np.concatenate([each.is_whole for each in parts]),
            np.append(0, np.cumsum(n_found)),
            Lists.joined([each.found for each in parts]),
            Lists.joined([each.along for each in parts]),
        )

    def seen(self, replayed: Replayed, rng: np.random.Generator) -> Replayed:
        """Show, of each straight stretch, what was found of one of the known ones most like it.

        Stretches differ by the moves that only one of them makes. Each path is seen three times:
        how many an account replays does not count.
        """
        replayed = replayed.take(np.tile(np.arange(len(replayed.lap)), _TIMES))
        rows, begin, path, is_whole = _stretches(replayed.states)
        states = Lists(replayed.states.flat[rows], begin)
        heading = np.bincount(states.owner, replayed.along.flat[rows], minlength=len(path))
        sign = np.sign(heading).astype(np.int64)
        # Of stretches that are the same, one is compared.
        keys = zip(states.arrays(), is_whole.tolist(), sign.tolist(), strict=True)
        described = [(places.tobytes(), whole, way) for places, whole, way in keys]
        kinds = {kind: number for number, kind in enumerate(dict.fromkeys(described))}
        number = np.array([kinds[kind] for kind in described], dtype=np.int64)
        first = np.unique(number, return_index=True)[1]
        n_places = 1 + int(max(states.flat.max(initial=0), self.states.flat.max()))
        made, own = _moves(states.take(first), n_places), _moves(self.states, n_places)
        n_moves = np.add.outer(np.asarray(made.sum(axis=1)), np.asarray(own.sum(axis=1)))
        away = n_moves - 2.0 * (made @ own.T).toarray()
        away += _PART * (is_whole[first, None] != self.is_whole)
        away += _OTHER_HEADING * (np.abs(sign[first, None]) * (sign[first, None] != self.sign))
        away += 0.5 * rng.random(away.shape)  # of those that are as near, any
        n_near = min(_N_NEAR, away.shape[1])
        near = np.argpartition(away, n_near - 1, axis=1)[:, :n_near]
        chosen = near[number, rng.integers(n_near, size=len(path))]
        n_found = self.begin[chosen + 1] - self.begin[chosen]
        at = np.repeat(np.arange(len(path)), n_found)
        sequence = np.arange(len(at)) - np.repeat(np.cumsum(n_found) - n_found, n_found)
        sequence += self.begin[chosen][at]
        along = self.along.take(sequence)
        return replayed.take(path[at])._replace(
            states=self.found.take(sequence),
            along=Lists(along.flat * (sign != 0)[at][along.owner], along.begin),
        )


def _moves(paths: Lists, n_places: int) -> sparse.csr_array:
    """Return which moves paths make, shape (n_paths, n_places ** 2)."""
    is_move = np.diff(paths.owner) == 0
    move = paths.flat[:-1][is_move].astype(np.int64) * n_places + paths.flat[1:][is_move]
    path = paths.owner[:-1][is_move]
    shape = (len(paths.length), n_places**2)
    made = sparse.coo_array((np.ones(len(path)), (path, move)), shape=shape).tocsr()
    made.data[:] = 1.0  # however often
    return made


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
    rows, begin, path, is_whole = _stretches(replayed.states)
    stretches, n = replayed.take(path), np.diff(begin)
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


def _stretches(states: Lists) -> tuple[Ints, Ints, Ints, Bools]:
    """Cut paths where they turn back, once steps back and forth are smoothed out.

    Returns the rows of all stretches, where each begins, and their end; and for each, its path and
    whether it is all of that. A turn belongs to two.

    Examples
    --------
    >>> rows, begin, path, is_whole = _stretches(Lists.of([[1, 2, 1, 2, 3, 4, 3, 2]]))
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
    rows, begin = np.repeat(rows, 1 + is_turn), np.append(begin, len(rows) + is_turn.sum())
    path = owner[rows[begin[:-1]]]
    return rows, begin, path, np.diff(begin) == states.length[path]


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
