"""Nulls of replay: what they keep, what they detect; the test of Mattar & Daw cannot fail."""

from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from replay_tables import make_task, null_test, permutation_test, random_pairs, replays, sequence

from analyses.measures import STATISTICS
from analyses.measures.chance import distinct, padded, random_edges, random_walks, shuffled_order
from analyses.sequences.place_sequences import Detection
from analyses.sequences.segments import find_segments
from analyses.sequences.sequences import Lists

REFERENCE = Path(__file__).parent / "reference"
GRID = nx.convert_node_labels_to_integers(nx.grid_2d_graph(5, 6))
EDGES = np.array([*GRID.edges, *(edge[::-1] for edge in GRID.edges)])


def reactivated(n_events=5, n=8, seed=0):
    """Sweeps back along paths, in events."""
    rng = np.random.default_rng(seed)
    event, place = [], []
    for number in range(n_events):
        path = nx.shortest_path(GRID, *(int(place) for place in rng.choice(30, 2, replace=False)))
        swept = path[::-1][: n + 1]
        event += [number] * len(swept)
        place += swept
    return {"event": np.array(event), "place": np.array(place)}


def joined(data):
    """Give the share of places that are neighbours of the one before, of those that might be."""
    event, place = data["event"], data["place"]
    together = event[1:] == event[:-1]
    near = [GRID.has_edge(*pair) for pair in pairwise(place)]
    return float((together & near).sum() / together.sum())


@given(st.integers(0, 100))
def test_shuffled_order_keeps_the_places_of_each_event(seed):
    data = reactivated()
    drawn = shuffled_order(data, np.random.default_rng(seed))
    assert np.array_equal(drawn["event"], data["event"])
    for event in range(5):
        own = data["event"] == event
        assert sorted(drawn["place"][own]) == sorted(data["place"][own])


def test_shuffled_order_gives_every_order_equally_often():
    data = {"event": np.zeros(3, int), "place": np.arange(3)}
    rng = np.random.default_rng(0)
    orders = [tuple(shuffled_order(data, rng)["place"].tolist()) for _ in range(6000)]
    counts = pd.Series(orders).value_counts()
    assert len(counts) == 6
    assert counts.between(850, 1150).all()


def test_shuffled_order_takes_events_one_after_the_other_whatever_their_number():
    data = {"event": np.array([7, 7, 3, 3, 7]), "place": np.arange(5)}
    drawn = shuffled_order(data, np.random.default_rng(1))
    assert sorted(drawn["place"][:2]) == [0, 1]
    assert sorted(drawn["place"][2:4]) == [2, 3]
    assert drawn["place"][4] == 4


@given(st.integers(0, 100))
def test_random_edges_are_edges(seed):
    data = reactivated()
    drawn = random_edges(data, np.random.default_rng(seed), edges=EDGES)
    assert np.array_equal(drawn["event"], data["event"])
    for event in range(5):
        place = drawn["place"][data["event"] == event]
        assert all(GRID.has_edge(*pair) for pair in zip(place[::2], place[1::2], strict=False))


def test_random_edges_are_equally_likely():
    data = {name: np.zeros(2 * 9800, dtype=int) for name in ("event", "place")}
    drawn = random_edges(data, np.random.default_rng(0), edges=EDGES)
    counts = pd.Series(map(tuple, drawn["place"].reshape(-1, 2).tolist())).value_counts()
    assert len(counts) == len(EDGES) == 98
    assert counts.between(60, 140).all()


@given(st.lists(st.integers(2, 7), min_size=1, max_size=6), st.integers(2, 4), st.integers(0, 50))
def test_random_walks_begin_and_end_like_the_chains(lengths, min_length, seed):
    lengths = [max(length, min_length) for length in lengths]
    sequences = padded(Lists.of([[3] * length for length in lengths]))
    walks = random_walks(sequences, np.random.default_rng(seed), edges=EDGES, min_length=min_length)
    assert ((walks >= 0) == (sequences >= 0)).all()
    assert (walks[:, 0] == 3).all()
    assert (distinct(walks) >= min_length).all()
    steps = (walks[:, :-1] >= 0) & (walks[:, 1:] >= 0)
    moves = zip(walks[:, :-1][steps], walks[:, 1:][steps], strict=True)
    assert all(GRID.has_edge(*move) for move in moves)


def test_walks_that_the_graph_does_not_have():
    edges = np.array([[0, 1], [1, 0], [1, 2]])
    sequences = padded(Lists.of([[0, 1, 2], [2, 1, 0], [0, 1]]))
    walks = random_walks(sequences, np.random.default_rng(0), edges=edges, min_length=3)
    assert walks.tolist() == [[0, 1, 2], [-1] * 3, [-1] * 3]
    at_zero = padded(Lists.of([[1, 0, 1], [1, 0]]))  # its place 0 is one of the walk
    walks = random_walks(at_zero, np.random.default_rng(0), edges=np.array([[0, 1], [1, 0]]))
    assert walks.tolist() == [[1, 0, 1], [1, 0, -1]]


def test_walks_are_as_likely_as_their_steps():
    edges = np.array([[0, 1], [0, 2], [1, 3], [2, 3], [2, 4], [3, 0], [4, 0]])
    sequences = padded(Lists.of([[0, 1, 3]] * 8000))
    walks = random_walks(sequences, np.random.default_rng(0), edges=edges)
    share = pd.Series(map(tuple, walks.tolist())).value_counts(normalize=True)
    assert share[0, 1, 3] == pytest.approx(0.5, abs=0.03)
    assert share[0, 2, 3] == pytest.approx(0.25, abs=0.03)
    assert share[0, 2, 4] == pytest.approx(0.25, abs=0.03)


