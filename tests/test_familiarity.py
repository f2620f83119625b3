"""Familiarity by hand: growing numbers of laps, and arms that were seen but not run."""

import networkx as nx
import numpy as np
import pytest
from replay_tables import block, compute, make_task, replays, sequence, track

from analyses.measures.rates import sequences_by_lap

FIVE = range(5)


def session(n_sequences, n_laps, **columns):
    """One pause after each lap, with so many sequences; pauses before the first lap are rest."""
    pauses = [{"episode": -1, "phase": "rest"}] * 2
    pauses += [{"episode": i} for i in range(n_laps)]
    sequences = [
        sequence(*FIVE, episode=i, **columns) for i, n in enumerate(n_sequences) for _ in range(n)
    ]
    return sequences, pauses, [{"episode": i} for i in range(n_laps)]


def test_before_and_after_the_first_lap():
    sequences, pauses, laps = session([2, 0, 1], 3)
    tables = replays(track(), sequences, pauses, laps)
    assert compute("rate_before_first_lap", tables) == (0, 0, 0)
    assert compute("rate_after_one_lap", tables) == (2, 0, 2)
    table = sequences_by_lap(tables)
    assert table["laps"].tolist() == [0, 1, 2, 3]
    assert table["per_pause"].tolist() == [0, 2, 0, 1]
    preplay = [sequence(*FIVE, episode=-1, phase="rest")]
    assert compute("rate_before_first_lap", replays(track(), preplay, pauses, laps)) == (0.5, 0, 1)


def test_pauses_before_and_after_a_lap_count_together():
    sequences, pauses, laps = session([1, 0], 2)
    sequences += [sequence(*FIVE, episode=1, phase="start")] * 2
    pauses += [{"episode": 1, "phase": "start"}]
    table = sequences_by_lap(replays(track(), sequences, pauses, laps))
    assert table["per_pause"].tolist() == [0, 1.5, 0]


def test_decline_over_laps():
    sequences, pauses, laps = session([4, 4, 2, 2, 1, 1], 6)
    value, null, n = compute("late_to_early_laps", replays(track(), sequences, pauses, laps))
    assert (value, null, n) == (pytest.approx(np.log(2.5 / 8.5)), 0, 10)


def test_decline_over_sessions():
    sequences, pauses, laps = session([3] * 4 + [2] * 4 + [1] * 4, 12)
    names = [f"session {i // 4}" for i in range(12)]
    for table in (sequences, pauses, laps):
        for row in table:
            row["block"] = names[row["episode"]] if row["episode"] >= 0 else "rest"
    value, _, n = compute("last_to_first_session", replays(track(), sequences, pauses, laps))
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
    sequences = [sequence(*FIVE, direction="reverse", **pause) for pause in replayed]
    tables = replays(track(blocks=blocks), sequences, pauses, laps)
    for name in (
        "changed_end",
        "changed_end_reverse",
        "late_to_early_laps",
        "last_to_first_session",
    ):
        assert compute(name, tables)[0] == pytest.approx(0, abs=1e-12), name


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
    sequences = [
        *[sequence(*CUED, **resting)] * 3,
        *[sequence(*UNCUED, **resting)] * 1,
        *[sequence(*STEM, **resting)] * 6,
        sequence(*CUED, phase="rest", episode=1),
        sequence(*CUED, phase="rest", episode=-1),
        sequence(*STEM, phase="rest", episode=-1),
        sequence(*CUED),
    ]
    laps = [{"episode": 0, "start": T["s0"], "end": T["cued4"], "lap": "look_cued"},
            {"episode": 1, "start": T["s0"], "end": T["cued4"]}]  # fmt: skip
    tables = replays(t_maze(), sequences, laps=laps)
    assert compute("cued_arm_share", tables)[::2] == (0.3, 10)
    assert compute("uncued_arm_share", tables)[::2] == (0.1, 10)
    assert compute("cued_minus_uncued_arm", tables) == (pytest.approx(0.2), 0, 10)
    assert compute("cued_arm_share_unseen", tables)[::2] == (0.5, 2)
    assert np.isnan(compute("cued_minus_uncued_arm", replays(track(), sequences, laps=laps))[0])
