"""Place sequences: replay as electrodes would see it, defined in the same way for models and rats.

A *place sequence* is a maximal run of reactivations in one event in which each place is a
neighbour, on the track, of the one before; it may turn round. Each of its moves is labelled by
the experience before the event: ``forward`` if that move had been made, ``backward`` if its reverse
had been made, ``both`` or ``never``. Where the cells tell which heading they represent, travel in
that heading is ``forward`` if that move had been made, and travel against it ``backward`` if its
reverse had been, whatever else was run; so sequences have a direction on a track that is run both
ways, too [2]_ [3]_. A model of places with headings has other states for each heading.

==================  ============================================================================
``direction``
==================  ============================================================================
forward             all moves forward, or both
reverse             all moves backward, or both
mixed               some only forward, others only backward
both                all moves both
neither             some move never made, in either direction
==================  ============================================================================

==================  ============================================================================
``novelty``
==================  ============================================================================
experienced         run contiguously within one episode, as replayed or backwards
composed            never run as a whole; all moves made in this direction, or all backwards
composed_mixed      the same, but with moves made in different directions, as in the shortcuts that
                    Gupta et al. (2010) [1]_ saw
unexperienced       some move never made
==================  ============================================================================

The *composition order* is the least number of experienced pieces, each read in one direction, from
which the sequence can be stitched. The longest possible piece, in either direction, is split off
again and again. No stitching needs fewer: every stretch of an experienced piece is itself one, so a
stitching that begins its k-th piece no later than the greedy one ends it no later either.

References
----------
.. [1] Gupta, van der Meer, Touretzky & Redish (2010). https://doi.org/10.1016/j.neuron.2010.01.034
.. [2] Diba & Buzsaki (2007). https://doi.org/10.1038/nn1961
.. [3] Davidson, Kloosterman & Wilson (2009). https://doi.org/10.1016/j.neuron.2009.07.027
"""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import networkx as nx
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analyses.sequences import Detection
from analyses.sequences.chains import count_chains
from analyses.sequences.experience import Experience
from analyses.sequences.kinds import (
    AMBIGUOUS,
    FORWARD_EPISODE,
    NEVER_TAKEN,
    NOVEL_PATH,
    REVERSE_EPISODE,
)
from analyses.sequences.logs import Columns, Logged, log_of, of_run, runs_of
from analyses.sequences.reactivations import reactivations_by_run
from analyses.sequences.sequences import Lists, Sequences, composition_columns
from analyses.sequences.track import Track, graph_of_log
from analyses.tables import KINDS
from replay.checks import known_arguments
from replay.checks.arrays import Bools, Floats, Int32s, Ints
from replay.jit import kernel
from replay.log.backups import PHASES
from replay.log.event_log import EventLog

MOVE_LABELS = ("forward", "backward", "both", "never")
DIRECTIONS = ("forward", "reverse", "mixed", "both", "neither")
NOVELTIES = ("experienced", "composed", "composed_mixed", "unexperienced")
_FORWARD, _BACKWARD, _BOTH, _NEVER = range(len(MOVE_LABELS))
_ALL_FORWARD, _ALL_REVERSE, _MIXED, _EITHER, _NEITHER = range(len(DIRECTIONS))
_EXPERIENCED, _COMPOSED, _COMPOSED_MIXED, _UNEXPERIENCED = range(len(NOVELTIES))
_MUCH = 2  # times as many
_CATEGORIES = {
    "phase": PHASES,
    "moves": MOVE_LABELS,
    "direction": DIRECTIONS,
    "novelty": NOVELTIES,
    "kind": KINDS,
}


