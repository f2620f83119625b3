"""Statistics S10 to S14 by hand: before and after the first lap, unvisited arms, utility, ranks."""

import networkx as nx
import numpy as np
import pytest
from replay_tables import block, chain, compute, make_task, replays, track

from analyses.measures import chains_by_lap

FIVE = range(5)


def session(n_chains, n_laps, **columns):
    """One pause after each lap, with so many chains each; pauses before the first lap are rest."""
    pauses = [{"episode": -1, "phase": "rest"}] * 2
    pauses += [{"episode": i} for i in range(n_laps)]
    chains = [chain(*FIVE, episode=i, **columns) for i, n in enumerate(n_chains) for _ in range(n)]
    return chains, pauses, [{"episode": i} for i in range(n_laps)]


def test_before_and_after_the_first_lap():
    chains, pauses, laps = session([2, 0, 1], 3)
    tables = replays(track(), chains, pauses, laps)
    assert compute("S10_before", tables) == (0, 0, 0)
    assert compute("S10_one_lap", tables) == (2, 0, 2)
    table = chains_by_lap(tables)
    assert table["laps"].tolist() == [0, 1, 2, 3]
    assert table["per_pause"].tolist() == [0, 2, 0, 1]
    preplay = [chain(*FIVE, episode=-1, phase="rest")]
    assert compute("S10_before", replays(track(), preplay, pauses, laps)) == (0.5, 0, 1)


def test_pauses_before_and_after_a_lap_count_together():
    chains, pauses, laps = session([1, 0], 2)
    chains += [chain(*FIVE, episode=1, phase="start")] * 2
    pauses += [{"episode": 1, "phase": "start"}]
    table = chains_by_lap(replays(track(), chains, pauses, laps))
    assert table["per_pause"].tolist() == [0, 1.5, 0]


def test_decline_over_laps():
    chains, pauses, laps = session([4, 4, 2, 2, 1, 1], 6)
    value, null, n = compute("S10", replays(track(), chains, pauses, laps))
    assert (value, null, n) == (pytest.approx(np.log(2.5 / 8.5)), 0, 10)


def test_decline_over_sessions():
    chains, pauses, laps = session([3] * 4 + [2] * 4 + [1] * 4, 12)
    names = [f"session {i // 4}" for i in range(12)]
    for table in (chains, pauses, laps):
        for row in table:
            row["block"] = names[row["episode"]] if row["episode"] >= 0 else "rest"
    value, _, n = compute("S10_sessions", replays(track(), chains, pauses, laps))
    assert (value, n) == (pytest.approx(np.log((4 + 0.5 * 2 * 4 / 8) / (12 + 0.5))), 16)


