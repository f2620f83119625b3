"""Arenas: open fields in square bins, as graphs whose edges join neighbouring bins.

An arena is where the animal went: the bins that it visited, without stray ones, and those that
visited ones enclose. A wall or an obstacle is a row of bins that it never entered; nothing is
smoothed, decoded or counted as a move across it. A wall much thinner than a bin is not seen.
"""

from __future__ import annotations

import networkx as nx
import numpy as np
from numpy.typing import ArrayLike
from scipy import ndimage

from analyses.recordings.basics.binned_track import cut_track
from analyses.recordings.basics.settings import Settings
from replay.checks import check_array, check_number, typed
from replay.worlds.mdp import MDP

_SHORTEST = 30.0  # cm, of the extent of positions
_MOST_BINS = 10**6
_LEAST_PART = 0.05  # of all bins: smaller separate parts are stray positions
_ENCLOSED = 7  # of 8 neighbours
_DIRECT = 1.25  # states are neighbours if the way between them is at most so much longer
_LEAST_COVERED = 0.5  # of a state
_OPEN = 0.25  # the least share of bins with eight neighbours; tracks have fewer
_AROUND = np.ones((3, 3), dtype=np.int64)


def find_arena(position: ArrayLike, bin_size: float = Settings().bin_size) -> nx.Graph:
    """Find the arena in which an animal moved, as `arena_graph` returns it.

    `position`, shape (n_samples, 2), is in cm, and NaN if unknown; `bin_size` is the side of the
    bins.
    """
    xy = check_array(position, "position", kind="number", missing=True, n_dims=2)
    size = check_number("bin_size", bin_size, at_least=0.1, hint="It is a length in cm.")
    xy = xy[np.isfinite(xy).all(axis=1)]
    if xy.shape[1] != 2 or len(xy) < 2:
        raise ValueError(
            f"An arena is found from at least two known positions (x, y), got shape {xy.shape}: "
            "give positions in two dimensions, or a track graph."
        )
    low, extent = xy.min(axis=0), np.ptp(xy, axis=0)
    if extent.max() < _SHORTEST:
        raise ValueError(
            f"Positions extend over {extent.max():.3g} cm, which is no arena. Are they in metres? "
            "Multiply metres by 100."
        )
    sides = np.floor(extent / size) + 1
    if sides.prod() > _MOST_BINS:
        raise ValueError(
            f"Positions extend over {extent[0]:.6g} x {extent[1]:.6g} cm, which makes "
            f"{sides.prod():.3g} bins of {size:g} cm. Are they in cm? Otherwise choose larger bins "
            "(bin_size)."
        )
    shape = sides.astype(np.int64)
    visited = np.zeros(shape, dtype=bool)
    visited[tuple(np.floor((xy - low) / size).astype(np.int64).T)] = True
    n_near = ndimage.convolve(visited.astype(np.int64), _AROUND, mode="constant") - visited
    # A stray position has hardly a neighbour; a bin that an animal missed has nearly all.
    inside = (visited & (n_near >= 2)) | (n_near >= _ENCLOSED)
    parts, _ = ndimage.label(inside)
    large = np.bincount(parts.ravel()) >= _LEAST_PART * inside.sum()
    large[0] = False
    return arena_graph(low + (np.argwhere(large[parts]) + 0.5) * size, size)


def arena_graph(centres: ArrayLike, bin_size: float) -> nx.Graph:
    """Join the square bins inside an arena, given by their centres in cm, shape (n_bins, 2).

    Nodes have `pos`; edges lead to up to eight neighbours, diagonal ones only where both bins
    beside the diagonal are inside, too. The attribute `arena` of the graph is `bin_size`, in cm.
    """
    size = check_number("bin_size", bin_size, at_least=1e-6, hint="It is a length in cm.")
    xy = check_array(centres, "centres", kind="number", n_dims=2)
    if xy.shape[1] != 2 or len(xy) < 2:
        raise ValueError(f"An arena needs at least two bins (x, y), got shape {xy.shape}.")
    on_grid = (xy - xy.min(axis=0)) / size
    cell = np.round(on_grid).astype(np.int64)
    number = {place: k for k, place in enumerate(map(tuple, cell.tolist()))}
    if np.abs(on_grid - cell).max() > 0.01 or len(number) < len(xy):
        raise ValueError(
            f"The bins of an arena must have different centres on one grid of {size:g} cm."
        )
    graph = nx.Graph(arena=size)
    for k, place in enumerate(xy.tolist()):
        graph.add_node(k, pos=tuple(place))
    for (x, y), k in number.items():
        for dx, dy in ((1, 0), (0, 1), (1, 1), (1, -1)):
            if {(x + dx, y + dy), (x + dx, y), (x, y + dy)} <= number.keys():
                graph.add_edge(k, number[x + dx, y + dy], distance=size * float(np.hypot(dx, dy)))
    graph.remove_nodes_from([k for k, degree in [*graph.degree] if not degree])
    if not graph:
        raise ValueError("No two bins of the arena are neighbours: choose larger bins (bin_size).")
    return graph


