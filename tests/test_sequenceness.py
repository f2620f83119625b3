"""Sequenceness against TDLM's published code, and what its permutations do.

``reference/sequenceness.csv`` has the values of the regressions in `Simulate_Replay.m` and, for a
period of 4 bins, in `Simulate_Replay_withAlpha.m` (github.com/YunzheLiu/TDLM, commit 5e8679d), run
in Octave 7.3 on the activity below, for four orders of five states.
"""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from analyses.measures.sequenceness import _coefficients, _strengths, sequenceness

REFERENCE = Path(__file__).parent / "reference" / "sequenceness.csv"
CHAIN = np.eye(5, k=1)


def activity(n_times=160, n=5, seed=1):
    """Noise of a generator that is the same everywhere, with sweeps in both directions."""
    noise = []
    for _ in range(n_times * n):
        seed = (1103515245 * seed + 12345) % 2**31
        noise.append(seed / 2**31)
    found = np.array(noise).reshape(n_times, n)
    for start in range(3, n_times - 8, 11):
        for k, state in enumerate(range(n) if start % 3 else range(n - 1, -1, -1)):
            if start + 2 * k < n_times:
                found[start + 2 * k, state] += 1
    return found


@pytest.mark.parametrize("period", [8, 4])
def test_the_published_code_gives_the_same(period):
    table = pd.read_csv(REFERENCE, dtype={"order": str}).query("bins == @period")
    orders = list(dict.fromkeys(table["order"]))
    known = _coefficients(activity(), 8, None if period == 8 else period)
    found = _strengths(known, CHAIN, np.array([[*map(int, order)] for order in orders]))
    expected = table[["forward", "backward"]].to_numpy().reshape(len(orders), 8, 2)
    assert np.abs(found - expected).max() < 1e-10
    given = sequenceness(
        [activity()], CHAIN, max_lag=8, n_permutations=1, period=None if period == 8 else period
    )
    assert np.abs(given[["forward", "backward"]].to_numpy() - expected[0]).max() < 1e-10


def test_the_threshold_is_that_of_the_largest_of_all_lags():
    """With noise, the largest of all lags is above it in 5 % of recordings; with sweeps, always."""
    rng = np.random.default_rng(0)
    above = 0
    for _ in range(200):
        table = sequenceness([rng.random((60, 4))], np.eye(4, k=1), max_lag=5, n_permutations=19,
                             seed=int(rng.integers(2**31)))  # fmt: skip
        above += bool((table["forward_p"] <= 0.05).any())
    assert 2 <= above <= 22  # 10 expected; the chance to be outside is below .001
    people = [activity(seed=seed) for seed in (1, 2, 3)]
    table = sequenceness(people, CHAIN, max_lag=4).set_index("lag")
    assert table["forward"].idxmax() == 2
    assert table.loc[2, "forward"] > table.loc[2, "forward_threshold"]
    assert table.loc[2, "forward_p"] == 0.01
    assert table.loc[1, "forward_p"] > 0.1


def test_a_rhythm_counts_less_if_its_period_is_given():
    """States that follow a rhythm in turn, at lags that the rhythm explains."""
    rng = np.random.default_rng(1)
    phase = 2 * np.pi * (np.arange(2000)[:, None] / 10 + np.arange(4) / 8)
    waves = np.sin(phase) + rng.normal(size=(2000, 4))
    with_rhythm, without = (
        sequenceness([waves], np.eye(4, k=1), max_lag=20, n_permutations=1, period=period)
        for period in (None, 10)
    )
    worst = [each["difference"].abs().max() for each in (with_rhythm, without)]
    assert worst[1] < 0.8 * worst[0]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"activity": []}, "at least one recording"),
        ({"activity": [np.zeros((9, 3))]}, "activity 0 must have 4 columns"),
        ({"activity": [np.zeros((3, 4))]}, "more than 5 rows"),
        ({"transitions": np.eye(2)}, "three or more states"),
        ({"n_permutations": 24}, "23 other orders"),
        ({"period": 0}, "period must be"),
    ],
)
def test_refused(change, message):
    options = {
        "activity": [np.zeros((9, 4))],
        "transitions": np.eye(4, k=1),
        "max_lag": 5,
        "n_permutations": 9,
    }
    options = {**options, **change}
    given = options.pop("activity"), options.pop("transitions")
    with pytest.raises(ValueError, match=message):
        sequenceness(*given, **options)