def test_random_pairs_keep_both_sides():
    pairs = {"forward": np.arange(20), "forward_first": np.arange(20) % 2 == 0,
             "reverse": np.arange(20) + 100, "reverse_length": np.arange(20)}  # fmt: skip
    drawn = random_pairs(pairs, np.random.default_rng(0))
    assert np.array_equal(drawn["forward"], pairs["forward"])
    assert np.array_equal(drawn["forward_first"], pairs["forward_first"])
    assert sorted(drawn["reverse"]) == pairs["reverse"].tolist()
    assert not np.array_equal(drawn["reverse"], pairs["reverse"])
    assert np.array_equal(drawn["reverse_length"], drawn["reverse"] - 100)


# Tests


@pytest.mark.parametrize("draw", [shuffled_order, partial(random_edges, edges=EDGES)])
def test_sweeps_are_no_chance(draw):
    found = null_test(joined, reactivated(20), draw, n_draws=199)
    assert found.observed == 1
    assert found.expected < 0.7  # of edges at random every second move is one
    assert found.p == 1 / 200


def test_p_counts_draws_at_least_as_extreme():
    draws = iter([1.0, 2.0, 3.0, 4.0])
    found = null_test(float, 3.0, lambda data, rng: next(draws), n_draws=4)
    assert found == (3.0, 2.5, 3 / 5)
    draws = iter([1.0, 2.0, 3.0, 4.0])
    found = null_test(float, 3.0, lambda data, rng: next(draws), n_draws=4, alternative="less")
    assert found.p == 4 / 5
    draws = iter([1.0, 1.0, 1.0, 1.0])
    found = null_test(float, 3.0, lambda data, rng: next(draws), n_draws=4, alternative="two-sided")
    assert found.p == 2 / 5


def test_same_seed_same_p():
    first, second = (
        null_test(joined, reactivated(), shuffled_order, n_draws=50, seed=4) for _ in "ab"
    )
    assert first == second


def test_sequences_per_pause_and_by_chance():
    """Of two animals one sweeps back over paths, the other replays the same in any order."""
    sweeps = pd.DataFrame(reactivated(40)).assign(animal=0, phase="start")
    rng = np.random.default_rng(0)
    mixed = shuffled_order(reactivated(40), rng)
    mixed = pd.DataFrame(mixed).assign(animal=1, phase="episode_end")
    resting = sweeps.assign(event=sweeps["event"] + 100, phase="rest")
    graph = nx.relabel_nodes(GRID, {node: f"n{node}" for node in GRID})
    length = sweeps.groupby("event").size()
    long = length[length >= 4].index
    found = [
        sequence(*sweeps.loc[sweeps["event"] == event, "place"], event=event, phase="start")
        for event in long
    ]
    tables = replays(make_task(graph), found, [{"animal": 0}, {"animal": 1}])
    tables = replace(tables, reactivations=pd.concat([sweeps, resting, mixed], ignore_index=True))
    tables = tables.detected(Detection(min_length=4))
    for name in ("beyond_shuffled_places", "beyond_random_edges"):
        one, two = STATISTICS[name].compute(tables).itertuples()
        assert (one.value, one.n) == (len(long) / 40, len(long))
        assert one.null < one.value / 3
        assert two.null < one.value / 3
        assert (two.value, two.n) == (0, 0)


# The test of Mattar & Daw


@pytest.mark.parametrize("maze", ["linear", "open"])
def test_all_segments_of_mattar_and_daw_are_significant(maze):
    """So their own rule says of their own simulations, and so does ours."""
    theirs = pd.read_csv(REFERENCE / f"memory_access_{maze}_events.csv.gz")
    found = pd.DataFrame(
        {
            column: [tuple(map(int, text.split())) for text in theirs[column]]
            for column in ("states", "actions")
        }
    )
    steps = pd.read_csv(REFERENCE / f"memory_access_{maze}_steps.csv.gz")
    moves = steps.rename(columns={"s": "state", "a": "action", "s_next": "next_state"})
    tested = permutation_test(found, moves)
    assert theirs["significant"].all()
    assert (tested["p"] < 0.05).all()
    assert tested["score"].tolist() == theirs["direction"].map({"F": 1.0, "R": -1.0}).tolist()


def test_its_score_and_p_by_hand():
    """Of all 120 orders of five states, only one goes forward all along."""
    moves = pd.DataFrame({"state": range(6), "action": 0, "next_state": range(1, 7)})
    segments = pd.DataFrame(
        {"states": [(0, 1, 2, 3, 4), (4, 3, 2, 1, 0)], "actions": [(0,) * 5] * 2}
    )
    tested = permutation_test(segments, moves, n_shuffles=6000)
    assert tested["score"].tolist() == [1.0, -1.0]
    assert tested["p"].to_numpy() == pytest.approx(2 / 120, abs=0.006)


def test_it_finds_direction_in_walks_at_random():
    """A model that wanders about without aim replays nothing, yet all its segments pass."""
    rng = np.random.default_rng(0)
    walks = random_walks(padded(Lists.of([[12] * 8] * 200)), rng, edges=EDGES, min_length=6)
    action = {tuple(edge): i for i, edge in enumerate(EDGES.tolist())}
    rows = [
        {"run": 0, "episode": 0, "step": 0, "phase": "rest", "event": event, "pop": pop,
         "state": a, "next_state": b, "action": action[a, b], "priority": 0.0}
        for event, path in enumerate(walks.tolist())
        for pop, (a, b) in enumerate(pairwise(path))
    ]  # fmt: skip
    table = pd.DataFrame(rows)
    segments = find_segments(table)
    assert len(segments) > 50
    assert (permutation_test(segments, table, n_shuffles=200)["p"] < 0.05).mean() > 0.9
