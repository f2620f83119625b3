"""Statistics S1 to S4 by hand: chains with known answers."""

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from replay_tables import (
    OUT_LEFT,
    OUT_RIGHT,
    W,
    block,
    chain,
    compute,
    eight,
    make_task,
    replays,
    track,
    w_track,
)
from scipy import stats

from analyses.measures import STATISTICS, summarise

CONGRUENCE = [name for name in STATISTICS if "given" in name]


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


@pytest.mark.parametrize(
    ("well", "path", "direction", "name"),
    [
        ("C0", OUT_LEFT[::-1], "reverse", "S2_reverse_given_past_centre"),
        ("C0", OUT_LEFT, "forward", "S2_forward_given_future_centre"),
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


def test_summary():
    tables = replays(track(), [chain(*range(5)), chain(*range(5), direction="reverse")])
    row = summarise("S1", STATISTICS["S1"].compute(tables)).iloc[0]
    assert row["value"] == 0.5
    assert np.isnan([row["ci_low"], row["ci_high"], row["p"]]).all()
    nothing = summarise("S1", STATISTICS["S1"].compute(replays(track(), []))).iloc[0]
    assert np.isnan(nothing[["value", "ci_low", "null", "p"]].astype(float)).all()
    assert nothing["n_animals"] == nothing["n_chains"] == 0


@pytest.mark.parametrize("name", STATISTICS)
@pytest.mark.parametrize("task", [track(), eight(), w_track()], ids=["track", "eight", "w_track"])
def test_every_statistic_of_every_task_gives_one_row_an_animal(name, task):
    """Where a task lacks what a statistic needs, or there is no replay, nothing is told."""
    pauses = [{"animal": animal, "phase": "start"} for animal in (3, 1)]
    laps = [{"animal": animal} for animal in (3, 1)]
    chains = [chain(*range(6), animal=3), chain(*range(5, -1, -1), animal=3, phase="rest")]
    statistic = STATISTICS[name]
    for tables in (replays(task, chains, pauses, laps), replays(task, [], pauses, laps)):
        found = statistic.compute(tables, min_length=3, order="causal")
        assert found.columns.tolist() == ["animal", "value", "null", "n"]
        assert found["animal"].tolist() == [1, 3]
        assert not found["null"][found["value"].isna()].notna().any()
        told = found["value"].dropna()
        assert statistic.kind != "share" or told.between(0, 1).all()
        assert len(summarise(name, found)) == 1
    assert statistic.label
    assert statistic.unit
    assert statistic.kind in ("share", "difference", "number")
    if statistic.kind == "difference":
        assert statistic.expected_null == 0


@pytest.mark.parametrize(
    ("name", "null", "n", "n_above", "chance"),
    [
        ("S1", 0.5, 21, 9, 0.5),
        ("S5", 0.0, 21, 9, 0.5),
        ("S6_composed", 0.0, 8, 12, 0.5),
        # A share of five chains that is .1 by chance: none of them with .9^5, else above.
        ("S3", 0.1, 5, 2, 1 - 0.9**5),
        ("S13", 0.1, 5, 2, 0.5),
        # Of ten chains, .2 by chance: two say nothing.
        ("S8", 0.2, 10, 10, 0.32220 / (0.32220 + 0.37581)),
        ("mine", 0.2, 10, 10, 0.5),
    ],
)
def test_sign_test_of_animals(name, null, n, n_above, chance):
    value = np.where(np.arange(12) < n_above, 0.9, null - 0.1)
    table = pd.DataFrame(
        {"animal": range(14), "value": [*value, np.nan, null], "null": null, "n": n}
    )
    both = stats.binom.cdf(n_above, 12, chance), stats.binom.sf(n_above - 1, 12, chance)
    row = summarise(name, table).iloc[0]
    assert row["p"] == pytest.approx(min(1, 2 * min(both)), rel=1e-3)
    assert row["n_animals"] == 13
    assert row["value"] == pytest.approx(np.nanmean(table["value"]))
    assert row["ci_low"] < row["value"] < row["ci_high"]


def test_wrong_choices_of_chains():
    tables = replays(track(), [])
    with pytest.raises(ValueError, match=r"Unknown order 'casual'\. Choose from: causal, temporal"):
        STATISTICS["S1"].compute(tables, order="casual")
    with pytest.raises(ValueError, match="at least 2 states, got min_length=1"):
        STATISTICS["S1"].compute(tables, min_length=1)
    with pytest.raises(ValueError, match="chains lacks the columns"):
        STATISTICS["S1"].compute(tables._replace(chains=tables.chains.drop(columns="direction")))
