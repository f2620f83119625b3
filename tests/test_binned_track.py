"""Tracks that are cut into bins: distances along corridors, and where positions lie."""

from itertools import pairwise

import networkx as nx
import numpy as np
import pytest
from figure_of_eight import EIGHT
from hypothesis import given
from hypothesis import strategies as st

from analyses.recordings.basics.binned_track import cut_track, linearise, project
from replay.worlds.tracks import (
    make_circular_track,
    make_linear_track,
    make_tmaze_track,
    make_track_graph,
    make_wtrack,
)


def fine_distances(graph, bins, positions):
    """Measure the shortest way between places by a graph of a point a millimetre or so."""
    fine = nx.Graph()
    for one, other in graph.edges:
        ends = [np.array(graph.nodes[node]["pos"]) for node in (one, other)]
        n = int(np.ceil(np.hypot(*(ends[1] - ends[0])) * 10))
        names = [one, *((one, other, k) for k in range(1, n)), other]
        for first, second in pairwise(names):
            fine.add_edge(first, second, weight=np.hypot(*(ends[1] - ends[0])) / n)
        for name, k in zip(names, range(n + 1), strict=True):
            fine.nodes[name]["at"] = ends[0] + (ends[1] - ends[0]) * k / n
    names = list(fine)
    at = np.array([fine.nodes[name]["at"] for name in names])
    nearest = [names[int(np.argmin(np.hypot(*(at - positions[b]).T)))] for b in bins]
    return nx.single_source_dijkstra_path_length(fine, nearest[0]), nearest


@pytest.mark.parametrize("graph", [make_wtrack(), make_circular_track()], ids=["w", "ring"])
def test_distances_are_those_along_the_corridors(graph):
    track = cut_track(graph, 7.0)
    np.testing.assert_allclose(track.distance, track.distance.T, atol=1e-12)
    assert (np.diag(track.distance) == 0).all()
    for begin in range(0, track.n_bins, 5):
        others = [begin, *range(track.n_bins)]
        lengths, nearest = fine_distances(graph, others, track.position)
        expected = [lengths[name] for name in nearest[1:]]
        # Places are off by half a millimetre at either end, at most.
        np.testing.assert_allclose(track.distance[begin], expected, atol=0.11)


@given(st.lists(st.tuples(st.floats(-50, 150), st.floats(-50, 150)), max_size=20))
def test_positions_go_to_the_nearest_place(positions):
    track = cut_track(make_wtrack(), 5.0)
    found = project(track, np.array(positions).reshape(-1, 2))
    for (x, y), edge, away, each in zip(positions, *found[:1], found.away, found.bin, strict=True):
        to_bins = np.hypot(track.position[:, 0] - x, track.position[:, 1] - y)
        assert away <= to_bins.min() + 1e-9
        assert track.edge[each] == edge
        assert to_bins[each] <= to_bins.min() + 0.5 * track.width[each] + 1e-9


def test_unknown_positions_are_in_no_bin():
    found = project(cut_track(make_wtrack(), 5.0), [(np.nan, 0.0), (0.0, 0.0)])
    assert found.bin[0] == -1
    assert found.bin[1] >= 0


def broken(**changes):
    graph = make_track_graph([(0, 0), (10, 0), (20, 0)], [(0, 1), (1, 2)])
    for node, pos in changes.get("pos", {}).items():
        graph.nodes[node]["pos"] = pos
    for edge, distance in changes.get("distance", {}).items():
        graph.edges[edge]["distance"] = distance
    graph.remove_edges_from(changes.get("without", []))
    return graph


def laid_out(order, spacing=0):
    graph = broken()
    graph.graph |= {"edge_order": order, "edge_spacing": spacing}
    return graph


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        (broken(pos={1: None}), "The node 1 of the track graph needs a position"),
        (broken(pos={1: ("a", 0)}), "The node 1 of the track graph needs a position"),
        (broken(pos={1: (np.nan, 0)}), "The node 1 of the track graph needs a position"),
        (broken(pos={1: (0, 0)}), "from 0 to 1 of the track graph has length 0"),
        (broken(distance={(0, 1): 100.0}), "10 cm long by the positions .* distance is 100"),
        (broken(without=[(0, 1)]), "The node 0 of the track graph has no edge"),
        (laid_out([(0, 1), (0, 2)]), r"has \(0, 2\), which is not an edge of the graph"),
        (laid_out([(0, 1), (2, 1)], [5, 5]), "one number, or 1 between its 2 edges, got 2"),
        (laid_out([(0, 1), (2, 1)], -1), "edge_spacing of the track graph must"),
        (nx.empty_graph(0), "has no edge"),
    ],
)
def test_graphs_that_make_no_sense(graph, message):
    with pytest.raises(ValueError, match=message):
        cut_track(graph)


def test_a_track_is_walked_both_ways():
    with pytest.raises(TypeError, match=r"undirected networkx\.Graph, got DiGraph"):
        cut_track(nx.DiGraph([(0, 1)]))
    with pytest.raises(ValueError, match="bin_size must be a finite number of at least"):
        cut_track(make_wtrack(), 0)
    with pytest.raises(ValueError, match="pairs"):
        project(cut_track(make_wtrack()), [1.0, 2.0])


@pytest.mark.parametrize(
    "graph",
    [EIGHT, make_linear_track(), make_tmaze_track(), make_wtrack(), make_circular_track()],
    ids=["eight", "line", "t", "w", "ring"],
)
def test_a_line_holds_each_corridor_once(graph):
    track = cut_track(graph, 5.0)
    line = linearise(track)
    np.testing.assert_allclose(line.high - line.low, track.width)
    order = np.argsort(line.low)
    assert (line.low[order][1:] >= line.high[order][:-1] - 1e-9).all()
    # Two bins that touch in the drawing touch on the track.
    touch = line.low[order][1:] - line.high[order][:-1] < 1e-6
    apart = track.distance[order[:-1], order[1:]]
    widths = (track.width[order[:-1]] + track.width[order[1:]]) / 2
    np.testing.assert_allclose(apart[touch], widths[touch])
    assert len(line.nodes) == len(track.edges) + 1 + np.count_nonzero(~touch)


def test_a_figure_of_eight_needs_no_gap():
    line = linearise(cut_track(EIGHT, 5.0))
    assert line.length == pytest.approx(3 * 90 + 4 * 50)
    assert [name for _, name in line.nodes] == ["0", "1", "2", "3", "0", "5", "4", "1"]
