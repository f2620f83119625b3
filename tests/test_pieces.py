"""Pieces of experience that make up a replayed path."""

from itertools import chain, pairwise

import networkx as nx
import pandas as pd
import pytest

from analyses import place_sequences
from analyses.recordings.decide.pieces import experienced_pieces
from analyses.sequences.experience import Experience
from analyses.sequences.track import graph_of_log
from replay import MDP
from replay.log.event_log import EventLog
from replay.worlds.tracks import (
    make_track_graph,
)

EIGHT = make_track_graph(
    [(60, 5), (60, 95), (10, 95), (10, 5), (110, 95), (110, 5)],
    [(0, 1), (1, 2), (2, 3), (3, 0), (1, 4), (4, 5), (5, 0)],
)


@pytest.fixture
def ran():
    """Run the left loop, then the right one, of the figure of eight."""
    world = MDP.from_networkx(EIGHT, bin_size=15.0)
    joined = graph_of_log(EventLog({}, mdp=world))

    def way(*corners):
        parts = [nx.shortest_path(joined, a, b)[1:] for a, b in pairwise(corners)]
        return [corners[0], *chain(*parts)]

    laps = [way(0, 1, 2, 3, 0), way(0, 1, 4, 5, 0)]
    steps = {
        "state": [state for lap in laps for state in lap[:-1]],
        "next_state": [state for lap in laps for state in lap[1:]],
        "terminated": [k == len(lap) - 2 for lap in laps for k in range(len(lap) - 1)],
    }
    return EventLog({"steps": steps}, mdp=world), way


def test_pieces_are_those_that_a_place_sequence_counts(ran):
    log, way = ran
    experience = Experience(log.columns("steps"))
    paths = [way(0, 1, 2), way(2, 1, 0), way(2, 1, 4), way(3, 0, 1, 2, 1), way(4, 1, 2, 1, 4)]
    last = len(log.steps) - 1
    found = place_sequences(log, pd.DataFrame({"step": last, "states": paths}))
    for path, order in zip(paths, found["composition_order"], strict=True):
        pieces = experienced_pieces(path, experience)
        assert len(pieces) == order
        assert [piece.begin for piece in pieces[1:]] == [piece.end for piece in pieces[:-1]]
    across = experienced_pieces(way(2, 1, 4), experience)
    assert [(piece.episode, piece.backward) for piece in across] == [(0, True), (1, False)]
    assert experienced_pieces([0, 2], experience) == []


def test_a_heading_rules_out_one_reading():
    steps = {"state": [0, 1, 2, 1], "next_state": [1, 2, 1, 0], "terminated": [False, True] * 2}
    ran = Experience(EventLog({"steps": steps}).columns("steps"))
    for moves, backward in ((["forward"] * 2, False), (["backward"] * 2, True)):
        (piece,) = experienced_pieces([0, 1, 2], ran, moves=moves)
        assert piece.backward == backward
