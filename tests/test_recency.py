"""Recency by hand: sides of a figure of eight, and arms of a star."""

from dataclasses import replace

import networkx as nx
import numpy as np
import pytest
from replay_tables import (
    LEFT,
    RIGHT,
    SIDES,
    E,
    W,
    block,
    compute,
    eight,
    laps_of,
    make_task,
    replays,
    sequence,
    track,
    w_track,
)
from scipy.stats import spearmanr

from analyses.measures import STATISTICS


def test_other_loop_in_blocks_of_one_side():
    names = ["left"] * 8 + ["left", "right"] * 4
    blocks = ["one"] * 8 + ["both"] * 8
    there = {"left": RIGHT, "right": LEFT}
    sequences = []
    for i, name in enumerate(names):
        n_opposite = 3 if blocks[i] == "one" else 1
        where = [there[name]] * n_opposite + [SIDES[name]] * (4 - n_opposite)
        sequences += [
            sequence(*loop[:5], place=E["m0"], episode=i, block=blocks[i]) for loop in where
        ]
    tables = replays(eight(), sequences, laps=laps_of(*names, blocks=blocks))
    assert compute("other_side_one_minus_both_run", tables) == (0.5, 0, 64)
    assert compute("on_other_side", tables)[0] == 0.5


def test_laps_since_the_other_side():
    names = ["right", "left", "left", "left", "right"]
    sequences = [
        sequence(*RIGHT[:5], place=E["m0"], episode=3),
        sequence(*RIGHT[:5], place=E["m0"], episode=4, phase="start"),
        sequence(*LEFT[:5], place=E["m0"], episode=4),
        sequence(*LEFT[:5], place=E["m0"], episode=0),
    ]
    tables = replays(eight(), sequences[:3], laps=laps_of(*names))
    assert compute("laps_since_other_side", tables)[::2] == (3, 3)
    assert compute("laps_since_other_side", replace(tables, laps=tables.laps[::-1]))[::2] == (3, 3)
    assert compute("laps_since_other_side", replays(eight(), sequences[2:], laps=laps_of(*names)))[
        ::2
    ] == (1, 1)
    expected = (np.median([1 / 4, 1 / 4, 3 / 5]), 3)
    assert compute("laps_run_on_its_side", tables)[::2] == expected
    # Neither before the first lap, nor of both loops at once, is there such a share.
    sequences[3:] = [sequence(*LEFT[:5], place=E["m0"], episode=0, phase="start")]
    sequences += [sequence(*LEFT[4::-1], *RIGHT[:5], place=E["m0"], episode=4)] * 2
    tables = replays(eight(), sequences, laps=laps_of(*names))
    assert compute("laps_run_on_its_side", tables)[::2] == expected


def test_at_rest_the_side_that_was_run_more_so_far():
    """Equal numbers of laps tell nothing; nor does a sequence on both sides, or one awake."""
    left, right = ([W[f"{side}{k}"] for k in range(3)] for side in "LR")
    laps = [
        {"episode": i, "start": W["C0"], "end": W[end]} for i, end in enumerate(("L0", "R0", "R0"))
    ]
    rest = [left] * 2 + [right] * 3 + [[*left, W["X"], *right[::-1]]]
    sequences = [sequence(*path, episode=2, phase="rest") for path in rest]
    sequences += [sequence(*left, episode=1, phase="rest"), sequence(*left, episode=2)]
    value = np.log((3 + 0.5) / (2 + 0.5))
    tables = replays(w_track(), sequences, laps=laps)
    assert compute("more_run_side_at_rest", tables, 3) == (pytest.approx(value), 0, 5)
    assert compute("more_run_side_at_rest", replace(tables, laps=tables.laps[::-1]), 3)[2] == 5
    others = [{**lap, "animal": 1, "end": W["L0"]} for lap in laps]
    sequences += [{**each, "animal": 1} for each in sequences[:3]]
    found = STATISTICS["more_run_side_at_rest"].compute(
        replays(w_track(), sequences, laps=[*others, *laps])
    )
    assert found["n"].tolist() == [5, 3]
    assert np.exp(found["value"]).tolist() == pytest.approx([3.5 / 2.5, 2.5 / 1.5])


def test_laps_of_another_animal_are_none_of_its_own():
    others = [{**lap, "animal": 1} for lap in laps_of("right", "right")]
    sequences = [sequence(*LEFT[:5], place=E["m0"], episode=1, animal=1)]
    laps = [*laps_of("left", "left"), *others]
    found = STATISTICS["laps_since_other_side"].compute(replays(eight(), sequences, laps=laps))
    assert found["value"].isna().all()


