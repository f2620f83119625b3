"""Statistics of replay, by hand: chains with known answers, and synthetic animals."""

from types import SimpleNamespace

import networkx as nx
import numpy as np
import pandas as pd
import pytest

from analyses.nulls import null_test, random_pairs
from analyses.replay_statistics import (
    STATISTICS,
    Replays,
    opposite_pairs,
    shortcut_share,
    summarise,
)
from analyses.replay_statistics.novelty import crosses
from analyses.replay_statistics.replays import paths


def make_task(graph, landmarks=None, blocks=(), headings=False, local_radius=1):
    """Stand in for a task: each node is a place, or one in each of two directions of travel."""
    for i, node in enumerate(graph):
        graph.nodes[node].setdefault("pos", (10.0 * i, 0.0))
    node = tuple(graph) * (2 if headings else 1)
    return SimpleNamespace(
        places=node,
        node=node,
        graph=graph,
        position=np.array([graph.nodes[name]["pos"] for name in node]),
        landmarks=landmarks or {},
        blocks=blocks,
        local_radius=local_radius,
    )


def block(name, n_laps=10, rewards=None, closed=()):
    return SimpleNamespace(
        name=name, n_laps=n_laps, contingency="", rewards=rewards or {}, closed=closed, n_rest=0
    )


CHAIN = {
    "animal": 0,
    "episode": 0,
    "event": 0,
    "phase": "episode_end",
    "order": "causal",
    "direction": "forward",
    "novelty": "experienced",
    "block": "run",
    "lap": "out",
    "place": 0,
}
PAUSE = {name: CHAIN[name] for name in ("animal", "episode", "phase", "block", "lap", "place")}
LAP = {"animal": 0, "episode": 0, "block": "run", "lap": "out", "start": 0, "end": 0, "reward": 1.0}


def chain(*states, **columns):
    return {
        **CHAIN,
        "states": np.array(states, dtype=np.int32),
        "first": states[0],
        "last": states[-1],
        "length": len(states),
        "n_distinct": len(set(states)),
        **columns,
    }


def table(rows, defaults):
    return pd.DataFrame([{**defaults, **row} for row in rows], columns=list(defaults))


def replays(task, chains, pauses=({},), laps=({},)):
    columns = list(chain(0, 1))
    chains = pd.DataFrame(list(chains), columns=columns)
    whole = ["animal", "episode", "event", "place", "first", "last", "length", "n_distinct"]
    chains = chains.astype(dict.fromkeys(whole, "int32"))
    for name in ("phase", "order", "direction", "novelty"):
        chains[name] = chains[name].astype("category")
    return Replays(chains, table(pauses, PAUSE), table(laps, LAP), pd.DataFrame(), task)


def compute(name, tables, **options):
    """Give value, null and n of the only animal."""
    [row] = STATISTICS[name].compute(tables, **options).itertuples()
    return row.value, row.null, row.n


def track(n=10, **options):
    return make_task(nx.path_graph([f"n{i}" for i in range(n)]), **options)


# S1: forward and reverse


def test_reverse_fraction_counts_directional_chains_of_five_states():
    tables = replays(
        track(),
        [
            chain(*range(5), direction="reverse"),
            chain(*range(5), direction="reverse"),
            chain(*range(5), direction="forward"),
            chain(*range(5), direction="both"),
            chain(*range(5), direction="neither"),
            chain(*range(4), direction="reverse"),
            chain(0, 1, 0, 1, 0, direction="reverse"),
            chain(*range(5), direction="reverse", phase="rest"),
            chain(*range(5), direction="forward", order="temporal"),
        ],
    )
    assert compute("S1", tables) == (2 / 3, 0.5, 3)
    assert compute("S1", tables, min_length=3) == (3 / 4, 0.5, 4)
    assert compute("S1", tables, order="temporal") == (0, 0.5, 1)
    assert compute("S1_both", tables)[0] == 1 / 5


def test_backward_sweeps_alone_give_one():
    chains = [chain(*range(length)[::-1], direction="reverse") for length in range(2, 10)]
    value, _, n = compute("S1", replays(track(), chains))
    assert (value, n) == (1.0, 5)


