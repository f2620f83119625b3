"""Statistics S7, S8 and S9 by hand: walls, goals, ways taken, and how far chains get."""

from itertools import pairwise

import networkx as nx
import numpy as np
import pytest
from replay_tables import OUT_LEFT, OUT_RIGHT, W, block, chain, compute, make_task, replays, w_track

from analyses.measures.walls import other_layouts, symmetric_layouts

# S2 and S8: the way just taken, and the next one


@pytest.mark.parametrize("sign", [1, -1])
def test_side_just_run_and_run_next(sign):
    """From a side well: outward chains to its own arm and the other; the same inward."""
    own, other = (OUT_LEFT, OUT_RIGHT)[::sign]
    place = own[-1]
    past = [own[::-1]] * 3 + [other[::-1]] + [own[:4][::-1]]
    future = [own[::-1]] * 2 + [other[::-1]]
    chains = [chain(*path, direction="reverse", place=place) for path in past]
    chains += [chain(*path, direction="forward", place=place) for path in future]
    laps = [
        {"start": W["C0"], "end": place},
        {"episode": 1, "start": place, "end": W["C0"]},
    ]
    tables = replays(w_track(), chains, laps=laps)
    assert compute("S2_taken_side", tables, min_length=4) == (pytest.approx(2 / 5), 0, 5)
    assert compute("S8_taken_side", tables) == (pytest.approx(1 / 3), 0, 3)
    assert np.isnan(compute("S2_taken_centre", tables)[0])


def test_sides_at_the_centre_well():
    """The last lap came from the right, the next one goes left."""
    laps = [
        {"start": W["R0"], "end": W["C0"]},
        {"episode": 1, "start": W["C0"], "end": W["L0"]},
    ]
    next_one = {"place": W["C0"], "phase": "start", "episode": 1}
    chains = [chain(*OUT_LEFT, **next_one)] * 3 + [chain(*OUT_RIGHT, **next_one)]
    # A reverse chain out of the centre is a path in, read as it was run.
    chains += [chain(*OUT_RIGHT, direction="reverse", place=W["C0"])] * 2
    chains += [chain(*OUT_LEFT, direction="reverse", **next_one)]
    tables = replays(w_track(), chains, laps=laps)
    assert compute("S8_taken_centre", tables) == (0.5, 0, 4)
    assert compute("S2_taken_centre", tables) == (pytest.approx(1 / 3), 0, 3)


# S7: walls in an arena of three by three wells


def arena(closed, name="run"):
    graph = nx.Graph()
    for row in range(3):
        for column in range(3):
            graph.add_node(f"w{row}{column}", pos=(10.0 * column, 10.0 * row))
    nodes = dict(nx.get_node_attributes(graph, "pos").items())
    for a in nodes:
        for b in nodes:
            if a < b and np.hypot(*np.subtract(nodes[a], nodes[b])) == 10:
                graph.add_edge(a, b)
    moves = [move for wall in closed for move in (wall, wall[::-1])]
    blocks = [block("first"), block(name, closed=tuple(moves))]
    return make_task(graph, {"wells": tuple(graph)}, blocks)


CORNER = [("w00", "w01"), ("w00", "w10"), ("w01", "w02")]
TASK = arena(CORNER)
AT = {node: i for i, node in enumerate(TASK.node)}


def walk(*nodes, **columns):
    for a, b in pairwise(nodes):
        assert TASK.graph.has_edge(a, b)
    return chain(*(AT[node] for node in nodes), **columns)


def test_moves_through_walls():
    """Of four moves one goes through a wall; 22 moves of turned walls lie on other slots."""
    chains = [walk("w10", "w00", "w01", "w11", "w12"), walk("w20", "w21", "w22", "w12", "w11")]
    tables = replays(TASK, chains)
    value, null, n = compute("S7", tables)
    assert (value, n) == (2 / 8, 2)
    slots = sorted(tuple(sorted(edge)) for edge in TASK.graph.edges)
    layout = np.array([slot in CORNER for slot in slots])
    position = nx.get_node_attributes(TASK.graph, "pos")
    turned = symmetric_layouts(slots, layout, position)
    assert turned.sum(axis=1).tolist() == [3] * 7
    moves = [tuple(sorted((TASK.node[a], TASK.node[b])))
             for one in chains for a, b in pairwise(one["states"])]  # fmt: skip
    crossed = [sum(list(move) == slot for move in moves for slot in np.array(slots)[other].tolist())
               for other in turned]  # fmt: skip
    assert null == pytest.approx(np.mean(crossed) / 8)


def test_symmetric_walls_have_fewer_images():
    slots = sorted(tuple(sorted(edge)) for edge in TASK.graph.edges)
    position = nx.get_node_attributes(TASK.graph, "pos")
    ring = {("w01", "w11"), ("w10", "w11"), ("w11", "w12"), ("w11", "w21")}
    layout = np.array([slot in ring for slot in slots])
    assert len(symmetric_layouts(slots, layout, position)) == 0
    row = {("w00", "w01"), ("w01", "w02")}
    layout = np.array([slot in row for slot in slots])
    assert len(symmetric_layouts(slots, layout, position)) == 3


