"""Replay in bursts that hold more than it: what is found in them, and where it begins and ends."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from verification.two_way_rats import simulate_two_way_rat

from analyses.recordings import find_replay
from analyses.recordings.basics.settings import Judgement

JUDGEMENT = Judgement(n_shuffles=5, n_controls=3, other_sizes=())


@pytest.mark.parametrize(
    ("around", "seed"),
    [((0.04, 0.08), 21), pytest.param((0.03, 0.045), 22, marks=pytest.mark.slow)],
)
def test_other_places_at_both_ends_hide_no_replay(around, seed):
    """Of 60 bursts on a line, with 50 cells of which 70 % have a heading, times given."""
    rat = simulate_two_way_rat("linear", 10.0, seed, around=around)
    bursts = rat.truth[["burst_start", "burst_end"]].set_axis(["start_time", "end_time"], axis=1)
    found = find_replay(replace(rat.recording, events=bursts), judgement=JUDGEMENT)
    kinds = found.events["kind"].fillna("missed").str.removesuffix("_episode")
    true = rat.truth["direction"]
    assert (kinds == true).sum() >= 50
    assert not (kinds.isin(["forward", "reverse"]) & (kinds != true)).any()
    assert not set(kinds) & {"novel_path", "unexperienced"}
    longest = found.stretches.sort_values("length").drop_duplicates("event", keep="last")
    longest = longest.set_index("event").loc[found.events["event"][found.events["is_replay"]]]
    paths = rat.truth.loc[longest.index]
    away = pd.concat([longest[name] - paths[name] for name in ("start_time", "end_time")])
    # A place within a field of where the path begins or ends is no other one; and in 30 ms of some
    # other places hardly a cell fires (.85 to .92 of the ends of four rats).
    is_other = pd.concat([paths["before"], paths["after"]]) >= 40.0
    assert is_other.sum() >= 60
    assert (away[is_other.to_numpy()].abs() <= 0.02).mean() >= 0.85
    assert np.median(np.abs(away)) <= 0.01
    lasts = found.events["end_time"] - found.events["start_time"]
    share = (paths["end_time"] - paths["start_time"]) / lasts[longest.index]
    assert (longest["share"] - share).abs().median() <= 0.1


@pytest.mark.slow
def test_hardly_a_sense_is_found_in_cells_without_headings():
    rat = simulate_two_way_rat("linear", 10.0, 23, around=(0.03, 0.06), directional=0.0)
    bursts = rat.truth[["burst_start", "burst_end"]].set_axis(["start_time", "end_time"], axis=1)
    found = find_replay(replace(rat.recording, events=bursts), judgement=JUDGEMENT)
    assert found.events["is_replay"].mean() >= 0.8
    kinds = found.events["kind"].dropna()
    assert kinds.isin(["forward_episode", "reverse_episode"]).mean() <= 0.05
    assert not set(kinds) & {"novel_path", "unexperienced"}
