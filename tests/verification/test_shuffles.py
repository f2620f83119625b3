"""Which shuffles distinguish replay from similar events: events of known truth.

There are 40 cells, a gain of 2.9, 75 events of each kind, and 39 shuffles; the score is the mean
probability of continuous movement. *Replay*: paths on a figure of eight; *cells*: the same events
with the identities of their cells randomised in each; *stationary*: one place; *fragmented*: a
random place every 15 ms. The share of events with p <= .05 by each shuffle, and by the largest p of
three (cell identity, time bins, circular posterior), is compared with that of a prototype with its
own paths:

==========  =============  ===============  =========  ==================  =====
truth       cell identity  circular fields  time bins  circular posterior  three
==========  =============  ===============  =========  ==================  =====
replay      .84            .89              1.0        1.0                 .84
cells       .08            .05              .43        .60                 .07
stationary  .07            .08              .03        .87                 .01
fragmented  .03            .07              .24        .25                 .01
==========  =============  ===============  =========  ==================  =====

So time bins or the posterior must not be shuffled alone. The test requires this pattern only: how
many replay events are significant depends on their length, and how many fragmented events are
significant by a shuffle of bins depends on the length of a fragment (none beyond chance if it is a
single bin).
"""

import numpy as np
import pandas as pd
import pytest

from analyses.recordings.basics.judgement import SHUFFLES
from analyses.recordings.decide.calibration import choose_threshold
from analyses.recordings.decide.p_values import significance
from analyses.recordings.prepare.session import prepare
from analyses.recordings.recover.known_replay import draw_session
from analyses.recordings.recover.observe import observe

pytestmark = pytest.mark.slow

N_SESSIONS, N_EVENTS = 5, 15
GAIN, DT = 2.9, 0.005
FRAGMENT = 3  # time bins
THREE = ["p_cell_identity", "p_time_bins", "p_circular_posterior"]


def events_of_known_truth(seed):
    """Give the counts of some events of each truth, the fields, and the track."""
    rng = np.random.default_rng(seed)
    session = draw_session(rng)
    seen = observe(*session, cells=40, gain=GAIN, seed=seed)
    prepared = prepare(seen.recording)
    chosen = [prepared.counts[event] for event in rng.permutation(45)[:N_EVENTS]]
    rates = seen.cells.rates[prepared.cells] * GAIN * DT
    n_places = rates.shape[1]

    def at(places):
        return rng.poisson(rates[:, places].T)

    def fragments(n):
        return np.repeat(rng.integers(n_places, size=n), FRAGMENT)[:n]

    truths = {
        "replay": chosen,
        "cells": [each[:, rng.permutation(each.shape[1])] for each in chosen],
        "stationary": [at(np.full(len(each), rng.integers(n_places))) for each in chosen],
        "fragmented": [at(fragments(len(each))) for each in chosen],
    }
    return truths, GAIN * prepared.rates, prepared.track


@pytest.fixture(scope="module")
def tested():
    parts = []
    for seed in range(N_SESSIONS):
        truths, rates, track = events_of_known_truth(seed)
        for truth, events in truths.items():
            found = significance(
                events, rates, track, dt=DT, shuffles=SHUFFLES, n_shuffles=39, seed=seed
            )
            parts.append(found.assign(truth=truth))
    return pd.concat(parts, ignore_index=True)


@pytest.fixture(scope="module")
def shares(tested):
    tested["p_three"] = tested[THREE].max(axis=1)
    columns = [name for name in tested if name.startswith("p_")]
    return (tested[columns] <= 0.05).groupby(tested["truth"]).mean()


def test_shuffles_of_cells_find_replay_and_little_else(shares):
    for name in ("p_cell_identity", "p_circular_fields"):
        assert shares.loc["replay", name] > 0.7
        for truth in ("cells", "stationary", "fragmented"):
            assert shares.loc[truth, name] < 0.05 + 4 * np.sqrt(0.05 * 0.95 / 75)


def test_shuffles_of_bins_take_random_cells_for_replay(shares):
    """At a level of .05, four to six in ten."""
    assert shares.loc["replay", ["p_time_bins", "p_circular_posterior"]].min() > 0.95
    assert shares.loc["cells", "p_time_bins"] > 0.25
    assert shares.loc["cells", "p_circular_posterior"] > 0.3
    assert shares.loc["stationary", "p_circular_posterior"] > 0.6
    assert shares.loc["stationary", "p_time_bins"] < 0.15
    assert shares.loc["fragmented", ["p_time_bins", "p_circular_posterior"]].min() > 0.1


def test_the_largest_of_three_is_safe(shares):
    assert shares.loc["replay", "p_three"] > 0.7
    assert shares.loc[["cells", "stationary", "fragmented"], "p_three"].max() < 0.15


def test_a_threshold_chosen_on_random_cells_lets_one_in_twenty_pass(tested):
    """On half of the events with random cells it is chosen, on the others it is tried."""
    p = tested[["p_cell_identity", "p_circular_fields"]].max(axis=1)
    chance = p[tested["truth"] == "cells"].dropna().to_numpy()
    found = choose_threshold(chance[::2], 0.05)
    assert found.false_positive_rate <= 0.05
    others = chance[1::2] <= found.threshold
    assert others.mean() < 0.05 + 3 * np.sqrt(0.05 * 0.95 / len(others))
    assert np.mean(p[tested["truth"] == "replay"] <= found.threshold) > 0.6
