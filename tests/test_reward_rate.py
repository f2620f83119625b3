"""Reward rates against hand computation, scipy, and simulated truth."""

import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from analyses.measures.reward_rate import (
    area_under_curve,
    normalise,
    paired_difference,
    summarise,
    summarise_times,
    time_to_criterion,
)
from analyses.tables import EXPERIMENT_ORDER, LEARNER_ORDER
from replay.experiments import PAPER_LEARNERS


def runs(rates: dict[tuple[str, int, int], list[float]], experiment: str = "maze") -> pd.DataFrame:
    """Windows of runs, given their rates by (learner, mdp, seed)."""
    return pd.DataFrame(
        [
            (experiment, learner, mdp, seed, 100 * (k + 1), rate)
            for (learner, mdp, seed), curve in rates.items()
            for k, rate in enumerate(curve)
        ],
        columns=["experiment", "learner", "mdp", "seed", "time_step", "reward_rate"],
    )


def random_runs(learners, n_mdps=6, n_seeds=3, n_windows=4, seed=0):
    rng = np.random.default_rng(seed)
    keys = itertools.product(learners, range(n_mdps), range(n_seeds))
    return runs({key: rng.normal(0.5, 0.2, n_windows).tolist() for key in keys})


@pytest.fixture
def baselines():
    return pd.DataFrame(
        {"experiment": "maze", "mdp": [0, 1], "random": [1.0, 2.0], "optimal": [3.0, 10.0]}
    )


def test_normalise_by_hand(baselines):
    windows = runs({("q_lambda", 1, 0): [2.0, 6.0, 12.0], ("q_lambda", 0, 0): [3.0, 0.0, 1.0]})
    result = normalise(windows, baselines)
    assert result["reward_rate"].tolist() == [0, 0.5, 1.25, 1, -0.5, 0]
    pd.testing.assert_frame_equal(
        result[["mdp", "seed", "time_step"]], windows[["mdp", "seed", "time_step"]]
    )


def test_more_learners_than_a_figure_shows_are_normalised(baselines):
    named = {(f"mine, n={n}", 0, 0): [float(n)] for n in range(150)}
    assert len(normalise(runs(named), baselines)["learner"].unique()) == 150


@given(st.floats(0.1, 10), st.floats(-5, 5))
def test_normalised_rates_do_not_depend_on_the_unit_of_reward(scale, shift):
    baselines = pd.DataFrame({"experiment": "maze", "mdp": [0], "random": 0.25, "optimal": 0.75})
    windows = runs({("q_lambda", 0, 0): [0.1, 0.5, 0.9]})
    rates = ["random", "optimal"]
    other = normalise(
        windows.assign(reward_rate=scale * windows["reward_rate"] + shift),
        baselines.assign(**{rate: scale * baselines[rate] + shift for rate in rates}),
    )
    expected = normalise(windows, baselines)["reward_rate"]
    assert other["reward_rate"].to_numpy() == pytest.approx(expected.to_numpy(), abs=1e-9)


def test_baselines_of_other_mdps_and_experiments_do_not_matter(baselines):
    windows = runs({("q_lambda", 0, 0): [2.0]})
    more = pd.concat([baselines, baselines.assign(experiment="stochastic_tree", random=2.5)])
    assert normalise(windows, more)["reward_rate"].tolist() == [0.5]


