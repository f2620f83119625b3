"""Changes of reward by hand."""

from dataclasses import replace

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from replay_tables import W, block, compute, make_task, replays, sequence, track, w_track

EPOCHS = [
    block("before", rewards={"n0": 1.0, "n9": 1.0}),
    block("changed", rewards={"n0": 1.0, "n9": 4.0}),
    block("restored", rewards={"n0": 1.0, "n9": 1.0}),
]


def reward_tables(counts, n_pauses=10):
    """(block, place, direction) -> number of sequences."""
    sequences = [
        sequence(*range(5), block=name, place=place, direction=direction)
        for (name, place, direction), n in counts.items()
        for _ in range(n)
    ]
    pauses = [
        {"block": name.name, "place": place}
        for name in EPOCHS
        for place in (0, 9)
        for _ in range(n_pauses)
    ]
    return replays(track(blocks=EPOCHS), sequences, pauses)


def test_reverse_follows_the_reward():
    same = {
        (name, place, direction): 50 if name == "changed" else 25
        for name in ("before", "changed", "restored")
        for place in (0, 9)
        for direction in ("forward", "reverse")
    }
    tables = reward_tables(same | {("changed", 9, "reverse"): 200})
    # Half a sequence is added on average: of 40 + 20 pauses in four cells, a third to a cell of 10.
    twenty, ten = 0.5 * 4 * 20 / 60, 0.5 * 4 * 10 / 60
    expected = np.log((200 + ten) / (50 + ten)) - np.log((50 + twenty) / (50 + twenty))
    value, null, n = compute("changed_end_reverse", tables)
    assert (value, null, n) == (pytest.approx(expected), 0, 350)
    assert compute("changed_end_forward", tables)[0] == pytest.approx(0)
    assert 0 < compute("changed_end", tables)[0] < value
    assert compute("changed_end_reverse_to_forward", tables)[0] == pytest.approx(
        np.log(200.5 / 50.5)
    )
    assert compute("restored_end_reverse_to_forward", tables)[0] == pytest.approx(0)


def test_reverse_after_a_reward_is_restored():
    """Only the block after the change counts, though the ends pay equally before it, too."""
    counts = {("restored", 9, "reverse"): 30, ("restored", 9, "forward"): 10}
    others = {("before", 9, "reverse"): 7, ("changed", 9, "forward"): 70}
    tables = reward_tables(counts | others | {("restored", 0, "forward"): 90})
    assert compute("restored_end_reverse_to_forward", tables) == (
        pytest.approx(np.log(30.5 / 10.5)),
        0,
        40,
    )
    assert np.isnan(compute("restored_end_reverse_to_forward", reward_tables(others))[0])


def test_rates_are_per_pause():
    tables = reward_tables({("changed", 9, "reverse"): 10, ("changed", 0, "reverse"): 10})
    assert compute("changed_end_reverse", tables)[0] == pytest.approx(0)
    there = (tables.pauses["block"] == "changed") & (tables.pauses["place"] == 9)
    fewer = pd.concat([tables.pauses[~there], tables.pauses[there].head(5)])
    assert compute("changed_end_reverse", replace(tables, pauses=fewer))[0] > 0.6
    never = replace(tables, pauses=tables.pauses[~there])
    assert np.isnan(compute("changed_end_reverse", never)[0])


def test_no_sequences_and_a_constant_reward_have_nothing_to_say():
    assert np.isnan(compute("changed_end_reverse", reward_tables({}))[0])
    constant = track(blocks=[EPOCHS[0]])
    tables = replace(reward_tables({("before", 0, "reverse"): 5}), task=constant)
    assert np.isnan(compute("changed_end_reverse", tables)[0])


def test_replay_after_reward():
    laps = [{"episode": i, "reward": float(i < 5)} for i in range(10)]
    pauses = [{"episode": i} for i in range(10)]
    sequences = [
        sequence(*range(5), episode=i) for i in range(10) for _ in range(4 if i < 5 else 1)
    ]
    value, _, n = compute("rewarded_to_unrewarded_laps", replays(track(), sequences, pauses, laps))
    assert (value, n) == (pytest.approx(np.log(20.5 / 5.5)), 25)


