"""Locality by hand: where sequences begin, and in which part of the maze they run."""

import networkx as nx
import numpy as np
import pytest
from replay_tables import (
    LEFT,
    RIGHT,
    E,
    compute,
    eight,
    laps_of,
    make_task,
    replays,
    sequence,
    track,
)

from analyses.measures.places import main_arm
from analyses.sequences.sequences import Lists


def test_local_start_and_its_chance():
    sequences = [
        sequence(*range(5), place=0),
        sequence(*range(1, 6), place=0),
        sequence(*range(2, 7), place=0),
    ]
    sequences += [sequence(*range(4, 9), place=5)]
    tables = replays(track(10), sequences)
    value, null, n = compute("begins_at_animal", tables)
    assert (value, n) == (3 / 4, 4)
    assert null == pytest.approx((3 * 2 + 3) / 4 / 10)
    value, null, _ = compute("begins_elsewhere", tables)
    assert (value, null) == (1 / 4, pytest.approx(1 - (3 * 2 + 3) / 4 / 10))
    assert compute("ends_at_animal", tables)[0] == 0
    assert compute("leads_away", tables)[:2] == (1, 0.5)


def test_sequences_towards_the_animal():
    sequences = [
        sequence(4, 3, 2, 1, 0, direction="reverse"),
        sequence(0, 1, 2, 3, 4, direction="both"),
    ]
    assert compute("leads_away", replays(track(), sequences)) == (0, 0.5, 1)


def test_remote_arms():
    graph = nx.Graph()
    arms = {f"arm{arm}": tuple(f"a{arm}_{i}" for i in range(3)) for arm in (1, 2, 3)}
    for nodes in arms.values():
        nx.add_path(graph, ["box", *nodes])
    task = make_task(graph, arms)
    at = {node: i for i, node in enumerate(task.node)}
    first, second = ([at[node] for node in ("box", *arms[name])] for name in ("arm1", "arm2"))
    sequences = [sequence(*first, place=at["a1_2"]), sequence(*second, place=at["a1_2"])]
    value, null, n = compute("in_another_arm", replays(task, sequences), min_length=3)
    assert (value, null, n) == (0.5, pytest.approx(2 / 3), 2)
    sequences = [sequence(*first, place=at["box"])]
    assert compute("in_another_arm", replays(task, sequences), min_length=3) == (1, 1, 1)


def test_the_main_arm_of_a_sequence_is_where_most_of_its_states_are():
    arm = np.array([-1, -1, 0, 0, 1, 1])
    walked = Lists.of([[0, 2, 4, 5], [2, 3, 4], [0, 1]])
    assert main_arm(arm, walked).tolist() == [1, 0, -1]
    assert main_arm(arm[:2], walked).tolist() == [-1, -1, -1]


def test_remote_segments():
    """The box is a segment too: what runs there is remote to an animal in an arm."""
    graph, arms = nx.Graph(), {"arm1": ("a0", "a1", "a2"), "arm2": ("b0", "b1", "b2")}
    box = ("c0", "c1", "c2", "c3")
    nx.add_path(graph, box)
    for nodes in arms.values():
        nx.add_path(graph, ["c0", *nodes])
    task = make_task(graph, arms)
    at = {node: i for i, node in enumerate(task.node)}
    own, other, in_box = ([at[name] for name in nodes] for nodes in (*arms.values(), box))
    sequences = [
        sequence(*own, place=at["a2"]),
        sequence(*other, place=at["a2"]),
        sequence(*in_box, place=at["a2"]),
        sequence(*in_box, place=at["c3"]),
    ]
    tables = replays(task, sequences)
    assert compute("in_another_arm_or_box", tables, 3) == (0.5, pytest.approx(2 / 3), 4)
    assert compute("in_another_arm", tables, 3)[::2] == (0.5, 2)
    assert np.isnan(compute("in_another_arm_or_box", replays(track(), [sequence(0, 1, 2)]), 3)[0])


def test_side_of_the_animal_and_of_chains():
    sequences = [
        sequence(*LEFT[:5], place=LEFT[4]),
        sequence(*RIGHT[:5], place=LEFT[4]),
        sequence(*RIGHT[:5], place=E["m0"], episode=1),
        sequence(*RIGHT[:5], place=E["m0"], episode=1, phase="start"),
        sequence(*RIGHT[:5], place=E["m0"], phase="start"),
        sequence(RIGHT[0], E["m2"], *LEFT[:4], place=LEFT[4]),
        sequence(RIGHT[0], E["m2"], E["m1"], E["m0"], LEFT[9], place=LEFT[4]),
    ]
    tables = replays(eight(), sequences, laps=laps_of("left", "right"))
    # By place: same, opposite; by the lap before: same, opposite, unknown; on both sides: none.
    assert compute("on_other_side", tables) == (0.5, 0.5, 4)