@known_arguments
def place_sequences(
    log: EventLog | Logged,
    paths: pd.DataFrame | None = None,
    *,
    graph: nx.Graph | None = None,
    detection: Detection = Detection(),  # noqa: B008 (immutable)
) -> pd.DataFrame:
    """Find all place sequences of a model or a recording, and classify what each one replays.

    Parameters
    ----------
    log : EventLog or Run
        A model's log, or the animal's moves.
    paths : DataFrame, optional
        Decoded or emitted places, instead of the log's backups; see
        :func:`analyses.sequences.reactivations.reactivations`. The column `along` may list, for
        each place, whether the heading that is represented there is the direction of travel (1),
        the opposite (-1) or unknown (0), and `location` have the state of the animal at each event
        (-1 if unknown); by default, it is where its last move led.
    graph : networkx.Graph, optional
        Which places are neighbours: nodes are states of the log. Edges may have a `distance` (cm),
        `shortcut` (True, or the name of a shortcut of several edges) and `impossible` (True). By
        default, edges are the moves of the log's world, or else all moves made in the log.
    detection : Detection, optional
        Which runs of reactivations count. By default those of three or more different places.

    Returns
    -------
    pandas.DataFrame
        One row per sequence, with columns `run, episode, step, time, event, phase, location, index,
        first, last, states, length, n_distinct, moves, distance, direction, novelty, kind,
        composition_order, n_episodes, splice_states, episode_matched, episode_lag,
        from_current_episode`; `along` if `paths` have it; `shortcut` and `impossible` if the graph
        marks such edges. ``replay columns recording/sequences`` explains them.

        If a model's log has twice as many, or half as many, causal chains of as many states,
        ``attrs["note"]`` says so.

    Raises
    ------
    TypeError
        If an argument is of the wrong type.
    ValueError
        If runs or steps do not ascend, a column has invalid values, a criterion is out of range, or
        the graph lacks distances that a criterion needs.

    See Also
    --------
    analyses.classify : Causal chains, the mechanism behind a model's place sequences.

    Examples
    --------
    A rat ran 0, 1, 2 and then 2, 3, 4. It replayed the first run backwards, and both in one go:

    >>> steps = {"state": [0, 1, 2, 3], "next_state": [1, 2, 3, 4],
    ...          "terminated": [False, True, False, True]}
    >>> log = EventLog({"steps": steps})
    >>> paths = pd.DataFrame({"step": [3, 3], "states": [[2, 1, 0], [0, 1, 2, 3, 4]]})
    >>> found = place_sequences(log, paths)
    >>> found[["direction", "novelty", "composition_order"]].to_numpy().tolist()
    [['reverse', 'experienced', 1], ['forward', 'composed', 2]]
    """
    if not isinstance(detection, Detection):
        raise TypeError(f"detection must be a Detection, got {type(detection).__name__}.")
    detection.check()
    log, parts = log_of(log), []
    track = Track.of(graph) if graph is not None else None
    for run, reactivated in reactivations_by_run(log, paths):
        track = track or Track.of(graph_of_log(log))
        steps = of_run(log, "steps", run)
        if paths is None and len(reactivated["place"]) and not len(steps["step"]):
            raise ValueError(f"The log has backups of run {run}, but no steps: keep these too.")
        # Most moves are along the graph, unless its nodes are not the states of the log.
        moves = np.unique(np.column_stack((steps["state"], steps["next_state"])), axis=0)
        moves = moves[moves[:, 0] != moves[:, 1]]
        n_off = sum(not track.graph.has_edge(*move) for move in moves.tolist())
        if 2 * n_off > len(moves):
            warnings.warn(
                f"{n_off} of the {len(moves)} different moves in the log are not between "
                "neighbours of the graph: are its nodes the states of the log?",
                stacklevel=3,
            )
        rows, states = runs_along(reactivated, track, detection)
        parts.append(classified_places(Experience(steps), reactivated, rows, states, track))
    table = Sequences.concat(parts).table
    if paths is None:
        n_chains = sum(
            count_chains(of_run(log, "backups", run), detection.min_length) for run in runs_of(log)
        )
        note_difference(table, "place sequences", n_chains, "causal chains (analyses.classify)")
    return table


def count_place_sequences(log: EventLog, min_length: int) -> int:
    """Count the place sequences of a model's log."""
    if not len(log.columns("backups")["step"]):
        return 0
    track, detection = Track.of(graph_of_log(log)), Detection(min_length)
    n_sequences = 0
    for _, reactivated in reactivations_by_run(log):
        rows, _ = runs_along(reactivated, track, detection)
        n_sequences += len(rows)
    return n_sequences


def note_difference(table: pd.DataFrame, counted: str, n_others: int, others: str) -> None:
    """Note in the attributes of a table that there are far more, or fewer, of something else."""
    n, few = len(table), min(len(table), n_others)
    if max(n, n_others) >= _MUCH * max(few, 1):
        table.attrs["note"] = f"{n:,} {counted}, but {n_others:,} {others}: say which you count."