def test_the_side_that_pays_more():
    """A preference for one side on all days is none; blocks in which both pay alike say nothing."""
    task = w_track()
    task.blocks = [
        block("food", rewards={"L0": 1.0, "R0": 0.25}),
        block("water", rewards={"L0": 0.25, "R0": 1.0}),
        block("both", rewards={"L0": 1.0, "R0": 1.0}),
    ]
    left, right = ([W[f"{side}{k}"] for k in range(3)] for side in "LR")
    counts = {"food": (3, 1), "water": (1, 1), "both": (0, 7)}
    sequences = [
        sequence(*path, block=name)
        for name, n in counts.items()
        for path in [left] * n[0] + [right] * n[1]
    ]
    sequences.append(sequence(*left, W["X"], *right[::-1], block="food"))
    sequences += [sequence(*right, block=name, phase="rest") for name in ("food", "water")]
    tables = replays(task, sequences)
    assert compute("better_paid_side", tables, 3) == (pytest.approx(1 / 2 - 1 / 4), 0, 6)
    assert compute("better_paid_side_at_rest", tables, 3) == (0, 0, 2)
    assert np.isnan(compute("better_paid_side", replays(task, sequences[:4]), 3)[0])


def test_sequenceness_of_what_a_model_replays():
    """Backward replay of the paid sequence alone, after its reward, and forward before."""
    graph = nx.DiGraph()
    marks = {"first_chain": tuple("ABCD"), "second_chain": tuple("WXYZ")}
    for nodes in marks.values():
        nx.add_path(graph, nodes)
    blocks = [block("plain"), block("value", rewards={"D": 1.0})]
    task = make_task(graph, marks, blocks)
    at = {node: i for i, node in enumerate(task.node)}
    paid, neutral = ([at[node] for node in nodes] for nodes in marks.values())
    rest = [(paid, "plain"), (paid[::-1], "value"), (neutral, "value")]
    sequences = [sequence(*path, block=name, phase="rest") for path, name in rest for _ in range(9)]
    for name, expected in (
        ("paid_sequenceness_after_minus_before", 2.5),
        ("paid_minus_neutral_sequenceness", 7 / 3),
    ):
        value, null, n = compute(name, replays(task, sequences), min_length=3)
        assert (null, n) == (0, 27)
        assert value == pytest.approx(expected)
        backwards = [{**each, "states": each["states"][::-1]} for each in sequences]
        assert compute(name, replays(task, backwards), min_length=3)[0] == pytest.approx(-value)
        assert np.isnan(compute(name, replays(task, sequences[:9]), min_length=3)[0])


def test_paid_sequence():
    graph = nx.DiGraph()
    marks = {"first_chain": tuple("ABC"), "second_chain": tuple("XYZ")}
    for nodes in marks.values():
        nx.add_path(graph, nodes)
    blocks = [block("plain"), block("value", rewards={"C": 1.0})]
    task = make_task(graph, marks, blocks)
    at = {node: i for i, node in enumerate(task.node)}
    paid, neutral = ([at[node] for node in nodes] for nodes in marks.values())

    def rest(path, n_forward, n_reverse, name):
        ways = ["forward"] * n_forward + ["reverse"] * n_reverse
        return [sequence(*path, direction=way, block=name, phase="rest") for way in ways]

    sequences = [
        *rest(paid, 3, 1, "plain"),
        *rest(paid, 1, 4, "value"),
        *rest(neutral, 3, 2, "value"),
    ]
    tables = replays(task, sequences)
    assert compute("paid_sequence_after_minus_before", tables, min_length=3) == (
        pytest.approx(0.55),
        0,
        9,
    )
    assert compute("paid_minus_neutral_sequence", tables, min_length=3) == (
        pytest.approx(0.4),
        0,
        10,
    )
