"""Novelty by hand, and for learners that cannot compose paths."""

from dataclasses import replace
from itertools import pairwise
from types import SimpleNamespace

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from replay_tables import (
    ARENA,
    CORNER,
    LEFT,
    RIGHT,
    E,
    arena,
    compute,
    eight,
    make_task,
    null_test,
    random_pairs,
    replays,
    sequence,
    shortcut_share,
    walk,
    with_sequences,
)

from analyses.measures import STATISTICS
from analyses.measures.novelty import opposite_pairs, other_layouts, symmetric_layouts
from analyses.sequences.classification import classify
from analyses.sequences.place_sequences import Detection
from replay import simulate
from replay.worlds.mazes import open_maze


def test_composed_and_shortcut_are_kept_apart():
    over_top = [LEFT[1], LEFT[0], E["m2"], RIGHT[0], RIGHT[1]]
    sequences = [
        sequence(*over_top, novelty="composed_mixed", direction="mixed", shortcut=True),
        sequence(*over_top[::-1], novelty="unexperienced", direction="neither", shortcut=True),
        sequence(*over_top, novelty="experienced"),
        sequence(*LEFT[:5], novelty="composed"),
        *[sequence(*LEFT[:5])] * 6,
    ]
    tables = replays(eight(), sequences)
    assert compute("shortcut_share", tables) == (0.2, 0, 10)
    assert compute("composed_share", tables) == (0.2, 0, 10)
    assert compute("composed_mixed_share", tables) == (0.1, 0, 10)
    unknown = replace(tables, sequences=tables.sequences.assign(shortcut=pd.NA))
    assert np.isnan(compute("shortcut_share", unknown)[0])


TOP_LEFT, TOP_RIGHT = LEFT[:5], RIGHT[:5]


BOTTOM_LEFT, BOTTOM_RIGHT = LEFT[5:], RIGHT[5:]


TO_TOP = {side: sequence(*path[::-1], direction="reverse")
          for side, path in (("left", TOP_LEFT), ("right", TOP_RIGHT))}  # fmt: skip


FROM_TOP = {"left": sequence(*TOP_LEFT), "right": sequence(*TOP_RIGHT)}


TO_BOTTOM = {"left": sequence(*BOTTOM_LEFT), "right": sequence(*BOTTOM_RIGHT)}


FROM_BOTTOM = {side: sequence(*path[::-1], direction="reverse")
               for side, path in (("left", BOTTOM_LEFT), ("right", BOTTOM_RIGHT))}  # fmt: skip


CORNERS = [ways[side] for ways in (TO_TOP, FROM_TOP, TO_BOTTOM, FROM_BOTTOM)
           for side in ("left", "right")]  # fmt: skip


def pair_tables(pairs, animal=0):
    sequences = [
        {**one, "event": event, "animal": animal}
        for event, pair in enumerate(pairs)
        for one in pair
    ]
    return replays(eight(), sequences)


def test_four_of_32_ordered_pairs_of_corners_are_shortcuts():
    """So Gupta et al. count pairs of a forward and a backward corner."""
    pairs = [(a, b) for a in CORNERS for b in CORNERS if a["direction"] != b["direction"]]
    assert len(pairs) == 32
    tables = pair_tables(pairs)
    assert compute("paired_shortcut_share", tables) == (4 / 32, 4 / 32, 32)
    assert shortcut_share(opposite_pairs(tables)) == 4 / 32
    made = [pair for pair in pairs if compute("paired_shortcut_share", pair_tables([pair]))[0] == 1]
    assert [(a["first"], b["last"]) for a, b in made] == [
        (LEFT[4], RIGHT[4]), (RIGHT[4], LEFT[4]), (LEFT[5], RIGHT[5]), (RIGHT[5], LEFT[5])
    ]  # fmt: skip


def test_pairs_beyond_chance():
    joined = [(TO_TOP["left"], FROM_TOP["right"]), (TO_BOTTOM["right"], FROM_BOTTOM["left"])]
    apart = [(TO_TOP["left"], FROM_TOP["left"])]
    tables = pair_tables(joined * 8 + apart * 2)
    value, null, n = compute("paired_shortcut_share", tables)
    assert (value, n) == (16 / 18, 18)
    test = null_test(shortcut_share, dict(opposite_pairs(tables)), random_pairs, n_draws=2000)
    assert test.observed == value
    assert test.expected == pytest.approx(null, abs=0.02)
    assert test.p < 0.01


def test_pairs_stay_within_pause_and_directions():
    two_events = pair_tables([(TO_TOP["left"],), (FROM_TOP["right"],)])
    assert opposite_pairs(two_events).empty
    assert opposite_pairs(pair_tables([(FROM_TOP["left"], TO_BOTTOM["left"])])).empty


def test_a_corner_backward_and_the_other_forward_are_a_pair_in_one_sequence():
    """Gupta's shortcut: a place sequence that turns its direction, not its way, in the middle."""
    over = [*TOP_LEFT[::-1], E["m2"], *TOP_RIGHT]
    one = sequence(*over, direction="mixed", moves=["backward"] * 4 + ["both"] + ["forward"] * 5)
    assert compute("paired_shortcut_share", replays(eight(), [one])) == (1, 1, 1)
    # Both halves run the same way: no pair. A whole loop, or a stem, is no corner.
    ahead = {**one, "direction": "forward", "moves": ["forward"] * 10}
    loop = sequence(*LEFT, direction="reverse", event=1)
    after = sequence(*TOP_RIGHT, event=1)
    stem = sequence(E["m0"], E["m1"], E["m2"], event=2)
    back = {**TO_TOP["left"], "event": 2}
    assert opposite_pairs(replays(eight(), [ahead, loop, after, stem, back])).empty


@pytest.fixture(scope="module", params=["episodic_control", "monte_carlo"])
def sweeper(request):
    """Replays of three runs in an open maze, where paths cross."""
    mdp, parts = open_maze(), []
    for animal in range(3):
        run = simulate(mdp, request.param, n_steps=3000, seed=animal)
        found = classify(run.log).assign(shortcut=pd.NA)
        parts.append(found.assign(animal=animal, block="run", place=found["location"]))
    task = make_task(nx.path_graph([f"n{i}" for i in range(mdp.n_states)]))
    pauses = [{"animal": animal} for animal in range(3)]
    return with_sequences(replays(task, [], pauses, pauses), pd.concat(parts, ignore_index=True))


@pytest.mark.parametrize("min_length", [3, 5])
def test_who_sweeps_back_over_an_episode_composes_nothing(sweeper, min_length):
    for name, value in (("reverse_share", 1), ("composed_share", 0)):
        found = STATISTICS[name].compute(sweeper.detected(Detection(min_length)))
        told = found["value"].dropna()  # an animal that went to and fro has no direction
        assert len(told) >= 2
        assert (told == value).all(), name


def test_who_sweeps_over_a_learned_model_composes():
    run = simulate(open_maze(), "prioritized_sweeping", n_steps=3000, seed=0)
    found = classify(run.log).assign(animal=0, block="run")
    tables = with_sequences(replays(make_task(nx.path_graph(["a", "b"])), []), found)
    assert compute("composed_share", tables, min_length=3)[0] > 0


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
