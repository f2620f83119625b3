"""Kinds of sequences and events, their shares, and the experience of which paths are composed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import networkx as nx
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from analyses.sequences.experience import Experience
from analyses.sequences.track import graph_of_log
from analyses.tables import KINDS
from replay.log.event_log import EventLog
from replay.worlds.mdp import MDP

_NO_SEQUENCE = "no_sequence"


def event_kinds(events: pd.DataFrame, sequences: pd.DataFrame) -> pd.Series:
    """Return the kind of each event: that of its longest sequence."""
    ordered = sequences.sort_values("distance", ascending=False, kind="stable")
    longest = ordered.drop_duplicates("event").set_index("event")["kind"].astype(object)
    named = events["event"].map(longest).where(lambda kind: kind.notna(), _NO_SEQUENCE)
    return named.astype(object).where(events["is_replay"], None)


def kinds_on_lines(sequences: pd.DataFrame, world: MDP | None) -> NDArray[np.object_]:
    """Return the kind of each sequence, which on a line is that of its direction.

    One path joins two places of a line, so that no path along it is new: an animal that turns on
    its way, or a recording that begins before its first lap, only makes it look so. What is in
    neither direction, or in either, is ambiguous.

    Examples
    --------
    >>> from replay.worlds.tracks import make_linear_track
    >>> world = MDP.from_networkx(make_linear_track(20.0), bin_size=10.0)
    >>> found = pd.DataFrame({"first": [0, 1], "direction": ["forward", "neither"],
    ...                       "kind": ["novel_path", "unexperienced"]})
    >>> kinds_on_lines(found, world).tolist()
    ['forward_episode', 'ambiguous']
    """
    kinds = sequences["kind"].to_numpy(dtype=object)
    if world is None:
        return kinds
    joined = nx.Graph(graph_of_log(EventLog({}, mdp=world)))
    on_line: set[int] = set()
    for part in nx.connected_components(joined):
        if {degree for _, degree in joined.degree(part)} <= {1, 2} and nx.is_tree(
            joined.subgraph(part)
        ):
            on_line |= part
    named = {"forward": "forward_episode", "reverse": "reverse_episode"}
    of_direction = [named.get(each, "ambiguous") for each in sequences["direction"].astype(str)]
    return np.asarray(np.where(sequences["first"].isin(on_line), of_direction, kinds))


def count_kinds(kinds: Iterable[str], size: float) -> pd.DataFrame:
    """Count the events of each kind.

    Examples
    --------
    >>> count_kinds(["novel_path", "no_sequence"], 15.0).set_index("kind")["share"]["novel_path"]
    np.float64(0.5)
    """
    named = list(kinds)
    rows = []
    for kind in (*KINDS, _NO_SEQUENCE):
        n = named.count(kind)
        row: dict[str, object] = {
            "state_size": size, "states_per_metre": 100.0 / size, "kind": kind, "n": n,
            "n_events": len(named), "share": np.nan, "ci_low": np.nan, "ci_high": np.nan,
        }  # fmt: skip
        if named:
            interval = stats.binomtest(n, len(named)).proportion_ci(0.95, method="wilson")
            row |= {"share": n / len(named), "ci_low": interval.low, "ci_high": interval.high}
        rows.append(row)
    return pd.DataFrame(rows)


class ExperiencedPiece(NamedTuple):
    """A piece of a replayed path, and its experience."""

    # the piece is ``states[begin:end + 1]``
    begin: int
    end: int
    episode: int  # the latest episode that contains it
    backward: bool  # whether it was run in the opposite direction


def experienced_pieces(
    states: Sequence[int],
    experience: Experience,
    step: int | None = None,
    moves: Sequence[str] | None = None,
) -> list[ExperiencedPiece]:
    """Split a path into the least number of experienced pieces, each read in either direction.

    `moves`, the labels of :func:`analyses.place_sequences`, rule out one of them where a heading is
    told.
    """
    path = [int(state) for state in states]
    found: list[ExperiencedPiece] = []
    begin, last = 0, len(path) - 1
    while begin < last:
        best: ExperiencedPiece | None = None
        for end in range(begin + 1, last + 1):
            part, labels = path[begin : end + 1], set((moves or ())[begin:end])
            ahead, back = experience.pieces(part, step), experience.pieces(part[::-1], step)
            read = ((ahead, False, "backward"), (back, True, "forward"))
            whole = [
                (each, way) for each, way, other in read if len(each) == 1 and other not in labels
            ]
            if not whole:
                break
            # Of a path that was run in both directions, the later run is what it repeats.
            (piece,), backward = max(whole, key=lambda each: each[0][0].episode)
            best = ExperiencedPiece(begin, end, piece.episode, backward)
        if best is None:
            return []
        found.append(best)
        begin = best.end
    return found
