"""Forward and reverse replay of simulated rats that run a track both ways."""

import numpy as np
import pandas as pd
import pytest
from simulated_rats import overlap
from two_way_rats import TRACKS, simulate_two_way_rat

from analyses.recordings import find_replay
from analyses.recordings.basics.settings import Judgement

pytestmark = pytest.mark.slow


def directions(name, speed, seed, **rat):
    """Simulate a rat, and return the direction of each event, found and true."""
    simulated = simulate_two_way_rat(name, speed, seed, **rat)
    found = find_replay(simulated.recording, judgement=Judgement(other_sizes=()))
    longest = found.sequences.sort_values("distance", ascending=False, kind="stable")
    known = longest.drop_duplicates("event").set_index("event")["direction"].astype(str)
    named = found.events["event"].map(known).where(found.events["is_replay"], "missed")
    at = np.array(overlap(simulated.truth, found.events))
    told = pd.Series(named.fillna("none").to_numpy()[at]).where(at >= 0, "missed")
    return told, simulated.truth["direction"]


@pytest.mark.parametrize("name", TRACKS)
def test_forward_and_reverse_are_not_mistaken(name):
    """At 4 m/s, .78 to 1.00 of all events are told right (seeds 872 and 874)."""
    told, true = directions(name, 13.0, seed=803)
    is_told = told.isin(["forward", "reverse"])
    assert (told == true).mean() >= 0.65
    assert (is_told & (told != true)).mean() <= 0.02


def test_hardly_any_direction_is_told_without_directional_cells():
    told, _ = directions("linear", 13.0, seed=804, directional=0.0)
    assert (told != "missed").mean() >= 0.8
    assert told.isin(["forward", "reverse"]).mean() <= 0.05


@pytest.mark.parametrize(("share", "most"), [(0.5, 0.1), (0.0, 0.05)])
def test_a_heading_that_replay_does_not_represent_is_hardly_told(share, most):
    """Of events without a heading; half of the others are told all the same."""
    told, true = directions("linear", 13.0, seed=805, with_heading=share)
    is_told = told.isin(["forward", "reverse"])
    assert is_told[true == "none"].mean() <= most
    assert not share or (told == true)[true != "none"].mean() >= 0.5