@pytest.mark.parametrize("phase", ["start", "episode_end"])
def test_the_same_replay_at_every_stop_is_no_effect(phase):
    """Before the first lap there is no pause, so that some cells have fewer than others."""
    paid = {"n0": 1.0, "n9": 1.0}
    names = ["equal", "unequal", "restored"]
    blocks = [
        block(name, rewards=paid | {"n9": 1.0 + 3 * (i == 1)}) for i, name in enumerate(names)
    ]
    ends = [9, 0] * 15
    laps = [{"episode": i, "block": names[i // 10], "end": end} for i, end in enumerate(ends)]
    pauses = [{**lap, "place": lap["end"]} for lap in laps]
    pauses += [{**lap, "phase": "start", "place": 9 - lap["end"]} for lap in laps[1:]]
    stops = [pause for pause in pauses if pause.get("phase", "episode_end") == phase]
    about = ("episode", "block", "place")
    replayed = [{key: pause[key] for key in about} | {"phase": phase} for pause in stops]
    chains = [chain(*FIVE, direction="reverse", **pause) for pause in replayed]
    tables = replays(track(blocks=blocks), chains, pauses, laps)
    for name in ("S4", "S4_reverse", "S10", "S10_sessions"):
        assert compute(name, tables)[0] == pytest.approx(0, abs=1e-12), name


# S11: arms that were seen but not run


def t_maze():
    graph = nx.path_graph(["s0", "s1", "s2", "J"])
    arms = {f"{name}_arm": tuple(f"{name}{i}" for i in range(5)) for name in ("cued", "uncued")}
    for nodes in arms.values():
        nx.add_path(graph, ["J", *nodes])
    return make_task(graph, arms)


T = {node: i for i, node in enumerate(t_maze().node)}
CUED, UNCUED = ([T["J"], *(T[f"{name}{i}"] for i in range(5))] for name in ("cued", "uncued"))
STEM = [T[node] for node in ("s0", "s1", "s2", "J", "cued0")]


def test_unvisited_arms():
    resting = {"phase": "rest", "episode": 0}
    chains = [
        *[chain(*CUED, **resting)] * 3,
        *[chain(*UNCUED, **resting)] * 1,
        *[chain(*STEM, **resting)] * 6,
        chain(*CUED, phase="rest", episode=1),
        chain(*CUED, phase="rest", episode=-1),
        chain(*STEM, phase="rest", episode=-1),
        chain(*CUED),
    ]
    laps = [{"episode": 0, "start": T["s0"], "end": T["cued4"], "lap": "look_cued"},
            {"episode": 1, "start": T["s0"], "end": T["cued4"]}]  # fmt: skip
    tables = replays(t_maze(), chains, laps=laps)
    assert compute("S11_cued", tables)[::2] == (0.3, 10)
    assert compute("S11_uncued", tables)[::2] == (0.1, 10)
    assert compute("S11", tables) == (pytest.approx(0.2), 0, 10)
    assert compute("S11_cued_unseen", tables)[::2] == (0.5, 2)
    assert np.isnan(compute("S11", replays(track(), chains, laps=laps))[0])


# S12: need and gain


def tree():
    graph = nx.DiGraph()
    for start in "abc":
        for end in "XY":
            nx.add_path(graph, [start, *(f"{start}{end}{i}" for i in range(3)), end])
    return make_task(graph, {"starts": tuple("abc"), "ends": tuple("XY")})


N = {node: i for i, node in enumerate(tree().node)}


def back(start, end, **columns):
    nodes = [end, *(f"{start}{end}{i}" for i in (2, 1, 0)), start]
    return chain(*(N[node] for node in nodes), direction="reverse", **columns)


def runs(*laps):
    return [
        {"episode": i, "start": N[start], "end": N[end], "reward": reward}
        for i, (start, end, reward) in enumerate(laps)
    ]


def test_other_paths_to_the_same_end():
    chains = [back("a", "X"), back("b", "X"), back("c", "X"), back("c", "Y")]
    tables = replays(tree(), chains, laps=runs(("a", "X", 1.0)))
    assert compute("S12_non_local", tables) == (pytest.approx(2 / 3), pytest.approx(2 / 3), 3)


def test_need_is_how_often_a_start_comes():
    laps = runs(("b", "Y", 0.0), ("b", "Y", 0.0), ("c", "Y", 0.0), ("a", "X", 1.0))
    chains = [back(start, "X", episode=3) for start in "aaabbc"]
    tables = replays(tree(), chains, laps=laps)
    assert compute("S12_need", tables) == (pytest.approx(2 / 3), 0.5, 3)
    # What b and c know is the same: the gain is too, and need alone makes the difference.
    assert np.isnan(compute("S12_gain", tables)[0])
    assert compute("S12", tables) == (pytest.approx(2 / 3), 0.5, 3)


def test_gain_is_what_changes_the_choice():
    """Start b takes X for worthless and Y for good; c knows already that X is good."""
    laps = runs(("b", "Y", 0.5), ("c", "X", 1.0), ("a", "X", 1.0))
    chains = [back(start, "X", episode=2) for start in "bbbc"]
    tables = replays(tree(), chains, laps=laps)
    assert np.isnan(compute("S12_need", tables)[0])
    assert compute("S12_gain", tables) == (0.75, 0.5, 4)
    assert compute("S12", tables) == (0.75, 0.5, 4)
    backwards = tables._replace(laps=tables.laps[::-1])
    assert compute("S12", backwards) == (0.75, 0.5, 4)


# S13 and S14


def test_rank_in_the_pause():
    ways = ["forward", "forward", "reverse", "both", "reverse"]
    chains = [chain(*FIVE, direction=way) for way in ways]
    chains += [chain(*FIVE, direction="forward", event=1)] * 3
    value, null, n = compute("S13", replays(track(), chains))
    assert (value, null, n) == (pytest.approx(0.25 - 0.75), 0, 4)
    chains = [
        {**one, "direction": other} for one, other in zip(chains[:5], ways[::-1], strict=True)
    ]
    assert compute("S13", replays(track(), chains))[0] == pytest.approx(0.5)


def test_rank_in_the_stop_between_two_laps():
    chains = [chain(*FIVE, direction="reverse", episode=0)]
    chains += [chain(*FIVE, direction="forward", episode=1, phase="start", event=1)]
    tables = replays(track(), chains)
    assert np.isnan(compute("S13", tables)[0])
    assert compute("S13_stop", tables) == (0.5, 0, 2)


def test_offline_direction():
    chains = [chain(*FIVE, direction=way, phase="rest")
              for way in ("forward", "forward", "forward", "reverse", "both")]  # fmt: skip
    assert compute("S14", replays(track(), [*chains, chain(*FIVE)])) == (0.5, 0, 4)


# Arms of Gillespie et al.


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
    chains = [
        chain(*ARM[arm], episode=6, phase="start", place=S["home"])
        for arm, n in counts.items()
        for _ in range(n)
    ]
    chains += [chain(*ARM[3], episode=4, place=ARM[3][-1])] * 9  # in the arm itself: left out
    tables = replays(star(), chains, pauses, laps)
    # At that start arm 3 is past, arm 1 the previous goal, arm 4 the only one without a part.
    for name, n in (("S5_previous_goal", 60), ("S5_past_arm", 10)):
        expected = np.log((n + 0.5) / 30.5)
        assert compute(name, tables, min_length=3)[0] == pytest.approx(expected), name
    # Arm 2 is goal and future arm at once, which says nothing of either.
    assert np.isnan(compute("S8_future_arm", tables, min_length=3)[0])
    assert np.isnan(compute("S5_past_arm", replays(track(), chains[:1]), min_length=3)[0])


def test_future_arm():
    laps = [{"end": S["home"]}, {"episode": 1, "end": ARM[2][-1], "goal": ARM[1][-1]}]
    pauses = [{"place": S["home"]}]
    chains = [chain(*ARM[arm], place=S["home"]) for arm in [2] * 12 + [3] * 4]
    tables = replays(star(), chains, pauses, laps)
    # Arms 3 and 4 have no part: half a chain for each pause and arm, on average over both cells.
    expected = np.log((12 + 1 / 3) / 1) - np.log((4 + 2 / 3) / 2)
    assert compute("S8_future_arm", tables, min_length=3)[0] == pytest.approx(expected)
    few = tables._replace(chains=tables.chains.iloc[2:])  # 14 chains, 4.7 of them by chance
    assert np.isnan(compute("S8_future_arm", few, min_length=3)[0])


# Sequences of Liu et al. 2019


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
        return [chain(*path, direction=way, block=name, phase="rest") for way in ways]

    chains = [*rest(paid, 3, 1, "plain"), *rest(paid, 1, 4, "value"), *rest(neutral, 3, 2, "value")]
    tables = replays(task, chains)
    assert compute("S4_paid_sequence", tables, min_length=3) == (pytest.approx(0.55), 0, 9)
    assert compute("S4_paid_to_neutral", tables, min_length=3) == (pytest.approx(0.4), 0, 10)