class _Moves(NamedTuple):
    """The moves of place sequences, one sequence after the other."""

    here: Int32s  # (n_moves,): the place before each move
    there: Int32s  # (n_moves,): the place after it
    owner: Ints  # (n_moves,): the sequence to which it belongs
    begin: Ints  # (n_sequences + 1,): the first move of each sequence; the last entry is `n_moves`


def classified_places(
    experience: Experience, reactivated: Columns, rows: Ints, states: Lists, track: Track
) -> Sequences:
    """Classify the place sequences of one run; `rows` are those of their first reactivations."""
    is_move = states.owner[1:] == states.owner[:-1]
    moves = _Moves(
        states.flat[:-1][is_move],
        states.flat[1:][is_move],
        states.owner[1:][is_move],
        states.begin - np.arange(len(rows) + 1),
    )
    limit = experience.moves_by(reactivated["step"][rows])
    headings: dict[str, Lists] = {}
    if "along" in reactivated:
        headings["along"] = headings_along(reactivated, rows, states)
        heading = headings["along"].flat[1:][is_move]
    else:
        heading = np.zeros(len(moves.owner), dtype=np.int8)
    label, symbol, back_symbol = _label_moves(experience, moves, limit, heading)
    direction = _directions(label, moves)

    n_pieces, piece_end, piece_episode, _ = experience.pieces_of_sequences(
        symbol, back_symbol, moves.begin, limit
    )
    end_state = states.flat[np.repeat(states.begin[:-1], n_pieces) + piece_end]
    is_whole, is_composed = n_pieces == 1, n_pieces > 1
    novelty = np.select(
        [is_whole, is_composed & (direction == _MIXED), is_composed],
        [_EXPERIENCED, _COMPOSED_MIXED, _COMPOSED],
        _UNEXPERIENCED,
    )
    kind = np.select(
        [is_composed, ~is_whole, direction == _ALL_REVERSE, direction == _ALL_FORWARD],
        [NOVEL_PATH, NEVER_TAKEN, REVERSE_EPISODE, FORWARD_EPISODE],
        AMBIGUOUS,
    )
    move_number = track.move(moves.here, moves.there)
    distance = np.bincount(moves.owner, track.distance[move_number], minlength=len(rows))
    marks: dict[str, NDArray[Any] | Lists] = {}
    if track.shortcuts is not None:
        marks["shortcut"] = track.crossed_shortcuts(move_number, moves.owner, ~is_whole)
    if track.impossible is not None:
        marks["impossible"] = is_impossible = np.zeros(len(rows), dtype=np.int8)
        is_impossible[moves.owner[track.impossible[track.edge[move_number]]]] = 1
    columns: dict[str, NDArray[Any] | Lists] = {
        **{name: reactivated[name][rows] for name in ("run", "episode", "step", "time", "event")},
        **{name: reactivated[name][rows] for name in ("phase", "location", "index")},
        "first": states.first,
        "last": states.last,
        "states": states,
        "length": states.length.astype(np.int32),
        "n_distinct": states.n_different,
        "moves": Lists(label, moves.begin),
        **headings,
        "distance": distance.astype(np.float64),
        "direction": direction,
        "novelty": novelty,
        "kind": kind,
        **composition_columns(n_pieces, piece_episode, end_state, reactivated["episode"][rows]),
        **marks,
    }
    return Sequences(columns, _CATEGORIES)


def _label_moves(
    experience: Experience, moves: _Moves, limit: Ints, heading: NDArray[np.int8]
) -> tuple[Ints, Int32s, Int32s]:
    """Label moves, and return the symbols of each and of its reverse in the index of experience.

    `limit` is the number of experienced moves that count for each sequence. A known heading rules
    out one of the two readings of a move: its symbol is then -1.
    """
    here, there = moves.here, moves.there
    symbol, back_symbol = experience.symbols(here, there), experience.symbols(there, here)
    symbol[heading < 0] = -1
    back_symbol[heading > 0] = -1
    n_before = limit[moves.owner]
    forward = (experience.first_moves(here, there) < n_before) & (heading >= 0)
    backward = (experience.first_moves(there, here) < n_before) & (heading <= 0)
    label = np.select([forward & backward, forward, backward], [_BOTH, _FORWARD, _BACKWARD], _NEVER)
    return label, symbol, back_symbol