def test_reverse_after_and_forward_before_a_run():
    chains = [
        *[chain(*range(5), direction="reverse")] * 3,
        chain(*range(5), direction="forward"),
        *[chain(*range(5), direction="forward", phase="start")] * 4,
        chain(*range(5), direction="reverse", phase="start"),
    ]
    tables = replays(track(), chains)
    assert compute("S1_after_run", tables) == (0.75, 0.5, 4)
    assert compute("S1_before_run", tables) == (0.2, 0.5, 5)
    value, null, n = compute("S1_after_minus_before", tables)
    assert (value, null, n) == (pytest.approx(0.55), 0, 9)


# S2: congruence at the wells of a W-track


def w_track():
    graph = nx.Graph()
    nx.add_path(graph, ["C0", "C1", "C2", "X"])
    for side in "LR":
        nx.add_path(graph, ["X", *(f"{side}{i}" for i in (2, 1, 0))])
    arms = {f"{name}_arm": (f"{side}0", f"{side}1", f"{side}2")
            for name, side in (("left", "L"), ("right", "R"))}  # fmt: skip
    wells = {"centre_well": ("C0",), "left_well": ("L0",), "right_well": ("R0",)}
    return make_task(graph, arms | wells)


W = {name: i for i, name in enumerate(w_track().node)}
OUT_LEFT = [W[name] for name in ("C0", "C1", "C2", "X", "L2", "L1", "L0")]
CONGRUENCE = [name for name in STATISTICS if "given" in name]
OUT_RIGHT = [W[name] for name in ("C0", "C1", "C2", "X", "R2", "R1", "R0")]


@pytest.mark.parametrize(
    ("well", "path", "direction", "name"),
    [
        ("C0", OUT_LEFT[::-1], "reverse", "S2_reverse_given_past_home"),
        ("C0", OUT_LEFT, "forward", "S2_forward_given_future_home"),
        ("L0", OUT_RIGHT, "reverse", "S2_reverse_given_past_side"),
        ("R0", OUT_RIGHT[::-1], "forward", "S2_forward_given_future_side"),
    ],
)
def test_congruence(well, path, direction, name):
    """The path is as it was run: a reverse chain lists it backwards."""
    listed = {"forward": path, "reverse": path[::-1]}
    other = {"forward": "reverse", "reverse": "forward"}[direction]
    place = W[well]
    chains = [chain(*listed[direction], direction=direction, place=place)] * 3
    chains += [chain(*listed[other], direction=other, place=place)]
    tables = replays(w_track(), chains)
    assert compute(name, tables) == (0.75, 0.5, 4)
    assert compute(name.rsplit("_", 1)[0], tables) == (0.75, 0.5, 4)
    for other in CONGRUENCE:
        assert name.startswith(other) or np.isnan(compute(other, tables)[0]), other


def test_congruence_is_told_at_wells_only():
    chains = [chain(*OUT_LEFT, direction="forward", place=W["X"])]
    assert np.isnan(compute("S2_forward_given_future", replays(w_track(), chains))[0])
    assert np.isnan(compute("S2_forward_given_future", replays(track(), chains))[0])


# S3: where chains begin


def test_local_start_and_its_chance():
    chains = [chain(*range(5), place=0), chain(*range(1, 6), place=0), chain(*range(2, 7), place=0)]
    chains += [chain(*range(4, 9), place=5)]
    tables = replays(track(10), chains)
    value, null, n = compute("S3", tables)
    assert (value, n) == (3 / 4, 4)
    assert null == pytest.approx((3 * 2 + 3) / 4 / 10)
    value, null, _ = compute("S3_remote", tables)
    assert (value, null) == (1 / 4, pytest.approx(1 - (3 * 2 + 3) / 4 / 10))
    assert compute("S3_local_end", tables)[0] == 0
    assert compute("S3_away", tables)[:2] == (1, 0.5)


def test_chains_towards_the_animal():
    chains = [chain(4, 3, 2, 1, 0, direction="reverse"), chain(0, 1, 2, 3, 4, direction="both")]
    assert compute("S3_away", replays(track(), chains)) == (0, 0.5, 1)


