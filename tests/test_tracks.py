"""Track graphs, and MDPs made of them."""

import math

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyses.recordings.basics.binned_track import cut_track
from analyses.recordings.readers.track_graphs import draw_track, read_track
from replay.worlds import tracks
from replay.worlds.mdp import MDP

BUILDERS = [
    tracks.make_linear_track,
    tracks.make_circular_track,
    tracks.make_tmaze_track,
    tracks.make_ymaze_track,
    tracks.make_plus_maze_track,
    tracks.make_wtrack,
    tracks.make_figure8_track,
]


@pytest.mark.parametrize("make", BUILDERS)
def test_track_graphs_have_the_attributes_of_the_field(make):
    track = make()
    assert type(track) is nx.Graph
    assert list(track) == list(range(len(track)))
    assert nx.is_connected(track)
    assert [data["edge_id"] for *_, data in track.edges(data=True)] == list(range(track.size()))
    for u, v, data in track.edges(data=True):
        assert data["distance"] == pytest.approx(
            math.dist(track.nodes[u]["pos"], track.nodes[v]["pos"])
        )


@pytest.mark.parametrize(
    ("track", "degrees", "length"),
    [
        (tracks.make_linear_track(120), [1, 1], 120),
        (tracks.make_tmaze_track(80, 50), [1, 1, 1, 3], 180),
        (tracks.make_ymaze_track(50), [1, 1, 1, 3], 150),
        (tracks.make_plus_maze_track(50), [1, 1, 1, 1, 4], 200),
        (tracks.make_wtrack(80, 60), [1, 1, 1, 2, 2, 3], 260),
        (tracks.make_circular_track(30, 6), [2] * 6, 180),
        (tracks.make_figure8_track(30, 6), [2] * 10 + [4], 360),
    ],
)
def test_shapes(track, degrees, length):
    assert sorted(dict(track.degree).values()) == degrees
    assert track.size("distance") == pytest.approx(length)


def test_the_loops_of_a_figure_8_touch_only_in_the_middle():
    track = tracks.make_figure8_track(loop_radius=30, n_segments=12)
    positions = np.array([track.nodes[n]["pos"] for n in track])
    assert len({*map(tuple, positions.round(6))}) == len(track)
    distance = np.linalg.norm(np.abs(positions) - (30, 0), axis=1)
    np.testing.assert_allclose(distance, 30, atol=1e-12)
    track.remove_node(0)
    assert [len(part) for part in nx.connected_components(track)] == [11, 11]


def test_edge_ids_count_as_networkx_lists_the_edges():
    track = tracks.make_track_graph([(k, 0) for k in range(4)], [(2, 3), (0, 1), (1, 2)])
    assert nx.get_edge_attributes(track, "edge_id") == {(0, 1): 0, (1, 2): 1, (2, 3): 2}


# -- MDPs of tracks -------------------------------------------------------------------------


def test_actions_are_neighbours_anticlockwise_from_the_east():
    plus = MDP.from_networkx(tracks.make_plus_maze_track())
    north, east, south, west = 1, 2, 3, 4
    assert [plus.successors(0, a).item() for a in range(4)] == [east, north, west, south]
    # An arm's end has one neighbour; the other actions stay.
    assert [plus.successors(north, a).item() for a in range(4)] == [0, north, north, north]
    assert not plus.terminal.any()


def test_a_neighbour_straight_to_the_east_comes_first():
    track = tracks.make_track_graph([(0, 0), (-1, 1e-17), (1, -1e-17)], [(0, 1), (0, 2)])
    assert MDP.from_networkx(track).successors(0, 0).item() == 2


