"""The experience of a recorded animal, as moves between the states of a world, lap by lap.

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

from analyses.recordings.basics.arena import world_of
from analyses.recordings.basics.binned_track import BinnedTrack, cut_track, project
from analyses.recordings.basics.recording import Recording
from analyses.recordings.basics.settings import FARTHEST, MEDIAN_SPAN
from analyses.recordings.prepare.visits import experience, find_visits
from analyses.sequences.track import graph_of_log
from replay.checks import check_choice, check_list
from replay.checks.arrays import Bools, Floats
from replay.log.event_log import EventLog
from replay.worlds.mdp import MDP

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


def experience_of(
    recording: Recording, state_size: float, lap_ends: Sequence[str] = ()
) -> tuple[MDP, EventLog]:
    """Convert the animal's runs to moves between states.

    Parameters
    ----------
    recording : Recording
        With a track and positions.
    state_size : float
        Distance between neighbouring states, in cm, as nearly as edges can be divided evenly.
    lap_ends : sequence of str, optional
        The names of nodes of the track at which laps end; by default its dead ends, or where the
        animal turns before them, as the module says. On a track without dead ends, all moves until
        the animal leaves it are one lap; `prepare` proposes ends there.

    Returns
    -------
    world : MDP
        The track as a world.
    log : EventLog
        The moves, lap by lap; a lap is truncated when the animal leaves the track.

    Raises
    ------
    ValueError
        If the animal never moved from one state to another, or there is no such node.
    """
    ends = find_lap_ends(recording, lap_ends)
    reach = {end.state: end.reach for end in ends}
    # An end that is reached from far away is entered without the states before it.
    skipped = max([3, *(int(near / state_size) + 1 for near in reach.values())])
    world = world_of(recording.graph, state_size)
    epochs = recording.on_track
    if not len(epochs):
        epochs = np.array([[recording.time[0], recording.time[-1]]])
    parts, position = [], steady_positions(recording)
    for begin, end in epochs:
        own = (recording.time >= begin) & (recording.time <= end)
        if not own.any():
            continue
        visits = find_visits(
            recording.time[own], position[own], recording.graph, world, reach=reach,
            most_unknown=1.0,
        )  # fmt: skip
        stops = [end.state for end in ends if end.is_end]
        steps = experience(visits, world, ends=stops, most_skipped=skipped).columns("steps")
        names = ("state", "next_state", "time", "action", "terminated", "truncated")
        part = {name: np.array(steps[name]) for name in names}
        if len(part["state"]):
            part["truncated"][-1] = not part["terminated"][-1]  # the animal leaves the track
            parts.append(part)
    if not parts:
        raise ValueError(
            f"The animal of {recording.name} never moved from one state of the track to another. "
            "Are positions and graph in cm on the same axes?"
        )
    steps = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    # Laps go on that are only short excursions from an end of the track and back.
    joined = graph_of_log(EventLog({}, mdp=world))
    away = {
        end.state: nx.single_source_dijkstra_path_length(joined, end.state, weight="distance")
        for end in ends
    }
    excursion = {end.state: end.excursion for end in ends}
    first, n_steps = 0, len(steps["state"])
    for row in np.flatnonzero(steps["terminated"] | steps["truncated"]).tolist():
        last, states = int(steps["next_state"][row]), steps["state"][first : row + 1].tolist()
        is_back = steps["terminated"][row] and states[0] == last
        if is_back and max(away[last][state] for state in states) < excursion[last]:
            steps["terminated"][row] = False
            # It does not go on if the animal was lost here, and is then found elsewhere.
            steps["truncated"][row] = row + 1 < n_steps and steps["state"][row + 1] != last
        if steps["terminated"][row] or steps["truncated"][row]:
            first = row + 1
    return world, EventLog({"steps": steps}, mdp=world)


class Experienced(NamedTuple):
    """The animal's experience in numbers, with the longest move, and the ends of laps."""

    n_moves: int
    n_laps: int
    n_states: int
    farthest: float  # cm
    ends: list[LapEnd]


def count_experience(
    recording: Recording, state_size: float, lap_ends: Sequence[str] = ()
) -> Experienced:
    """Count the moves and laps of `experience_of`."""
    world, log = experience_of(recording, state_size, lap_ends)
    lengths = graph_of_log(EventLog({}, mdp=world)).edges(data="distance")
    farthest = max(length for _, _, length in lengths)
    n_laps = log.steps["episode"].nunique()
    ends = find_lap_ends(recording, lap_ends)
    return Experienced(len(log.steps), n_laps, world.n_states, farthest, ends)


def check_state_size(size: float, track: BinnedTrack) -> None:
    """Check that states are not larger than the arms of a track."""
    if track.is_arena:
        extent = float(np.ptp(track.position, axis=0).max()) + track.square
        if size > extent / 2:
            raise ValueError(
                f"state_size must be at most {extent / 2:.4g} cm, half of the arena; got {size:g}. "
                "States must be much smaller than paths, such as 25 cm."
            )
        return
    graph = nx.Graph()
    graph.add_weighted_edges_from(
        (one, other, length)
        for (one, other), length in zip(track.edges.tolist(), track.length.tolist(), strict=True)
    )
    passed = {node for node, degree in graph.degree if degree == 2}
    joined = nx.connected_components(graph.subgraph(passed))
    arms = [[*graph.edges(part, data="weight")] for part in joined]
    arms += [[edge] for edge in graph.edges(data="weight") if not passed & {*edge[:2]}]
    longest = max(sum(length for _, _, length in arm) for arm in arms)
    if size > longest:
        raise ValueError(
            f"state_size must be at most {longest:.4g} cm, the length of the longest arm of the "
            f"track; got {size:g}. States must be much smaller than paths, such as 15 cm."
        )
