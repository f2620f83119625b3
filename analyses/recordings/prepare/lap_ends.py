"""Where laps end on a track, and how near to it the animal turns.

A dead end of a track graph is drawn where the track ends, but an animal turns before its nose is
there. It has reached the end once it is as near as it comes in 95 % of its visits, but at least
within a quarter of the arm, which leads to the next junction or other end. An excursion that
returns to the same end before half of the arm is no lap.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import networkx as nx
import numpy as np
from scipy import ndimage

from analyses.recordings.basics.binned_track import cut_track, project
from analyses.recordings.basics.recording import Recording
from analyses.recordings.basics.settings import FARTHEST, MEDIAN_SPAN
from replay.checks import check_choice, check_list
from replay.checks.arrays import Bools, Floats

_NEAR, _HALF = 0.4, 0.5  # of an arm: a visit to its end begins nearer than the former
_LEAST_VISITS, _MOST_VISITS, _LARGEST_REACH = 3, 0.95, 0.25
_AT_NODE = 20.0  # cm
_LEAST_SHARE = 0.1  # of all pauses
_ONCE_A_LAP = 0.75  # of the pauses at the node that has most
PAUSE = 1.0
"""The least duration of a pause at a node, in s."""


class LapEnd(NamedTuple):
    """A node of the track at which laps may end."""

    state: int  # its number: nodes are the first states of a world
    is_end: bool  # whether laps end there; if not, it is a dead end at which they go on
    reach: float  # the distance from the node at which the animal has reached it, in cm
    # the distance from the node within which it turns in 95 % of its visits, in cm, infinite
    # without any; if it is more than a quarter of the arm, `reach` is this quarter
    turns: float
    excursion: float  # the distance that an excursion must exceed to be a lap, in cm


def find_lap_ends(recording: Recording, names: Sequence[str] = ()) -> list[LapEnd]:
    """Find how near the animal comes to each end of its laps, and to other dead ends."""
    graph = nx.Graph() if recording.graph is None else recording.graph
    if "arena" in graph.graph:
        if names:
            raise ValueError("An arena has no nodes at which laps end: leave lap_ends out.")
        return []
    nodes = [str(node) for node in graph]
    for name in check_list("lap_ends", names):
        check_choice("node of the track", name, nodes)
    degree = [count for _, count in graph.degree]
    named = {nodes.index(name) for name in names}
    dead = {place for place, count in enumerate(degree) if count == 1}
    ends = named or dead
    track = cut_track(graph, bin_size=1.0)
    found = project(track, steady_positions(recording)[recording.during])
    bins = found.bin[found.away <= FARTHEST]
    at_node = project(track, track.node_position).bin
    stops = ends | {place for place, count in enumerate(degree) if count > 2}
    lap_ends = []
    for node in sorted(ends | dead):
        away = track.node_distance[node]
        farthest = away[np.isfinite(away)].max()
        arm = float(away[sorted(stops - {node})].min(initial=farthest))
        # A visit begins in the outer part of an arm, and ends in the inner one.
        near = track.distance[at_node[node], bins]
        side = np.select([near < _NEAR * arm, near > _HALF * arm], [1, -1], 0)
        near, side = near[side != 0], side[side != 0]
        begins = np.flatnonzero(np.diff(side, prepend=-1) > 0)
        leaves = np.flatnonzero(np.diff(side, append=-1) < 0)
        visits = [near[one : two + 1].min() for one, two in zip(begins, leaves, strict=True)]
        turns = 0.0
        if node in dead and not len(visits):
            turns = np.inf
        elif node in dead and len(visits) >= _LEAST_VISITS:
            turns = float(np.quantile(visits, _MOST_VISITS))
        reach = min(turns, _LARGEST_REACH * arm) if np.isfinite(turns) else 0.0
        lap_ends.append(LapEnd(node, node in ends, reach, turns, _HALF * arm))
    return lap_ends


def steady_positions(recording: Recording) -> Floats:
    """Compute the running median of positions, so that noise does not look like moves.

    A median, unlike a mean, makes no places between those where an animal is put down. At .3 s,
    noise of 3 cm remains within the hysteresis between states that are 10 cm apart.
    """
    known = ~np.isnan(recording.position).any(axis=1)
    between = np.diff(recording.time[known])
    each = float(np.median(between)) if len(between) else np.inf
    # An odd number of samples, so that nothing is shifted in time.
    width = 2 * int(MEDIAN_SPAN / 2 / each) + 1 if each > 0 else 1
    found = recording.position.copy()
    found[known] = ndimage.median_filter(found[known], (width, 1), mode="nearest")
    return found


def find_pauses(graph: nx.Graph, time: Floats, position: Floats, is_still: Bools) -> dict[str, int]:
    """Count the pauses at each node of a track that has at least a tenth of all."""
    if "arena" in graph.graph:
        return {}
    track = cut_track(graph, bin_size=1.0)
    change = np.diff(is_still.astype(np.int8), prepend=0, append=0)
    begins, stops = np.flatnonzero(change == 1), np.flatnonzero(change == -1)
    pauses: Counter[str] = Counter()
    for one, other in zip(begins, stops, strict=True):
        if time[other - 1] - time[one] >= PAUSE:
            away = np.hypot(*(track.node_position - np.median(position[one:other], axis=0)).T)
            if away.min() <= _AT_NODE:
                pauses[str(track.nodes[int(away.argmin())])] += 1
    least = _LEAST_SHARE * pauses.total()
    return {name: n for name, n in pauses.most_common() if n >= least}


def proposed_ends(graph: nx.Graph, position: Floats, pauses: Mapping[str, int]) -> tuple[str, ...]:
    """Propose ends of laps on a track without dead ends: where the animal pauses or passes most.

    On other tracks and in arenas there are none to propose.
    """
    if "arena" in graph.graph or any(degree == 1 for _, degree in graph.degree):
        return ()
    if pauses:
        return tuple(suggested_ends(pauses))
    at_node = np.full(len(position), -1)
    for number, (_, place) in enumerate(graph.nodes(data="pos")):
        at_node[np.hypot(*(position - place).T) <= _AT_NODE] = number
    passed = at_node[at_node >= 0]
    passed = passed[np.diff(passed, prepend=-1) != 0]
    return (str(list(graph)[np.bincount(passed, minlength=1).argmax()]),)


def suggested_ends(pauses: Mapping[str, int]) -> list[str]:
    """Return the nodes at which the animal seems to pause once a lap, given the pauses at each.

    Examples
    --------
    >>> suggested_ends({"0": 30, "3": 15, "5": 15})
    ['0']
    """
    most = max(pauses.values(), default=0)
    return [name for name, n in pauses.items() if n >= _ONCE_A_LAP * most]
