"""Utility by hand: need and gain in a tree with shared ends."""

from dataclasses import replace

import networkx as nx
import numpy as np
import pytest
from replay_tables import compute, make_task, replays, sequence


def tree():
    graph = nx.DiGraph()
    for start in "abc":
        for end in "XY":
            nx.add_path(graph, [start, *(f"{start}{end}{i}" for i in range(3)), end])
    return make_task(graph, {"starts": tuple("abc"), "ends": tuple("XY")})


N = {node: i for i, node in enumerate(tree().node)}


def back(start, end, **columns):
    nodes = [end, *(f"{start}{end}{i}" for i in (2, 1, 0)), start]
    return sequence(*(N[node] for node in nodes), direction="reverse", **columns)


def runs(*laps):
    return [
        {"episode": i, "start": N[start], "end": N[end], "reward": reward}
        for i, (start, end, reward) in enumerate(laps)
    ]


def test_other_paths_to_the_same_end():
    sequences = [back("a", "X"), back("b", "X"), back("c", "X"), back("c", "Y")]
    tables = replays(tree(), sequences, laps=runs(("a", "X", 1.0)))
    assert compute("other_paths_to_end_share", tables) == (
        pytest.approx(2 / 3),
        pytest.approx(2 / 3),
        3,
    )


def test_need_is_how_often_a_start_comes():
    laps = runs(("b", "Y", 0.0), ("b", "Y", 0.0), ("c", "Y", 0.0), ("a", "X", 1.0))
    sequences = [back(start, "X", episode=3) for start in "aaabbc"]
    tables = replays(tree(), sequences, laps=laps)
    assert compute("higher_need_share", tables) == (pytest.approx(2 / 3), 0.5, 3)
    # What b and c know is the same: the gain is too, and need alone makes the difference.
    assert np.isnan(compute("higher_gain_share", tables)[0])
    assert compute("higher_utility_share", tables) == (pytest.approx(2 / 3), 0.5, 3)


def test_gain_is_what_changes_the_choice():
    """Start b values X at nothing and Y highly; c already values X highly."""
    laps = runs(("b", "Y", 0.5), ("c", "X", 1.0), ("a", "X", 1.0))
    sequences = [back(start, "X", episode=2) for start in "bbbc"]
    tables = replays(tree(), sequences, laps=laps)
    assert np.isnan(compute("higher_need_share", tables)[0])
    assert compute("higher_gain_share", tables) == (0.75, 0.5, 4)
    assert compute("higher_utility_share", tables) == (0.75, 0.5, 4)
    backwards = replace(tables, laps=tables.laps[::-1])
    assert compute("higher_utility_share", backwards) == (0.75, 0.5, 4)


def test_what_is_needed_but_known_has_no_utility():
    """Start b comes often and already values X highly: nothing is gained there."""
    laps = runs(*[("b", "X", 1.0)] * 6, ("c", "Y", 0.1), ("a", "X", 1.0))
    sequences = [back(start, "X", episode=7) for start in "bcc"]
    tables = replays(tree(), sequences, laps=laps)
    assert compute("higher_need_share", tables)[0] == pytest.approx(1 / 3)
    assert compute("higher_utility_share", tables) == (pytest.approx(2 / 3), 0.5, 3)
