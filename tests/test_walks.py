"""Displacement by hand: how far sequences get."""

import networkx as nx
import numpy as np
import pytest
from replay_tables import compute, make_task, replays, sequence


def test_straight_chains_have_exponent_one():
    graph = nx.path_graph([f"n{i}" for i in range(30)])
    sequences = [sequence(*range(10, 18))] * 5 + [sequence(*range(20, 12, -1), phase="rest")] * 5
    tables = replays(make_task(graph), sequences)
    for name in ("displacement_exponent", "displacement_exponent_at_rest"):
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
    sequences = []
    while len(sequences) < 600:
        path = [number["7,7"]]
        while len(path) < 8:
            path.append(int(rng.choice(neighbours[path[-1]])))
        if len(set(path)) >= 3:
            sequences.append(sequence(*path))
    value, null, _ = compute("displacement_exponent", replays(task, sequences), min_length=3)
    assert value == pytest.approx(null, abs=0.05)