def _directions(label: Ints, moves: _Moves) -> Ints:
    """Find the direction of each sequence, by the labels of its moves."""
    n_sequences, n_labels = len(moves.begin) - 1, len(MOVE_LABELS)
    count = np.bincount(moves.owner * n_labels + label, minlength=n_sequences * n_labels)
    has = count.reshape(n_sequences, n_labels) > 0
    return np.select(
        [has[:, _NEVER], has[:, _FORWARD] & has[:, _BACKWARD], has[:, _FORWARD], has[:, _BACKWARD]],
        [_NEITHER, _MIXED, _ALL_FORWARD, _ALL_REVERSE],
        _EITHER,
    )


def headings_along(reactivated: Columns, rows: Ints, states: Lists) -> Lists:
    """Find the heading of each place of each sequence; `rows` are those of their first places.

    Places that were jumped over have the heading of the reactivation that follows.
    """
    heading = np.empty(len(states.flat), dtype=np.int8)
    _find_headings(
        reactivated["place"], reactivated["along"], rows, states.flat, states.begin, heading
    )
    return Lists(heading, states.begin)


@kernel
def _find_headings(
    place: Int32s,
    heading_of_place: NDArray[np.int8],
    rows: Ints,
    states: Int32s,
    begin: Ints,
    heading: NDArray[np.int8],
) -> None:
    for sequence in range(len(rows)):
        row, first = rows[sequence], begin[sequence]
        heading[first] = heading_of_place[row]
        for i in range(first + 1, begin[sequence + 1]):
            heading[i] = heading_of_place[row + 1]
            row += states[i] == place[row + 1]


def runs_along(reactivated: Columns, track: Track, detection: Detection) -> tuple[Ints, Lists]:
    """Find the maximal runs of neighbouring places that meet the criteria of a study.

    Returns the row of the first reactivation of each, and its places.
    """
    place, event = reactivated["place"], reactivated["event"]
    rows = np.arange(len(place))
    if detection.largest_jump > 1:
        # Places that were jumped over belong to the reactivation that follows.
        is_jump = (event[1:] == event[:-1]) & (track.move(place[:-1], place[1:]) < 0)
        jumps = np.flatnonzero(is_jump) + 1
        pairs, of_jump = np.unique(
            np.stack((place[jumps - 1], place[jumps])), axis=1, return_inverse=True
        )
        ways = [
            track.between(one, other, detection.largest_jump) for one, other in pairs.T.tolist()
        ]
        between = Lists.of(ways).take(of_jump.ravel())  # NumPy 2.0 returns a row
        n_before = np.zeros(len(place), dtype=np.int64)
        n_before[jumps] = between.length
        rows = np.repeat(np.arange(len(place)), n_before + 1)
        is_own = np.ones(len(rows), dtype=np.bool_)
        is_own[:-1] = rows[1:] != rows[:-1]
        filled = np.empty(len(rows), dtype=np.int32)
        filled[is_own], filled[~is_own] = place, between.flat
        place, event = filled, event[rows]
    same = event[1:] == event[:-1]
    move_number = np.where(same, track.move(place[:-1], place[1:]), -1)
    starts = np.flatnonzero(np.concatenate(([True] * bool(len(place)), move_number < 0)))
    states = Lists(place, np.append(starts, len(place)))
    # Different places are counted only where there are enough places: most runs are short.
    kept = states.length >= detection.min_length
    kept[kept] = states.select(kept).n_different >= detection.min_length
    if detection.min_distance > 0 or detection.min_extent > 0:
        track.require_distances()
        distance = np.where(move_number < 0, 0, track.distance[move_number])
        walked = np.concatenate(([0.0], np.cumsum(distance)))
        length = walked[states.begin[1:] - 1] - walked[states.begin[:-1]]
        kept &= at_least(length, detection.min_distance)
    rows, states = rows[states.begin[:-1]][kept], states.select(kept)
    if detection.min_extent > 0 or detection.min_correlation > 0:
        extent, correlation = track.extent(states)
        kept = at_least(extent, detection.min_extent)
        if detection.min_correlation > 0:
            kept &= np.abs(correlation) >= detection.min_correlation
        rows, states = rows[kept], states.select(kept)
    return rows, states


def at_least(length: Floats, least: float) -> Bools:
    """Whether lengths (cm) reach a minimum, with a tolerance for rounding errors."""
    return length >= least * (1 - 1e-9)