def star():
    graph, arms = nx.Graph(), {}
    for arm in range(1, 5):
        arms[f"arm{arm}"] = tuple(f"a{arm}_{i}" for i in range(3))
        nx.add_path(graph, ["home", *arms[f"arm{arm}"]])
    return make_task(graph, arms, [block("first"), block("second")])


S = {node: i for i, node in enumerate(star().node)}


ARM = {arm: [S["home"], *(S[f"a{arm}_{i}"] for i in range(3))] for arm in range(1, 5)}


def test_past_arm_and_previous_goal():
    """Arm 1 paid first, then arm 2. The last lap went to arm 3, the next one goes to arm 2."""
    ways = [(1, 1), (0, None), (2, 2), (0, None), (3, 2), (0, None), (2, 2)]
    arm_end = {0: S["home"]} | {arm: path[-1] for arm, path in ARM.items()}
    laps = [
        {"episode": i, "end": arm_end[end], "goal": arm_end[0 if goal is None else goal]}
        for i, (end, goal) in enumerate(ways)
    ]
    pauses = [{"episode": 6, "phase": "start", "place": S["home"]}]
    pauses += [{"episode": 4, "place": ARM[3][-1]}]
    counts = {1: 60, 2: 50, 3: 10, 4: 30}
    sequences = [
        sequence(*ARM[arm], episode=6, phase="start", place=S["home"])
        for arm, n in counts.items()
        for _ in range(n)
    ]
    sequences += [sequence(*ARM[3], episode=4, place=ARM[3][-1])] * 9  # in the arm itself: left out
    tables = replays(star(), sequences, pauses, laps)
    # At that start arm 3 is past, arm 1 the previous goal, arm 4 the only one without a part.
    for name, n in (("previous_goal_rate", 60), ("past_arm_rate", 10)):
        expected = np.log((n + 0.5) / 30.5)
        assert compute(name, tables, min_length=3)[0] == pytest.approx(expected), name
    # Arm 2 is goal and future arm at once, which says nothing of either.
    assert np.isnan(compute("future_arm_rate", tables, min_length=3)[0])
    assert np.isnan(compute("past_arm_rate", replays(track(), sequences[:1]), min_length=3)[0])
    without_goals = replace(tables, laps=tables.laps.drop(columns="goal"))
    assert np.isnan(compute("past_arm_rate", without_goals, min_length=3)[0])


def test_future_arm():
    laps = [{"end": S["home"]}, {"episode": 1, "end": ARM[2][-1], "goal": ARM[1][-1]}]
    pauses = [{"place": S["home"]}]
    sequences = [sequence(*ARM[arm], place=S["home"]) for arm in [2] * 12 + [3] * 4]
    tables = replays(star(), sequences, pauses, laps)
    # Arms 3 and 4 have no part: half a sequence for each pause and arm, on average over both cells.
    expected = np.log((12 + 1 / 3) / 1) - np.log((4 + 2 / 3) / 2)
    assert compute("future_arm_rate", tables, min_length=3)[0] == pytest.approx(expected)
    few = replays(star(), sequences[2:], pauses, laps)  # 14 sequences, 4.7 of them by chance
    assert np.isnan(compute("future_arm_rate", few, min_length=3)[0])


def test_an_arm_that_will_pay_has_a_part_before_the_first_lap():
    laps = [{"end": ARM[2][-1], "goal": ARM[1][-1]}]
    here = {"phase": "start", "place": S["home"]}
    sequences = [sequence(*ARM[arm], **here) for arm in [2] * 12 + [3] * 4]
    tables = replays(star(), sequences, [here], laps)
    expected = np.log((12 + 1 / 3) / 1) - np.log((4 + 2 / 3) / 2)  # arms 3 and 4 have none
    assert compute("future_arm_rate", tables, min_length=3)[0] == pytest.approx(expected)


def test_rest_replays_the_places_that_awake_replay_did():
    ways = {"rest": [range(5), range(5), range(2, 8)], "episode_end": [range(5), range(3, 9)]}
    sequences = [
        sequence(*way, phase=phase, episode=1) for phase, each in ways.items() for way in each
    ]
    sequences += [sequence(0, 1, 0, 1, 0, phase="rest", episode=1)]  # counts once at each place
    early = sequence(*range(4, 9), phase="rest", episode=-1)  # before all laps
    tables = replays(track(10), [*sequences, early], laps=({}, {"episode": 1}))
    rest, awake = (
        [sum(place in way for way in ways[phase]) for place in range(10)] for phase in ways
    )
    rest[:2] = [rest[0] + 1, rest[1] + 1]
    value, null, n = compute("rest_as_awake", tables, min_length=2)
    assert (value, null, n) == (pytest.approx(spearmanr(rest, awake).statistic), 0, 6)
    assert np.isnan(compute("rest_as_awake", replays(track(), sequences[:1]))[0])
