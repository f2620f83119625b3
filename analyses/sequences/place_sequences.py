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
.. [1] Gupta, van der Meer, Touretzky & Redish (2010), Hippocampal replay is not a simple function
   of experience. https://doi.org/10.1016/j.neuron.2010.01.034
.. [2] Diba & Buzsaki (2007), Forward and reverse hippocampal place-cell sequences during ripples.
   https://doi.org/10.1038/nn1961
.. [3] Davidson, Kloosterman & Wilson (2009), Hippocampal replay of extended experience.
   https://doi.org/10.1016/j.neuron.2009.07.027
"""

from __future__ import annotations

import warnings
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analyses.sequences.chains import count_chains
from analyses.sequences.detection import Detection
from analyses.sequences.experience import Experience
from analyses.sequences.kinds import (
    AMBIGUOUS,
    FORWARD_EPISODE,
    NEVER_TAKEN,
    NOVEL_PATH,
    REVERSE_EPISODE,
)
from analyses.sequences.reactivations import reactivations_by_run
from analyses.sequences.sequences import (
    Columns,
    Lists,
    Logged,
    Sequences,
    composition_columns,
    log_of,
    of_run,
    runs_of,
)
from analyses.sequences.suffix_automaton import SuffixAutomaton, appended, prepended
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
        found = runs_along(reactivated, track, detection)
        parts.append(classified_places(Experience(steps), reactivated, *found, track))
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
    return sum(len(runs_along(each, track, detection)[0]) for _, each in reactivations_by_run(log))


def note_difference(table: pd.DataFrame, counted: str, n_others: int, others: str) -> None:
    """Note in the attributes of a table that there are far more, or fewer, of something else."""
    n, few = len(table), min(len(table), n_others)
    if max(n, n_others) >= _MUCH * max(few, 1):
        table.attrs["note"] = f"{n:,} {counted}, but {n_others:,} {others}: say which you count."


def classified_places(
    experience: Experience, reactivated: Columns, rows: Ints, states: Lists, track: Track
) -> Sequences:
    """Classify the place sequences of one run; `rows` are those of their first reactivations.

    One page long, as each column of the table needs those before it.
    """
    n = len(rows)
    flat, owner = states.flat, states.owner
    is_move = owner[1:] == owner[:-1]
    here, there, of_move = flat[:-1][is_move], flat[1:][is_move], owner[1:][is_move]
    moves = states.begin - np.arange(n + 1)
    limit = experience.moves_by(reactivated["step"][rows])

    known = limit[of_move]
    along, back_along = experience.symbols(here, there), experience.symbols(there, here)
    taken = experience.first_moves(here, there) < known
    back = experience.first_moves(there, here) < known
    headings: dict[str, Lists] = {}
    if "along" in reactivated:  # a heading is known, and rules out one of the two readings
        headings["along"] = headings_along(reactivated, rows, states)
        heading = headings["along"].flat[1:][is_move]
        taken, back = taken & (heading >= 0), back & (heading <= 0)
        along[heading < 0], back_along[heading > 0] = -1, -1  # nor may pieces be read so
    label = np.select([taken & back, taken, back], [_BOTH, _FORWARD, _BACKWARD], _NEVER)
    cell, n_labels = of_move * len(MOVE_LABELS) + label, len(MOVE_LABELS)
    has = np.bincount(cell, minlength=n * n_labels).reshape(n, n_labels) > 0
    direction = np.select(
        [has[:, _NEVER], has[:, _FORWARD] & has[:, _BACKWARD], has[:, _FORWARD], has[:, _BACKWARD]],
        [_NEITHER, _MIXED, _ALL_FORWARD, _ALL_REVERSE],
        _EITHER,
    )

    n_pieces = np.empty(n, dtype=np.int32)
    ends, forward, backward = (np.empty(len(here), dtype=np.int32) for _ in range(3))
    n_all = _stitch_either(
        experience.automaton, along, back_along, moves, limit, n_pieces, ends, forward, backward
    )
    piece_of = np.repeat(np.arange(n), n_pieces)
    node = np.stack((forward[:n_all], backward[:n_all]))
    # The latest episode that contains each piece, in either direction.
    held, by = node > 0, np.broadcast_to(limit[piece_of], node.shape)
    episodes: Int32s = np.full(node.shape, -1, dtype=np.int32)
    episodes[held] = experience.latest_episodes(node[held], by[held])
    piece_end = flat[states.begin[piece_of] + ends[:n_all]]
    episode = reactivated["episode"][rows]
    whole = n_pieces == 1

    # Pieces, and so novelty, come from experience; distances and marks from the track.
    edges = track.move(here, there)
    distance = np.bincount(of_move, track.distance[edges], minlength=n).astype(np.float64)
    novelty = np.select(
        [n_pieces == 0, whole, direction == _MIXED],
        [_UNEXPERIENCED, _EXPERIENCED, _COMPOSED_MIXED],
        _COMPOSED,
    )
    kind = np.select(
        [~whole & (n_pieces > 0), ~whole, direction == _ALL_REVERSE, direction == _ALL_FORWARD],
        [NOVEL_PATH, NEVER_TAKEN, REVERSE_EPISODE, FORWARD_EPISODE],
        AMBIGUOUS,
    )
    marks: dict[str, NDArray[Any] | Lists] = {}
    if track.shortcuts is not None:
        marks["shortcut"] = crossed_shortcuts(track, edges, of_move, ~whole)
    if track.impossible is not None:
        marks["impossible"] = is_impossible = np.zeros(n, dtype=np.int8)
        is_impossible[of_move[track.impossible[track.edge[edges]]]] = 1
    columns: dict[str, NDArray[Any] | Lists] = {
        **{name: reactivated[name][rows] for name in ("run", "episode", "step", "time", "event")},
        **{name: reactivated[name][rows] for name in ("phase", "location", "index")},
        "first": flat[states.begin[:-1]],
        "last": flat[states.begin[1:] - 1],
        "states": states,
        "length": states.length.astype(np.int32),
        "n_distinct": states.n_different,
        "moves": Lists(label, moves),
        **headings,
        "distance": distance,
        "direction": direction,
        "novelty": novelty,
        "kind": kind,
        **composition_columns(n_pieces, episodes.max(axis=0), piece_end, episode),
        **marks,
    }
    return Sequences(columns, _CATEGORIES)


def headings_along(reactivated: Columns, rows: Ints, states: Lists) -> Lists:
    """Find the heading of each place of each sequence; `rows` are those of their first places.

    Places that were jumped over have the heading of the reactivation that follows.
    """
    found = np.empty(len(states.flat), dtype=np.int8)
    _find_headings(
        reactivated["place"], reactivated["along"], rows, states.flat, states.begin, found
    )
    return Lists(found, states.begin)


@kernel
def _find_headings(
    place: Int32s,
    along: NDArray[np.int8],
    rows: Ints,
    states: Int32s,
    begin: Ints,
    found: NDArray[np.int8],
) -> None:
    for sequence in range(len(rows)):
        at, first = rows[sequence], begin[sequence]
        found[first] = along[at]
        for i in range(first + 1, begin[sequence + 1]):
            found[i] = along[at + 1]
            at += states[i] == place[at + 1]


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
    move = np.where(same, track.move(place[:-1], place[1:]), -1)
    edges = np.flatnonzero(np.concatenate(([True] * bool(len(place)), move < 0)))
    states = Lists(place, np.append(edges, len(place)))
    # Different places are counted only where there are enough places: most runs are short.
    kept = states.length >= detection.min_length
    kept[kept] = states.select(kept).n_different >= detection.min_length
    if detection.min_distance > 0 or detection.min_extent > 0:
        track.require_distances()
        walked = np.concatenate(([0.0], np.cumsum(np.where(move < 0, 0, track.distance[move]))))
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


def crossed_shortcuts(track: Track, along: Ints, of_move: Ints, novel: Bools) -> NDArray[np.int8]:
    """Find the novel sequences that run along the whole of a shortcut, without turning on it.

    `along` numbers all moves as `Track.move` does, `of_move` names the sequence of each. Returns 1
    or 0 for each sequence; -1 if the track has no shortcut.
    """
    if track.shortcuts is None:
        return np.full(len(novel), -1, dtype=np.int8)
    connection = np.full(track.graph.number_of_edges() + 1, -1)
    for number, edges in enumerate(track.shortcuts):
        connection[edges] = number
    edge = np.where(along < 0, len(connection) - 1, track.edge[along])
    found = np.zeros(len(novel), dtype=np.int8)
    n_edges = np.array([len(edges) for edges in track.shortcuts])
    _cross(edge, of_move, connection, n_edges, found)
    return np.where(novel, found, 0).astype(np.int8)


@kernel
def _cross(
    edge: Ints, of_move: Ints, connection: Ints, n_edges: Ints, found: NDArray[np.int8]
) -> None:
    """Mark the sequences with as many successive edges of a connection as it has."""
    n = 0
    for i in range(len(edge)):
        here = connection[edge[i]]
        goes_on = i > 0 and of_move[i] == of_move[i - 1] and edge[i] != edge[i - 1]
        n = n + 1 if goes_on and here == connection[edge[i - 1]] else 1
        if here >= 0 and n >= n_edges[here]:
            found[of_move[i]] = 1


@kernel
def _stitch_either(
    automaton: SuffixAutomaton,
    along: Int32s,
    against: Int32s,
    begin: Ints,
    limit: Ints,
    n_pieces: Int32s,
    ends: Int32s,
    forward: Int32s,
    backward: Int32s,
) -> int:
    """Cut each sequence into the least number of experienced pieces, read in either direction.

    `along` and `against` are the symbols of each move and of its reverse. Writes the move after
    which each piece ends, and its nodes as read forward and backward (-1 if it was never run in
    that direction). `n_pieces` is 0 if a move was never made. Returns the total number of pieces.
    """
    n_all = 0
    nodes = automaton.nodes
    for sequence in range(len(limit)):
        first, n_before = begin[sequence], n_all
        ahead, back, length = 0, 0, 0
        move = first
        while move < begin[sequence + 1]:
            longer, longer_back = -1, -1
            if ahead >= 0 and along[move] >= 0:
                longer = appended(automaton, ahead, along[move])
                if longer >= 0 and nodes[longer]["first_end"] >= limit[sequence]:
                    longer = -1
            if back >= 0 and against[move] >= 0:
                longer_back = prepended(automaton, back, length, against[move])
                if longer_back >= 0 and nodes[longer_back]["first_end"] >= limit[sequence]:
                    longer_back = -1
            if longer >= 0 or longer_back >= 0:
                ahead, back, length = longer, longer_back, length + 1
                move += 1
                if move < begin[sequence + 1]:
                    continue
            if length == 0:  # a move that was never made, in either direction
                n_all = n_before
                break
            ends[n_all] = move - first
            forward[n_all] = ahead
            backward[n_all] = back
            n_all += 1
            ahead, back, length = 0, 0, 0
        n_pieces[sequence] = n_all - n_before
    return n_all
