"""The recall that is printed for a recording, beside the true one of simulated rats."""

import numpy as np
import pandas as pd
import pytest
from simulated_rats import Rat, overlap, simulate_rat

from analyses.recordings import find_replay
from analyses.recordings.basics.settings import Judgement
from analyses.recordings.prepare.session import prepare
from analyses.recordings.recover.shares import recorded_shares
from analyses.recordings.recover.unfolding import LEAST_RECALL

pytestmark = pytest.mark.slow

RATS = {
    "50 cells": Rat(),
    "20 cells": Rat(cells=20),
    "ten times as fast": Rat(cells=30, speed=10.0),
    "forty times as fast": Rat(speed=40.0),
    "two merge": Rat(merged=0.3),
    "bursts, drift, noise": Rat(cells=40, n_fields=2, bursts=0.2, drift=0.3, noise=1.5),
}


@pytest.mark.parametrize("rat", RATS.values(), ids=RATS)
def test_recall_is_that_of_the_recording(rat):
    """Both are known to within .04 or so each; before detection counted, .1 to .4 were missing."""
    judgement = Judgement(n_shuffles=99, other_sizes=())
    simulated = simulate_rat(rat._replace(n_events=180), seed=31)
    found = find_replay(simulated.recording, judgement=judgement)
    shares = recorded_shares(prepare(simulated.recording, judgement=judgement), found)
    truth = simulated.truth["kind"]
    kinds = found.events["kind"].to_numpy(dtype=object)
    at = np.array(overlap(simulated.truth, found.events))
    is_right = pd.Series((at >= 0) & (kinds[at] == truth.to_numpy()))
    table = shares.table.set_index("kind")
    true = is_right.groupby(truth).mean()
    assert table["recall"].mean() == pytest.approx(true.mean(), abs=0.15)
    if table["recall"].min() < LEAST_RECALL:  # found too seldom to be corrected
        assert table["corrected"].isna().all()
    elif rat.cells >= 30:
        own = truth.value_counts(normalize=True).reindex(table.index)
        inside = (table["ci_low"] <= own) & (own <= table["ci_high"])
        assert inside.sum() >= 2


def test_remapped_cells_are_not_corrected():
    judgement = Judgement(n_shuffles=99, other_sizes=())
    recording = simulate_rat(Rat(remapped=0.5, n_events=120), seed=32).recording
    found = find_replay(recording, judgement=judgement)
    shares = recorded_shares(prepare(recording, judgement=judgement), found)
    assert shares.table["corrected"].isna().all()
