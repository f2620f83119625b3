"""Intervals and tests, compared with scipy, counts by hand and known coverage."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from analyses.intervals import (
    mean_interval,
    mean_share_interval,
    share_intervals,
    shares,
    sign_test,
)


def kind_counts(values: dict[str, list[int]]) -> pd.DataFrame:
    return pd.concat(
        pd.DataFrame({"learner": "a", "mdp": range(len(counts)), "kind": kind, "count": counts})
        for kind, counts in values.items()
    )


@given(st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=20), st.floats(0.5, 0.99))
def test_mean_interval_is_scipys(values, level):
    table = pd.DataFrame({"group": 0, "value": values})
    row = mean_interval(table, "value", ["group"], level).iloc[0]
    assert row["mean"] == pytest.approx(np.mean(values), abs=1e-9)
    assert row["sem"] == pytest.approx(stats.sem(values), abs=1e-6)
    if row["sem"] > 0:
        expected = stats.t.interval(level, len(values) - 1, row["mean"], row["sem"])
        assert (row["ci_low"], row["ci_high"]) == pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_one_unit_has_no_interval():
    row = mean_interval(pd.DataFrame({"g": [0], "x": [2.0]}), "x", ["g"]).iloc[0]
    assert row["mean"] == 2
    assert row[["sem", "ci_low", "ci_high"]].isna().all()


def test_groups_are_apart_and_keep_their_order():
    table = pd.DataFrame({"g": ["b", "a", "b"], "x": [1.0, 5.0, 3.0]})
    result = mean_interval(table, "x", ["g"])
    assert result["g"].tolist() == ["a", "b"]
    assert result["mean"].tolist() == [5, 2]
    assert result["n"].tolist() == [1, 2]


def test_shares_add_up_rows_and_fill_in_kinds():
    counts = pd.DataFrame(
        {
            "learner": ["b", "b", "b", "a", "c"],
            "kind": ["novel_path", "novel_path", "reverse_episode", "novel_path", "novel_path"],
            "count": [1, 2, 1, 4, 0],
        }
    )
    result = shares(counts, ["learner"]).set_index(["learner", "kind"])
    assert result.loc[("b", "novel_path"), "count"] == 3
    assert result.loc[("b", "novel_path"), "share"] == 0.75
    assert result.loc[("a", "reverse_episode"), "count"] == 0
    assert result.loc["c", "share"].isna().all()
    assert len(result) == 6


def test_shares_of_the_paper_come_in_its_order():
    counts = pd.DataFrame(
        {
            "learner": ["episodic_control", "monte_carlo", "mine"],
            "kind": ["novel_path", "reverse_episode", "novel_path"],
            "count": 1,
        }
    )
    result = shares(counts, ["learner"])
    assert list(dict.fromkeys(result["learner"])) == ["monte_carlo", "episodic_control", "mine"]
    assert list(dict.fromkeys(result["kind"])) == ["reverse_episode", "novel_path"]


def test_share_is_pooled_and_its_interval_over_units():
    counts = kind_counts({"reverse_episode": [90, 8, 70, 6], "novel_path": [10, 2, 30, 4]})
    result = share_intervals(counts, ["learner"]).set_index("kind")
    reverse = result.loc["reverse_episode"]
    assert reverse["share"] == 174 / 220
    assert reverse["n_units"] == 4
    assert 0.6 <= reverse["ci_low"] < reverse["share"] < reverse["ci_high"] <= 0.9
    novel = result.loc["novel_path"]
    assert novel["ci_low"] == pytest.approx(1 - reverse["ci_high"], abs=0.02)


def test_more_events_of_the_same_units_do_not_narrow_the_interval():
    few = {"reverse_episode": [9, 8, 7, 6, 5], "novel_path": [1, 2, 3, 4, 5]}
    many = {kind: [1000 * count for count in counts] for kind, counts in few.items()}
    columns = ["ci_low", "ci_high"]
    assert np.array_equal(
        share_intervals(kind_counts(few), ["learner"])[columns],
        share_intervals(kind_counts(many), ["learner"])[columns],
    )


@pytest.mark.parametrize("counts", [[5], [5, 5, 5], [0, 0, 0]])
def test_no_interval_where_units_cannot_tell(counts):
    result = share_intervals(kind_counts({"novel_path": counts}), ["learner"])
    assert result[["ci_low", "ci_high"]].isna().all(axis=None)
    assert result["n_units"].tolist() == [len(counts) if any(counts) else 0]


def test_few_units_give_intervals_or_none_without_warning():
    for counts in ([1, 9], [0, 10], [0, 0, 10]):
        table = kind_counts({"novel_path": counts, "reverse_episode": [10 - c for c in counts]})
        share_intervals(table, ["learner"])


def test_share_interval_covers():
    rng = np.random.default_rng(0)
    covered = 0
    for seed in range(100):
        p = rng.beta(8, 4, size=25)
        hits = rng.binomial(50, p)
        table = kind_counts({"novel_path": hits.tolist(), "reverse_episode": (50 - hits).tolist()})
        row = share_intervals(table, ["learner"], n_resamples=400, seed=seed).iloc[1]
        assert row["kind"] == "novel_path"
        covered += row["ci_low"] <= 8 / 12 <= row["ci_high"]
    # 95 % nominal; below 87 of 100 has a probability of under 1 in 500
    assert covered >= 87


def test_same_seed_same_interval():
    table = kind_counts({"novel_path": [1, 2, 3], "reverse_episode": [5, 3, 4]})
    first, second = (share_intervals(table, ["learner"], seed=3) for _ in range(2))
    pd.testing.assert_frame_equal(first, second)


@given(st.lists(st.sampled_from([-1.0, 0.0, 2.0]), max_size=30))
def test_sign_test_counts(values):
    result = sign_test(values)
    assert result.n_positive == values.count(2.0)
    assert result.n_negative == values.count(-1.0)
    n = result.n_positive + result.n_negative
    if n:
        tail = stats.binom.cdf(min(result[:2]), n, 0.5)
        assert result.p == pytest.approx(min(1, 2 * tail))
    else:
        assert np.isnan(result.p)


def test_errors_say_what_is_wrong():
    with pytest.raises(ValueError, match=r"lacks the columns \['x'\]"):
        mean_interval(pd.DataFrame({"g": [0]}), "x", ["g"])
    with pytest.raises(ValueError, match="from 0 to 1"):
        mean_interval(pd.DataFrame({"g": [0], "x": [0.0]}), "x", ["g"], level=95)
    with pytest.raises(ValueError, match="level must be a number between 0 and 1, got 1"):
        mean_interval(pd.DataFrame({"g": [0], "x": [0.0]}), "x", ["g"], level=1)
    for by in ([], "g"):
        with pytest.raises(ValueError, match="by must be a list of at least one column"):
            mean_interval(pd.DataFrame({"g": [0], "x": [0.0]}), "x", by)
    for wrong in ("much", 1j, np.inf):
        with pytest.raises(ValueError, match="'x' of the table must hold finite numbers; row"):
            mean_interval(pd.DataFrame({"g": [0, 0], "x": [0.5, wrong]}), "x", ["g"])
    counts = kind_counts({"novel_path": [1, 2]})
    for wrong in (-1, 0.5, None):
        with pytest.raises(ValueError, match=r"'count' of counts must hold whole numbers .* row 0"):
            shares(counts.assign(count=[wrong, 1]), ["learner"])
    with pytest.raises(ValueError, match="seed must be a whole number of at least 0, got -1"):
        share_intervals(counts, ["learner"], seed=-1)
    with pytest.raises(ValueError, match="n_resamples must be a whole number of at least 1"):
        share_intervals(counts, ["learner"], n_resamples=0)
    with pytest.raises(ValueError, match="differences must hold finite numbers; row 0 has 'a'"):
        sign_test(["a"])
    with pytest.raises(ValueError, match="counts lacks"):
        shares(pd.DataFrame({"kind": []}), ["learner"])


def test_the_interval_of_a_mean_share_is_that_of_fewer_independent_events():
    """By hand: Wilson's of p (1 - p) / SE^2 events, times (z / t)^2; and of all events at 0."""
    z, t = stats.norm.ppf(0.975), stats.t.ppf(0.975, 3)
    own = [0.2, 0.5, 0.3, 0.6]
    table = pd.DataFrame({"g": "a", "share": own, "n": 50})
    events = 0.4 * 0.6 / (np.var(own, ddof=1) / 4) * (z / t) ** 2
    half = z * np.sqrt(0.24 / events + (z / (2 * events)) ** 2) / (1 + z**2 / events)
    middle = (0.4 + z**2 / (2 * events)) / (1 + z**2 / events)
    row = mean_share_interval(table, "share", "n", ["g"]).iloc[0]
    assert [row["ci_low"], row["ci_high"]] == pytest.approx([middle - half, middle + half])
    never = mean_share_interval(table.assign(share=0.0), "share", "n", ["g"]).iloc[0]
    all_events = 200 * (z / t) ** 2
    assert [never["ci_low"], never["ci_high"]] == pytest.approx([0, z**2 / (all_events + z**2)])