def test_remote_arms():
    graph = nx.Graph()
    arms = {f"arm{arm}": tuple(f"a{arm}_{i}" for i in range(3)) for arm in (1, 2, 3)}
    for nodes in arms.values():
        nx.add_path(graph, ["box", *nodes])
    task = make_task(graph, arms)
    at = {node: i for i, node in enumerate(task.node)}
    first, second = ([at[node] for node in ("box", *arms[name])] for name in ("arm1", "arm2"))
    chains = [chain(*first, place=at["a1_2"]), chain(*second, place=at["a1_2"])]
    value, null, n = compute("S3_remote_arm", replays(task, chains), min_length=3)
    assert (value, null, n) == (0.5, pytest.approx(2 / 3), 2)
    chains = [chain(*first, place=at["box"])]
    assert compute("S3_remote_arm", replays(task, chains), min_length=3) == (1, 1, 1)


# S4: rewards that change


EPOCHS = [
    block("before", rewards={"n0": 1.0, "n9": 1.0}),
    block("changed", rewards={"n0": 1.0, "n9": 4.0}),
    block("restored", rewards={"n0": 1.0, "n9": 1.0}),
]


def reward_tables(counts, n_pauses=10):
    """(block, place, direction) -> number of chains."""
    chains = [
        chain(*range(5), block=name, place=place, direction=direction)
        for (name, place, direction), n in counts.items()
        for _ in range(n)
    ]
    pauses = [
        {"block": name.name, "place": place}
        for name in EPOCHS
        for place in (0, 9)
        for _ in range(n_pauses)
    ]
    return replays(track(blocks=EPOCHS), chains, pauses)


def test_reverse_follows_the_reward():
    same = {
        (name, place, direction): 50 if name == "changed" else 25
        for name in ("before", "changed", "restored")
        for place in (0, 9)
        for direction in ("forward", "reverse")
    }
    tables = reward_tables(same | {("changed", 9, "reverse"): 200})
    # Half a chain is added on average: of 40 + 20 pauses in four cells, a third to a cell of 10.
    twenty, ten = 0.5 * 4 * 20 / 60, 0.5 * 4 * 10 / 60
    expected = np.log((200 + ten) / (50 + ten)) - np.log((50 + twenty) / (50 + twenty))
    value, null, n = compute("S4_reverse", tables)
    assert (value, null, n) == (pytest.approx(expected), 0, 350)
    assert compute("S4_forward", tables)[0] == pytest.approx(0)
    assert 0 < compute("S4", tables)[0] < value
    assert compute("S4_reverse_minus_forward", tables)[0] == pytest.approx(np.log(200.5 / 50.5))


def test_rates_are_per_pause():
    tables = reward_tables({("changed", 9, "reverse"): 10, ("changed", 0, "reverse"): 10})
    assert compute("S4_reverse", tables)[0] == pytest.approx(0)
    there = (tables.pauses["block"] == "changed") & (tables.pauses["place"] == 9)
    fewer = pd.concat([tables.pauses[~there], tables.pauses[there].head(5)])
    assert compute("S4_reverse", tables._replace(pauses=fewer))[0] > 0.6
    never = tables._replace(pauses=tables.pauses[~there])
    assert np.isnan(compute("S4_reverse", never)[0])


def test_no_chains_and_a_constant_reward_have_nothing_to_say():
    assert np.isnan(compute("S4_reverse", reward_tables({}))[0])
    constant = track(blocks=[EPOCHS[0]])
    tables = reward_tables({("before", 0, "reverse"): 5})._replace(task=constant)
    assert np.isnan(compute("S4_reverse", tables)[0])


def test_replay_after_reward():
    laps = [{"episode": i, "reward": float(i < 5)} for i in range(10)]
    pauses = [{"episode": i} for i in range(10)]
    chains = [chain(*range(5), episode=i) for i in range(10) for _ in range(4 if i < 5 else 1)]
    value, _, n = compute("S4_rewarded", replays(track(), chains, pauses, laps))
    assert (value, n) == (pytest.approx(np.log(20.5 / 5.5)), 25)


# S5 and S6: a figure of eight, run one way


def eight():
    """Stem m0 m1 m2 up to the choice; loops go up, across the top, down and back below."""
    graph, marks = nx.Graph(), {}
    nx.add_path(graph, ["m0", "m1", "m2"])
    for side, name in (("l", "left_loop"), ("r", "right_loop")):
        loop = [f"{side}{i}" for i in range(10)]
        nx.add_path(graph, ["m2", *loop, "m0"])
        marks[name] = tuple(loop)
    marks["shortcut_top"] = ("l1", "l0", "m2", "r0", "r1")
    marks["shortcut_bottom"] = ("l8", "l9", "m0", "r9", "r8")
    return make_task(graph, marks)