def test_normalise_refuses_what_it_cannot_do(baselines):
    windows = runs({("q_lambda", 7, 0): [2.0], ("q_lambda", 0, 0): [2.0]})
    with pytest.raises(ValueError, match="lack these MDPs of windows: maze 7"):
        normalise(windows, baselines)
    known = windows[windows["mdp"] == 0]
    with pytest.raises(ValueError, match="cannot be normalised: maze 1"):
        normalise(known, baselines.assign(optimal=[3.0, 2.0]))
    with pytest.raises(ValueError, match="cannot be normalised: maze 1"):
        normalise(known, baselines.assign(random=[1.0, 0.1 + 0.2], optimal=[3.0, 0.3]))
    with pytest.raises(ValueError, match=r"No policy earns more than .* in maze 1"):
        normalise(known, baselines.assign(optimal=[3.0, -2.0]))
    with pytest.raises(ValueError, match="given twice: maze 0"):
        normalise(known, pd.concat([baselines, baselines.head(1)]))
    for wrong in (np.nan, None, np.inf, "much", 1j):
        with pytest.raises(ValueError, match=r"'reward_rate' of windows must hold finite .* row 1"):
            normalise(known.assign(reward_rate=wrong), baselines)
    for column, wrong in (("seed", -1), ("mdp", 0.5), ("time_step", "late")):
        with pytest.raises(ValueError, match=f"'{column}' of windows must hold whole .* row 1"):
            normalise(known.assign(**{column: wrong}), baselines)
    for wrong in (None, 3, ""):
        with pytest.raises(ValueError, match="'learner' of windows must hold names; row 1 has"):
            normalise(known.assign(learner=wrong), baselines)
    with pytest.raises(ValueError, match=r"'optimal' of baselines must hold finite .* row 0"):
        normalise(known, baselines.assign(optimal="much"))
    with pytest.raises(ValueError, match=r"windows lacks the columns \['seed'\]"):
        normalise(known.drop(columns="seed"), baselines)


def test_summarise_averages_seeds_within_an_mdp_first():
    # MDP 0 has two seeds of mean 0.2, MDP 1 has one: the mean is that of 0.2 and 0.8.
    table = runs({("a", 0, 0): [0.1], ("a", 0, 1): [0.3], ("a", 1, 0): [0.8]})
    row = summarise(table).iloc[0]
    assert row["mean"] == pytest.approx(0.5)
    assert row["sem"] == pytest.approx(0.3)
    assert (row["n_mdps"], row["n_seeds"]) == (2, 1)
    low, high = stats.t.interval(0.95, 1, 0.5, 0.3)
    assert (row["ci_low"], row["ci_high"]) == pytest.approx((low, high))


def test_summarise_has_the_columns_of_the_contract():
    table = summarise(random_runs(["episodic_control", "monte_carlo"]))
    statistics = ["mean", "sem", "ci_low", "ci_high", "n_mdps", "n_seeds"]
    assert list(table) == ["experiment", "learner", "time_step", *statistics]
    assert len(table) == 2 * 4
    assert table["n_mdps"].eq(6).all()
    assert table["n_seeds"].eq(3).all()


def test_one_mdp_has_no_interval_and_writes_empty_cells(tmp_path):
    table = summarise(runs({("q_lambda", 0, 0): [0.1], ("q_lambda", 0, 1): [0.3]}))
    assert table[["sem", "ci_low", "ci_high"]].isna().all(axis=None)
    table.to_csv(tmp_path / "reward_rate.csv", index=False)
    assert (tmp_path / "reward_rate.csv").read_text().splitlines()[1].endswith("0.2,,,,1,2")


def test_order_is_the_papers_then_the_users():
    names = ["zebra", *reversed(LEARNER_ORDER), "aardvark"]
    table = pd.concat(
        runs({(name, 0, 0): [0.5] for name in names}, experiment)
        for experiment in [*reversed(EXPERIMENT_ORDER), "mine"]
    )
    result = summarise(table)
    assert list(dict.fromkeys(result["experiment"])) == [*EXPERIMENT_ORDER, "mine"]
    assert result["learner"].tolist()[: len(names)] == [*LEARNER_ORDER, "zebra", "aardvark"]


def test_area_is_the_mean_over_windows():
    table = runs({("a", 0, 0): [0.0, 1.0], ("a", 1, 0): [0.5, 0.7]})
    row = area_under_curve(table).iloc[0]
    assert row["mean"] == pytest.approx(0.55)
    assert row["sem"] == pytest.approx(0.05)
    curve = summarise(table)
    assert curve["mean"].mean() == pytest.approx(row["mean"])