def test_two_units_have_no_interval_of_a_mean_share():
    table = pd.DataFrame({"g": ["a", "a", "b", "b", "b"], "share": 0.5, "n": 9})
    found = mean_share_interval(table, "share", "n", ["g"])
    assert found["ci_low"].isna().tolist() == [True, False]
    with pytest.raises(ValueError, match="of at least one event in 'n'"):
        mean_share_interval(table.assign(n=0), "share", "n", ["g"])


@pytest.mark.parametrize("alike", [0.0, 0.1])
def test_intervals_of_mean_shares_hold_the_true_one(alike):
    """For what is rare and animals that differ; Student's t holds it in .4 to .9."""
    rng = np.random.default_rng(7)
    n = rng.integers(6, 60, (400, 4))
    true = rng.beta(0.1 * (1 / alike - 1), 0.9 * (1 / alike - 1), n.shape) if alike else 0.1
    share = rng.binomial(n, true) / n
    table = pd.DataFrame({"g": np.repeat(np.arange(400), 4), "n": n.ravel()})
    found = mean_share_interval(table.assign(share=share.ravel()), "share", "n", ["g"])
    assert ((found["ci_low"] <= 0.1) & (found["ci_high"] >= 0.1)).mean() >= 0.93
    assert (found["ci_low"] >= 0).all()
    assert (found["ci_high"] <= 1).all()