def test_a_t_maze_by_hand():
    mdp = MDP.from_networkx(
        tracks.make_tmaze_track(40, 20),
        rewards={2: 1.0, 3: 0.25},
        terminal=[2, 3],
        start=0,
        bin_size=10,
    )
    assert mdp.n_states == 4 + 3 + 1 + 1
    assert mdp.labels[:5] == (0, 1, 2, 3, (0, 1, 1))
    assert mdp.position[mdp.labels.index((1, 2, 1))].tolist() == [-10, 40]
    solution = mdp.solve(0.5)
    assert solution.state_values[mdp.labels.index(0)] == pytest.approx(0.5**5)
    # 6 steps with one reward; the four bumps a step are no way to earn it.
    assert mdp.reward_rate(solution.policy) == pytest.approx(1 / 6)
    assert mdp.reward.sum() == pytest.approx(1.25)


def test_staying_at_a_well_is_not_entering_it():
    mdp = MDP.from_networkx(tracks.make_wtrack(), rewards={4: 1.0})
    staying = mdp.transition_rows() // mdp.n_actions == mdp.successor
    assert staying.any()
    assert not mdp.reward[staying].any()
    # Between the well and the choice point every second step is rewarded.
    assert mdp.reward_rate(mdp.solve(0.9).policy) == pytest.approx(0.5)


@given(st.floats(10, 400), st.floats(2, 50))
def test_steps_are_equal_and_near_the_bin_size(length, bin_size):
    mdp = MDP.from_networkx(tracks.make_linear_track(length), bin_size=bin_size)
    steps = np.diff(np.sort(mdp.position[:, 0]))
    np.testing.assert_allclose(steps, steps[0], rtol=1e-9)
    assert np.sum(steps) == pytest.approx(length)
    n_steps = len(steps)
    assert n_steps == 1 or abs(length / bin_size - n_steps) <= 0.5 + 1e-9
    assert n_steps > 1 or length / bin_size < 1.5


@pytest.mark.parametrize("make", BUILDERS)
def test_bins_keep_the_shape_of_the_track(make):
    track = make()
    graph = nx.Graph(MDP.from_networkx(track, bin_size=5).to_networkx())
    graph.remove_edges_from(list(nx.selfloop_edges(graph)))
    assert nx.number_of_edges(graph) - len(graph) == track.size() - len(track)
    positions = nx.get_node_attributes(graph, "pos")
    total = sum(math.dist(positions[u], positions[v]) for u, v in graph.edges)
    assert total == pytest.approx(track.size("distance"))


def test_nodes_may_have_any_name():
    track = nx.Graph()
    track.add_edge("home", ("arm", 1), distance=30)
    track.add_edge("home", ("arm", 2), distance=20)
    mdp = MDP.from_networkx(track, terminal=("arm", 1), start="home", bin_size=10)
    assert mdp.labels[:3] == ("home", ("arm", 1), ("arm", 2))
    assert mdp.n_states == 3 + 2 + 1
    assert mdp.position is None
    assert mdp.start_probability.tolist() == [1, 0, 0, 0, 0, 0]
    assert mdp.terminal.tolist() == [False, True, False, False, False, False]


def test_starts_as_nodes_and_as_probabilities():
    track = tracks.make_plus_maze_track()
    assert MDP.from_networkx(track, start=[1, 3]).start_probability.tolist() == [0, 0.5, 0, 0.5, 0]
    several = MDP.from_networkx(track, start={1: 0.25, 2: 0.75})
    assert several.start_probability.tolist() == [0, 0.25, 0.75, 0, 0]
    anywhere = MDP.from_networkx(track, terminal=0)
    assert anywhere.start_probability.tolist() == [0, 0.25, 0.25, 0.25, 0.25]


def test_one_way_paths():
    ring = nx.DiGraph([(0, 1), (1, 2), (2, 0)])
    mdp = MDP.from_networkx(ring, rewards={0: 3.0})
    assert (mdp.n_actions, mdp.successor.tolist()) == (1, [1, 2, 0])
    assert mdp.reward_rate([0, 0, 0]) == 1