def test_paired_difference_is_scipys_paired_t_test():
    table = random_runs(["a", "b"])
    means = table.groupby(["learner", "mdp"])["reward_rate"].mean()
    expected = stats.ttest_rel(means["a"], means["b"])
    row = paired_difference(table, "a", "b").iloc[0]
    assert row["p"] == pytest.approx(expected.pvalue)
    interval = expected.confidence_interval()
    assert (row["ci_low"], row["ci_high"]) == pytest.approx((interval.low, interval.high))
    assert row["n_better"] == (means["a"] > means["b"]).sum()
    assert row["p_sign"] == pytest.approx(stats.binomtest(int(row["n_better"]), 6).pvalue)


def test_paired_difference_swaps_sign_and_pairs_over_common_mdps():
    table = random_runs(["a", "b"])
    there, back = paired_difference(table, "a", "b"), paired_difference(table, "b", "a")
    assert there["mean"].to_numpy() == pytest.approx(-back["mean"].to_numpy())
    assert there["p"].to_numpy() == pytest.approx(back["p"].to_numpy())
    partial = table[(table["learner"] == "a") | (table["mdp"] < 4)]
    assert paired_difference(partial, "a", "b")["n_mdps"].tolist() == [4]


def test_paired_difference_without_spread_has_no_p():
    table = runs({("a", 0, 0): [1.0], ("a", 1, 0): [1.0], ("b", 0, 0): [0.5], ("b", 1, 0): [0.5]})
    row = paired_difference(table, "a", "b").iloc[0]
    assert row["mean"] == 0.5
    assert np.isnan(row["p"])


def test_paired_difference_names_what_is_missing():
    table = random_runs(["a", "b"])
    with pytest.raises(ValueError, match="Unknown reference 'c'"):
        paired_difference(table, "a", "c")
    with pytest.raises(ValueError, match="learner and reference must differ"):
        paired_difference(table, "a", "a")
    apart = table[(table["learner"] == "a") == (table["mdp"] < 3)]
    with pytest.raises(ValueError, match="No MDP has runs of both"):
        paired_difference(apart, "a", "b")


def test_time_to_criterion_by_hand():
    table = runs(
        {
            ("a", 0, 0): [0.0, 0.6, 0.2, 0.9],
            ("a", 0, 1): [0.0, 0.0, 0.6, 0.9],
            ("a", 1, 0): [0.1, 0.1, 0.1, 0.1],
        }
    )
    per_mdp = time_to_criterion(table, 0.5)
    assert list(per_mdp) == ["experiment", "learner", "mdp", "time_step"]
    assert per_mdp["time_step"].fillna(-1).tolist() == [400, -1]


@pytest.mark.parametrize(
    ("times", "median", "share"),
    [
        ([1, 2, 9], 2, 1),
        ([1, 2, None], 2, 2 / 3),
        ([1, None, None], None, 1 / 3),
        ([None], None, 0),
    ],
)
def test_median_time_counts_the_censored_as_late(times, median, share):
    table = pd.DataFrame(
        {"experiment": "maze", "learner": "a", "time_step": np.array(times, dtype=float)}
    )
    row = summarise_times(table).iloc[0]
    assert row["share_reached"] == pytest.approx(share)
    assert row["n"] == len(times)
    assert np.isnan(row["median"]) if median is None else row["median"] == median


def test_rows_may_come_in_any_order():
    table = random_runs(["monte_carlo", "q_lambda"])
    shuffled = table.sample(frac=1, random_state=1)
    pd.testing.assert_frame_equal(summarise(shuffled), summarise(table))


def test_the_papers_names_come_first_in_its_order():
    assert LEARNER_ORDER[: len(PAPER_LEARNERS)] == tuple(PAPER_LEARNERS)
    trees = ("deterministic_tree", "deterministic_tree_intermittent", "stochastic_tree")
    assert (*trees, "maze") == EXPERIMENT_ORDER