E = {name: i for i, name in enumerate(eight().node)}
LEFT, RIGHT = ([E[f"{side}{i}"] for i in range(10)] for side in "lr")
SIDES = {"left": LEFT, "right": RIGHT}


def laps_of(*names, blocks=None):
    return [
        {"episode": i, "lap": name, "block": blocks[i] if blocks else "run"}
        for i, name in enumerate(names)
    ]


def test_side_of_the_animal_and_of_chains():
    chains = [
        chain(*LEFT[:5], place=LEFT[4]),
        chain(*RIGHT[:5], place=LEFT[4]),
        chain(*RIGHT[:5], place=E["m0"], episode=1),
        chain(*RIGHT[:5], place=E["m0"], episode=1, phase="start"),
        chain(*RIGHT[:5], place=E["m0"], phase="start"),
        chain(RIGHT[0], E["m2"], *LEFT[:4], place=LEFT[4]),
        chain(RIGHT[0], E["m2"], E["m1"], E["m0"], LEFT[9], place=LEFT[4]),
    ]
    tables = replays(eight(), chains, laps=laps_of("left", "right"))
    # By place: same, opposite; by the lap before: same, opposite, unknown; on both sides: none.
    assert compute("S3_opposite", tables) == (0.5, 0.5, 4)


def test_direction_by_side():
    chains = [chain(*LEFT[:5], place=LEFT[4], direction="reverse")]
    chains += [chain(*RIGHT[:5], place=LEFT[4], direction="forward")]
    tables = replays(eight(), chains)
    assert compute("S1_same_side", tables) == (1, 0.5, 1)
    assert compute("S1_opposite_side", tables) == (0, 0.5, 1)


def test_other_loop_in_blocks_of_one_side():
    names = ["left"] * 8 + ["left", "right"] * 4
    blocks = ["one"] * 8 + ["both"] * 8
    there = {"left": RIGHT, "right": LEFT}
    chains = []
    for i, name in enumerate(names):
        n_opposite = 3 if blocks[i] == "one" else 1
        where = [there[name]] * n_opposite + [SIDES[name]] * (4 - n_opposite)
        chains += [chain(*loop[:5], place=E["m0"], episode=i, block=blocks[i]) for loop in where]
    tables = replays(eight(), chains, laps=laps_of(*names, blocks=blocks))
    assert compute("S5", tables) == (0.5, 0, 64)
    assert compute("S3_opposite", tables)[0] == 0.5


def test_laps_since_the_other_side():
    names = ["right", "left", "left", "left", "right"]
    chains = [
        chain(*RIGHT[:5], place=E["m0"], episode=3),
        chain(*RIGHT[:5], place=E["m0"], episode=4, phase="start"),
        chain(*LEFT[:5], place=E["m0"], episode=4),
        chain(*LEFT[:5], place=E["m0"], episode=0),
    ]
    tables = replays(eight(), chains[:3], laps=laps_of(*names))
    assert compute("S5_lag", tables)[::2] == (3, 3)
    assert compute("S5_lag", tables._replace(laps=tables.laps[::-1]))[::2] == (3, 3)
    assert compute("S5_lag", replays(eight(), chains[2:], laps=laps_of(*names)))[::2] == (1, 1)
    value, _, n = compute("S5_run_before", tables)
    assert (value, n) == (np.median([1 / 4, 1 / 4, 3 / 5]), 3)


def test_laps_of_another_animal_are_none_of_its_own():
    others = [{**lap, "animal": 1} for lap in laps_of("right", "right")]
    chains = [chain(*LEFT[:5], place=E["m0"], episode=1, animal=1)]
    laps = [*laps_of("left", "left"), *others]
    found = STATISTICS["S5_lag"].compute(replays(eight(), chains, laps=laps))
    assert found["value"].isna().all()


def test_composed_and_shortcut_are_kept_apart():
    over_top = [LEFT[1], LEFT[0], E["m2"], RIGHT[0], RIGHT[1]]
    chains = [
        chain(*over_top, novelty="unexperienced", direction="neither"),
        chain(*over_top[::-1], novelty="unexperienced", direction="neither"),
        chain(*over_top, novelty="experienced"),
        chain(*LEFT[:5], novelty="composed"),
        *[chain(*LEFT[:5])] * 6,
    ]
    tables = replays(eight(), chains)
    assert compute("S6_shortcut", tables) == (0.2, 0, 10)
    assert compute("S6_composed", tables) == (0.1, 0, 10)


