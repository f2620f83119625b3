"""Laps of the rats of Kleinman & Foster (2025), as a person would count their traversals.

A traversal leads from the outer quarter of the track to the other. The rats of Experiment 2 have
positions only; :mod:`test_reward_change` says where to get the data, which do not ship with the
toolkit. Of 47 sessions, one has times that do not ascend; the others differ by at most 5 %.
"""

from pathlib import Path

import numpy as np
import pytest
from scipy.io import loadmat
from test_reward_change import shared

from analyses.recordings.basics.recording import Recording
from analyses.recordings.prepare.recorded_experience import experience_of
from replay.worlds.tracks import make_linear_track

FOLDER = Path(shared()) / "Experiment_2"


def traversals(x):
    """Count changes from one outer quarter of the range to the other."""
    low, high = np.nanpercentile(x, [1, 99])
    side = np.select([x < low + (high - low) / 4, x > high - (high - low) / 4], [-1, 1], 0)
    return np.count_nonzero(np.diff(side[side != 0]))


@pytest.mark.slow
@pytest.mark.skipif(not FOLDER.is_dir(), reason="the data are not here")
@pytest.mark.parametrize("size", [10.0, 15.0])
def test_laps_are_traversals(size):
    ratios = []
    for path in sorted(FOLDER.rglob("session_info.mat")):
        info = loadmat(path, simplify_cells=True)["session_info"]
        time = np.asarray(info["velocity"], dtype=float)[:, 0]
        x = np.asarray(info["position"], dtype=float).ravel()[: len(time)]
        if (np.diff(time) < 0).any():
            continue
        x = x - np.floor(np.nanmin(x))
        track = make_linear_track(float(np.ceil(np.nanmax(x))))
        rat = Recording(path.parent.name, track, time, np.column_stack([x, np.zeros(len(x))]))
        ratios.append(experience_of(rat, size)[1].steps["episode"].nunique() / traversals(x))
    assert len(ratios) > 40
    assert np.abs(np.array(ratios) - 1).max() <= 0.05
