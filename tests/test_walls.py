"""Moves through walls by hand: walls in an arena of three by three wells."""

from dataclasses import replace
from itertools import pairwise
from types import SimpleNamespace

import networkx as nx
import numpy as np
import pytest
from replay_tables import ARENA, CORNER, arena, compute, replays, walk

from analyses.measures import STATISTICS
from analyses.measures.novelty import other_layouts, symmetric_layouts


def test_moves_through_walls():
    """Of four moves one goes through a wall; 22 moves of turned walls lie on other slots."""
    sequences = [walk("w10", "w00", "w01", "w11", "w12"), walk("w20", "w21", "w22", "w12", "w11")]
    tables = replays(ARENA, sequences)
    value, null, n = compute("wall_crossing_share", tables)
    assert (value, n) == (2 / 8, 2)
    slots = sorted(tuple(sorted(edge)) for edge in ARENA.graph.edges)
    layout = np.array([slot in CORNER for slot in slots])
    position = nx.get_node_attributes(ARENA.graph, "pos")
    turned = symmetric_layouts(slots, layout, position)
    assert turned.sum(axis=1).tolist() == [3] * 7
    moves = [tuple(sorted((ARENA.node[a], ARENA.node[b])))
             for one in sequences for a, b in pairwise(one["states"])]  # fmt: skip
    crossed = [sum(list(move) == slot for move in moves for slot in np.array(slots)[other].tolist())
               for other in turned]  # fmt: skip
    assert null == pytest.approx(np.mean(crossed) / 8)


def test_a_well_need_not_be_a_place():
    sequences = [walk("w10", "w00", "w01", "w11", "w12")]
    fewer = SimpleNamespace(**{**vars(ARENA), "node": ARENA.node[:-1]})
    value, _, n = compute("wall_crossing_share", replays(fewer, sequences))
    assert (value, n) == (2 / 4, 1)


def test_symmetric_walls_have_fewer_images():
    slots = sorted(tuple(sorted(edge)) for edge in ARENA.graph.edges)
    position = nx.get_node_attributes(ARENA.graph, "pos")
    ring = {("w01", "w11"), ("w10", "w11"), ("w11", "w12"), ("w11", "w21")}
    layout = np.array([slot in ring for slot in slots])
    assert len(symmetric_layouts(slots, layout, position)) == 0
    row = {("w00", "w01"), ("w01", "w02")}
    layout = np.array([slot in row for slot in slots])
    assert len(symmetric_layouts(slots, layout, position)) == 3


def test_percentile_over_all_other_layouts():
    assert len(other_layouts(np.arange(12) < 6)) == 923
    around = walk("w10", "w11", "w12", "w22", "w21", "w11")
    value, null, n = compute("layouts_crossed_more", replays(ARENA, [around]))
    slots = sorted(tuple(sorted(edge)) for edge in ARENA.graph.edges)
    layouts = other_layouts(np.array([slot in CORNER for slot in slots]))
    moves = {tuple(sorted((ARENA.node[a], ARENA.node[b]))) for a, b in pairwise(around["states"])}
    crossed = np.array([sum(tuple(slot) in moves for slot in np.array(slots)[layout].tolist())
                        for layout in layouts])  # fmt: skip
    assert (value, null, n) == (
        pytest.approx((crossed > 0).mean() + (crossed == 0).mean() / 2),
        0.5,
        1,
    )
    into = walk("w10", "w00", "w01", "w02", "w12")
    assert compute("layouts_crossed_more", replays(ARENA, [into]))[0] < 0.02


def test_sessions_that_fit_their_walls():
    """Replay through all openings fits better than all other layouts, unlike replay into walls."""
    slots = [tuple(sorted(edge)) for edge in ARENA.graph.edges]
    within = [walk(*slot) for slot in slots if slot not in CORNER]
    into = [{**walk(*slot), "animal": 1} for slot in CORNER]
    tables = replays(ARENA, [*within, *into], laps=({"animal": 0}, {"animal": 1}))
    found = STATISTICS["sessions_within_walls"].compute(tables)
    assert found["value"].tolist() == [1.0, 0.0]
    assert found[["null", "n"]].to_numpy().tolist() == [[pytest.approx(0.05), 1]] * 2


def test_only_the_first_laps_after_walls_moved():
    laps = [{"episode": i, "block": "first" if i < 3 else "run"} for i in range(12)]
    through = walk("w10", "w00", "w01", "w11", "w12")
    past = walk("w20", "w21", "w22", "w12", "w11")
    sequences = [{**through, "episode": 3, "phase": "start"}, {**past, "episode": 3},
              {**past, "episode": 7}, {**through, "episode": 8, "phase": "start"}]  # fmt: skip
    tables = replays(ARENA, sequences, laps=laps)
    assert compute("wall_crossing_share_first_laps", tables)[::2] == (2 / 12, 3)
    assert compute("wall_crossing_share", tables)[::2] == (4 / 16, 4)
    only = replace(tables, laps=tables.laps[tables.laps["block"] == "run"])
    assert np.isnan(compute("wall_crossing_share_first_laps", only)[0])


def test_no_walls_no_value():
    assert np.isnan(
        compute(
            "wall_crossing_share", replays(arena([]), [walk("w00", "w01", "w02", "w12", "w11")])
        )[0]
    )