def test_a_connection_is_crossed_in_one_go():
    chains = pd.DataFrame(
        {
            "states": [
                [9, 1, 2, 3],
                [3, 2, 1],
                [1, 2, 1, 2, 3],
                [1, 2, 5, 3],
                [1, 2],
                [3, 5],
                [2, 3, 4, 1],
            ]
        }
    )
    assert crosses(paths(chains), [1, 2, 3], 10).tolist() == [True] * 3 + [False] * 4


TOP_LEFT, TOP_RIGHT = LEFT[:5], RIGHT[:5]
BOTTOM_LEFT, BOTTOM_RIGHT = LEFT[5:], RIGHT[5:]
TO_TOP = {side: chain(*path[::-1], direction="reverse")
          for side, path in (("left", TOP_LEFT), ("right", TOP_RIGHT))}  # fmt: skip
FROM_TOP = {"left": chain(*TOP_LEFT), "right": chain(*TOP_RIGHT)}
TO_BOTTOM = {"left": chain(*BOTTOM_LEFT), "right": chain(*BOTTOM_RIGHT)}
FROM_BOTTOM = {side: chain(*path[::-1], direction="reverse")
               for side, path in (("left", BOTTOM_LEFT), ("right", BOTTOM_RIGHT))}  # fmt: skip
CORNERS = [ways[side] for ways in (TO_TOP, FROM_TOP, TO_BOTTOM, FROM_BOTTOM)
           for side in ("left", "right")]  # fmt: skip


def pair_tables(pairs, animal=0):
    chains = [
        {**one, "event": event, "animal": animal}
        for event, pair in enumerate(pairs)
        for one in pair
    ]
    return replays(eight(), chains)


def test_four_of_32_ordered_pairs_of_corners_are_shortcuts():
    """So Gupta et al. count pairs of a forward and a backward corner."""
    pairs = [(a, b) for a in CORNERS for b in CORNERS if a["direction"] != b["direction"]]
    assert len(pairs) == 32
    tables = pair_tables(pairs)
    assert compute("S6_pairs", tables) == (4 / 32, 4 / 32, 32)
    assert shortcut_share(opposite_pairs(tables)) == 4 / 32
    made = [pair for pair in pairs if compute("S6_pairs", pair_tables([pair]))[0] == 1]
    assert [(a["first"], b["last"]) for a, b in made] == [
        (LEFT[4], RIGHT[4]), (RIGHT[4], LEFT[4]), (LEFT[5], RIGHT[5]), (RIGHT[5], LEFT[5])
    ]  # fmt: skip


def test_pairs_beyond_chance():
    joined = [(TO_TOP["left"], FROM_TOP["right"]), (TO_BOTTOM["right"], FROM_BOTTOM["left"])]
    apart = [(TO_TOP["left"], FROM_TOP["left"])]
    tables = pair_tables(joined * 8 + apart * 2)
    value, null, n = compute("S6_pairs", tables)
    assert (value, n) == (16 / 18, 18)
    test = null_test(shortcut_share, dict(opposite_pairs(tables)), random_pairs, n_draws=2000)
    assert test.observed == value
    assert test.expected == pytest.approx(null, abs=0.02)
    assert test.p < 0.01


def test_pairs_stay_within_pause_and_directions():
    two_events = pair_tables([(TO_TOP["left"],), (FROM_TOP["right"],)])
    assert opposite_pairs(two_events).empty
    assert opposite_pairs(pair_tables([(FROM_TOP["left"], TO_BOTTOM["left"])])).empty


def test_summary():
    tables = pair_tables([(TO_TOP["left"], FROM_TOP["right"])])
    row = summarise("S1", STATISTICS["S1"].compute(tables)).iloc[0]
    assert row["value"] == 0.5
    assert np.isnan([row["ci_low"], row["ci_high"], row["p"]]).all()
    nothing = summarise("S1", STATISTICS["S1"].compute(replays(eight(), []))).iloc[0]
    assert np.isnan(nothing[["value", "ci_low", "null", "p"]].astype(float)).all()
    assert nothing["n_animals"] == nothing["n_chains"] == 0