@typed
def world_of(graph: nx.Graph, state_size: float) -> MDP:
    """Make the world of a track, or of an arena, with neighbouring states at most so many cm apart.

    In an arena, states are square fields that are at least half inside, at the bin nearest to the
    middle of what is inside; they are neighbours, also diagonally, if the way is about direct.
    """
    if "arena" not in graph.graph:
        return MDP.from_networkx(graph, bin_size=state_size)
    size = check_number("state_size", state_size, at_least=1.0, hint="It is a distance in cm.")
    track = cut_track(graph)
    low = track.position.min(axis=0) - track.square / 2
    extent = np.ptp(track.position, axis=0) + track.square
    n_fields = np.maximum(np.ceil(extent / size - 1e-9), 1).astype(np.int64)
    field = np.minimum(((track.position - low) / extent * n_fields).astype(np.int64), n_fields - 1)
    least = _LEAST_COVERED * extent.prod() / n_fields.prod() / track.square**2
    centre: dict[tuple[int, int], int] = {}
    for place in sorted(set(map(tuple, field.tolist()))):
        own = np.flatnonzero((field == place).all(axis=1))
        if len(own) >= least:
            middle = track.position[own].mean(axis=0)
            centre[place] = int(own[np.hypot(*(track.position[own] - middle).T).argmin()])
    states = nx.Graph(name="arena", arena=size)
    for (x, y), here in centre.items():
        for step in ((1, 0), (0, 1), (1, 1), (1, -1)):
            there = centre.get((x + step[0], y + step[1]))
            if there is None:
                continue
            straight = float(np.hypot(*(track.position[there] - track.position[here])))
            if track.distance[here, there] <= _DIRECT * straight:
                states.add_edge(here, there, distance=straight)
    if not states:
        raise ValueError(
            f"An arena of {extent[0]:.0f} x {extent[1]:.0f} cm has no two neighbouring states of "
            f"{size:g} cm: choose smaller states (state_size)."
        )
    for here in states:
        states.nodes[here]["pos"] = tuple(track.position[here].tolist())
    return MDP.from_networkx(states)


def describe_arena(graph: nx.Graph) -> str:
    """Describe an arena in a sentence.

    Examples
    --------
    >>> x, y = np.meshgrid(np.arange(100.0), np.arange(100.0))
    >>> describe_arena(find_arena(np.column_stack([x.ravel(), y.ravel()])))[:46]
    'No track graph was given, so the animal is tak'
    """
    track = cut_track(graph)
    extent = np.ptp(track.position, axis=0) + track.square
    area = track.n_bins * track.square**2 / 1e4
    return (
        "No track graph was given, so the animal is taken to move in an arena: "
        f"{track.n_bins:,} bins of {track.square:g} cm, {extent[0]:.0f} x {extent[1]:.0f} cm, "
        f"{area:.2g} m\N{SUPERSCRIPT TWO} inside, where it went."
    )


def is_open(graph: nx.Graph) -> bool:
    """Tell an arena from a track: at least a quarter of its bins have all eight neighbours.

    Examples
    --------
    >>> x, y = np.meshgrid(np.arange(100.0), np.arange(100.0))
    >>> is_open(find_arena(np.column_stack([x.ravel(), y.ravel()])))
    True
    """
    return bool(np.mean([degree == 8 for _, degree in graph.degree]) >= _OPEN)