def test_percentile_over_all_other_layouts():
    assert len(other_layouts(np.arange(12) < 6)) == 923
    around = walk("w10", "w11", "w12", "w22", "w21", "w11")
    value, null, n = compute("S7_percentile", replays(TASK, [around]))
    slots = sorted(tuple(sorted(edge)) for edge in TASK.graph.edges)
    layouts = other_layouts(np.array([slot in CORNER for slot in slots]))
    moves = {tuple(sorted((TASK.node[a], TASK.node[b]))) for a, b in pairwise(around["states"])}
    crossed = np.array([sum(tuple(slot) in moves for slot in np.array(slots)[layout].tolist())
                        for layout in layouts])  # fmt: skip
    assert (value, null, n) == (
        pytest.approx((crossed > 0).mean() + (crossed == 0).mean() / 2),
        0.5,
        1,
    )
    into = walk("w10", "w00", "w01", "w02", "w12")
    assert compute("S7_percentile", replays(TASK, [into]))[0] < 0.02


def test_only_the_first_laps_after_walls_moved():
    laps = [{"episode": i, "block": "first" if i < 3 else "run"} for i in range(12)]
    through = walk("w10", "w00", "w01", "w11", "w12")
    past = walk("w20", "w21", "w22", "w12", "w11")
    chains = [{**through, "episode": 3, "phase": "start"}, {**past, "episode": 3},
              {**past, "episode": 7}, {**through, "episode": 8, "phase": "start"}]  # fmt: skip
    tables = replays(TASK, chains, laps=laps)
    assert compute("S7_first_laps", tables)[::2] == (2 / 12, 3)
    assert compute("S7", tables)[::2] == (4 / 16, 4)
    only = tables._replace(laps=tables.laps[tables.laps["block"] == "run"])
    assert np.isnan(compute("S7_first_laps", only)[0])


def test_no_walls_no_value():
    assert np.isnan(compute("S7", replays(arena([]), [walk("w00", "w01", "w02", "w12", "w11")]))[0])


# S8: through the goal


def test_through_the_goal_and_other_wells():
    at = AT["w00"]
    chains = [
        walk("w00", "w10", "w20", "w21", "w22", place=at),
        walk("w10", "w11", "w12", "w02", "w01", place=at),
        walk("w22", "w21", "w20", "w10", "w00", place=AT["w22"]),
        walk("w00", "w10", "w20", "w21", "w22", place=at, block="first"),
    ]
    laps = [{"lap": "home", "goal": AT["w22"]}, {"lap": "random", "goal": AT["w01"]}]
    value, null, n = compute("S8", replays(TASK, chains, laps=laps))
    # Seven other wells: all but the goal w22 and w00, where the animal is.
    assert (value, null, n) == (0.5, pytest.approx((3 / 7 + 5 / 7) / 2), 2)


def test_through_the_goal_against_random_walks():
    graph = nx.path_graph([f"n{i}" for i in range(9)])
    task = make_task(graph, {"goal": ("n8",)})
    chains = [chain(4, 5, 6, 7, 8, place=4)] * 60 + [chain(4, 3, 2, 1, 0, place=4)] * 20
    value, null, _ = compute("S8", replays(task, chains))
    assert value == 0.75
    assert null == pytest.approx(0.5, abs=0.2)


def test_first_move_as_replayed():
    """The animal goes from w10 to w20 at first, and home to w22 in two of three laps."""
    home = {"lap": "home", "goal": AT["w22"], "start": AT["w10"], "end": AT["w22"]}
    laps = [home, {**home, "episode": 1}]
    laps += [{"episode": 2, "start": AT["w10"], "end": AT["w20"], "goal": AT["w20"]}]
    start = {"place": AT["w10"], "phase": "start"}
    reaches = walk("w10", "w20", "w21", "w22", "w12", **start)
    fails = walk("w10", "w20", "w21", "w11", "w12", **start)
    through_wall = walk("w10", "w00", "w01", "w11", "w12", "w22", **start)
    elsewhere = walk("w11", "w12", "w02", "w12", "w22", "w21", **start)
    chains = [reaches, reaches, fails, through_wall, elsewhere, {**reaches, "episode": 2}]
    tables = replays(TASK, chains, laps=laps)
    assert np.isnan(compute("S8_followed", tables)[0])  # laps don't tell their second state
    told = tables._replace(laps=tables.laps.assign(second=AT["w20"]))
    assert compute("S8_followed", told) == (1 - 1 / 2, 0, 4)


# S9: how far chains get


def test_straight_chains_have_exponent_one():
    graph = nx.path_graph([f"n{i}" for i in range(30)])
    chains = [chain(*range(10, 18))] * 5 + [chain(*range(20, 12, -1), phase="rest")] * 5
    tables = replays(make_task(graph), chains)
    for name in ("S9", "S9_rest"):
        value, null, n = compute(name, tables)
        assert (value, n) == (pytest.approx(1), 5)
        assert 0.1 < null < 0.8


def test_random_walks_have_the_exponent_of_their_null():
    graph = nx.grid_2d_graph(15, 15)
    for node in graph:
        graph.nodes[node]["pos"] = (10.0 * node[0], 10.0 * node[1])
    graph = nx.relabel_nodes(graph, {node: f"{node[0]},{node[1]}" for node in graph})
    task = make_task(graph)
    number = {node: i for i, node in enumerate(task.node)}
    neighbours = [[number[other] for other in graph[node]] for node in task.node]
    rng = np.random.default_rng(1)
    chains = []
    while len(chains) < 600:
        path = [number["7,7"]]
        while len(path) < 8:
            path.append(int(rng.choice(neighbours[path[-1]])))
        if len(set(path)) >= 3:
            chains.append(chain(*path))
    value, null, _ = compute("S9", replays(task, chains), min_length=3)
    assert value == pytest.approx(null, abs=0.05)