def test_the_track_may_have_a_name():
    track = tracks.make_linear_track()
    assert MDP.from_networkx(track).name == "track"
    track.graph["name"] = "linear"
    assert MDP.from_networkx(track).name == "linear"
    assert MDP.from_networkx(track, name="own").name == "own"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"rewards": {9: 1.0}}, "rewards names 9, but the graph's nodes are 0, 1"),
        ({"start": {0: 0.5}}, "start_probability must sum to 1; got 0.5"),
        ({"bin_size": 0}, "bin_size must be above 0 cm; got 0"),
    ],
)
def test_errors_of_tracks(arguments, message):
    with pytest.raises(ValueError, match=message):
        MDP.from_networkx(tracks.make_linear_track(), **arguments)


def test_errors_of_lengths():
    with pytest.raises(ValueError, match=r"edge \(0, 1\) has neither"):
        MDP.from_networkx(nx.path_graph(2), bin_size=10)
    with pytest.raises(ValueError, match=r"edge \(0, 1\) must .* got nan"):
        MDP.from_networkx(nx.Graph([(0, 1, {"distance": math.nan})]), bin_size=10)
    with pytest.raises(ValueError, match="needs nodes"):
        MDP.from_networkx(nx.Graph())


# Each is one track that is drawn in parts, and what the message says.
TORN = {
    "two names for one place": (
        [(0, 0), (50, 0), (50.2, 0.1), (100, 0)], [(0, 1), (2, 3)],
        r"The nodes 1 and 2 of the track graph lie at one place, \(50, 0\), .* one name",
    ),
    "a junction without a node": (
        [(0, 0), (100, 0), (50, 0), (50, 40)], [(0, 1), (2, 3)],
        "The node 2 of the track graph lies on the edge from 0 to 1, .* divide the edge at 2",
    ),
    "an edge drawn twice": (
        [(0, 0), (50, 0), (100, 0)], [(0, 2), (0, 1), (1, 2)],
        "The node 1 of the track graph lies on the edge from 0 to 2, .* divide the edge at 1",
    ),
    "a crossing without a node": (
        [(0, 0), (100, 0), (50, -30), (50, 40)], [(0, 1), (2, 3)],
        "The edges from 0 to 1 and from 2 to 3 of the track graph cross without a node: add one",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("places", "edges", "message"), TORN.values(), ids=TORN)
def test_a_track_drawn_in_parts_is_told(places, edges, message):
    track = tracks.make_track_graph(places, edges)
    for refusing in (MDP.from_networkx, cut_track, read_track):
        with pytest.raises(ValueError, match=message):
            refusing(track)
    one, other = edges[0]
    with pytest.raises(ValueError, match=message):
        read_track({"node_positions": places, "edges": edges, "bridges": []})
    over = read_track({"node_positions": places, "edges": edges, "bridges": [[other, one]]})
    assert read_track(draw_track(over)).edges[one, other]["bridge"]
    assert MDP.from_networkx(over).n_states == len(places)
    with pytest.raises(ValueError, match=r"bridges of .* must be edges of it; \(0, 3\) is none"):
        read_track({"node_positions": places, "edges": edges, "bridges": [[0, 3]]})


def test_what_only_comes_close_is_no_part_of_a_track():
    apart = tracks.make_track_graph([(0, 0), (100, 0), (0, 3), (100, 3)], [(0, 1), (2, 3)])
    assert cut_track(apart, 10.0).n_components == 2
    # The edge from 0 to 1 is bent: its positions do not say where it runs.
    bent = nx.Graph([(0, 1, {"distance": 150.0}), (2, 3)])
    nx.set_node_attributes(bent, dict(enumerate(TORN["a crossing without a node"][0])), "pos")
    assert MDP.from_networkx(bent).n_states == 4
    joined = nx.Graph([(0, 1), (1, 2, {"distance": 5.0})])  # a lift
    nx.set_node_attributes(joined, {0: (0, 0), 1: (9, 0), 2: (9, 0)}, "pos")
    assert MDP.from_networkx(joined).n_states == 3
    nx.set_edge_attributes(joined, "False", "bridge")
    with pytest.raises(ValueError, match=r"'bridge' of the edge \(0, 1\) must be True or False"):
        MDP.from_networkx(joined)
