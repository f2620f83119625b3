"""Pieces of experience that make up a replayed path."""

import pandas as pd
from figure_of_eight import run_eight

from analyses import place_sequences
from analyses.sequences.experience import Experience, experienced_pieces
from replay.log.event_log import EventLog


def test_pieces_are_those_that_a_place_sequence_counts():
    log, way = run_eight()
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
