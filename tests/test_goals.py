"""Goals by hand: replay through the goal, and the first move."""

from dataclasses import replace

import networkx as nx
import numpy as np
import pytest
from replay_tables import ARENA, WELL, compute, make_task, replays, sequence, walk


def test_through_the_goal_and_other_wells():
    at = WELL["w00"]
    sequences = [
        walk("w00", "w10", "w20", "w21", "w22", place=at),
        walk("w10", "w11", "w12", "w02", "w01", place=at),
        walk("w22", "w21", "w20", "w10", "w00", place=WELL["w22"]),
        walk("w00", "w10", "w20", "w21", "w22", place=at, block="first"),
    ]
    laps = [{"lap": "home", "goal": WELL["w22"]}, {"lap": "random", "goal": WELL["w01"]}]
    value, null, n = compute("through_goal_share", replays(ARENA, sequences, laps=laps))
    # Seven other wells: all but the goal w22 and w00, where the animal is.
    assert (value, null, n) == (0.5, pytest.approx((3 / 7 + 5 / 7) / 2), 2)


def test_from_well_to_well_there_is_no_other():
    """Of two wells, the goal and the one where the animal is."""
    task = make_task(nx.path_graph([f"n{i}" for i in range(9)]), {"wells": ("n0", "n8")})
    tables = replays(task, [sequence(*range(9), place=0)], laps=[{"lap": "home", "goal": 8}])
    value, null, n = compute("through_goal_share", tables)
    assert (value, n) == (1.0, 1)
    assert np.isnan(null)


def test_through_the_goal_against_random_walks():
    graph = nx.path_graph([f"n{i}" for i in range(9)])
    task = make_task(graph, {"goal": ("n8",)})
    sequences = [sequence(4, 5, 6, 7, 8, place=4)] * 60 + [sequence(4, 3, 2, 1, 0, place=4)] * 20
    value, null, _ = compute("through_goal_share", replays(task, sequences))
    assert value == 0.75
    assert null == pytest.approx(0.5, abs=0.2)


def test_first_move_as_replayed():
    """The animal goes from w10 to w20 at first, and home to w22 in two of three laps."""
    home = {"lap": "home", "goal": WELL["w22"], "start": WELL["w10"], "end": WELL["w22"]}
    laps = [home, {**home, "episode": 1}]
    laps += [{"episode": 2, "start": WELL["w10"], "end": WELL["w20"], "goal": WELL["w20"]}]
    start = {"place": WELL["w10"], "phase": "start"}
    reaches = walk("w10", "w20", "w21", "w22", "w12", **start)
    fails = walk("w10", "w20", "w21", "w11", "w12", **start)
    through_wall = walk("w10", "w00", "w01", "w11", "w12", "w22", **start)
    elsewhere = walk("w11", "w12", "w02", "w12", "w22", "w21", **start)
    sequences = [reaches, reaches, fails, through_wall, elsewhere, {**reaches, "episode": 2}]
    tables = replays(ARENA, sequences, laps=laps)
    assert np.isnan(compute("followed_if_to_goal", tables)[0])  # laps don't tell their second state
    told = replace(tables, laps=tables.laps.assign(second=WELL["w20"]))
    assert compute("followed_if_to_goal", told) == (1 - 1 / 2, 0, 4)


def test_the_goal_may_be_the_first_place():
    task = make_task(nx.path_graph([f"n{i}" for i in range(5)]), {"goal": ("n0",)})
    start = {"place": 2, "phase": "start"}
    sequences = [sequence(2, 1, 0, **start), sequence(2, 3, 4, **start)]
    tables = replays(task, sequences, laps=[{"start": 2, "end": 0}])
    told = replace(tables, laps=tables.laps.assign(second=1))
    assert compute("followed_if_to_goal", told, min_length=3) == (1, 0, 2)
