"""Forward and reverse segments per episode against the code of Mattar & Daw (2018).

Their numbers are means over 20 simulations of 50 episodes on the track, and over 10 in the open
maze. Their standard errors are taken to be ours, for as many simulations as theirs.
"""

import numpy as np
import pytest

from analyses.gain_floor import compare_gain_floors

pytestmark = pytest.mark.slow

N_SIMULATIONS = 100
THEIRS = {
    ("linear_track", "floor", "start", "forward"): 0.642,
    ("linear_track", "floor", "goal", "reverse"): 0.350,
    ("linear_track", "no_floor", "start", "forward"): 0.000,
    ("linear_track", "no_floor", "goal", "reverse"): 0.228,
    ("open_maze", "floor", "start", "forward"): 0.296,
    ("open_maze", "floor", "goal", "forward"): 0.034,
    ("open_maze", "floor", "goal", "reverse"): 0.262,
    ("open_maze", "floor", "start", "reverse"): 0.046,
    ("open_maze", "no_need", "start", "forward"): 0.802,
    ("open_maze", "no_need", "goal", "forward"): 0.514,
    ("open_maze", "no_need", "goal", "reverse"): 0.080,
    ("open_maze", "no_need", "start", "reverse"): 0.018,
}
N_THEIRS = {"linear_track": 20, "open_maze": 10}
FURTHEST = 3.0
"""Of twelve independent z scores one would be beyond it in 30 suites."""


@pytest.fixture(scope="module")
def ours():
    table = compare_gain_floors(n_simulations=N_SIMULATIONS)
    return table.set_index(["task", "setting", "place", "direction"])


@pytest.mark.parametrize("cell", THEIRS, ids="-".join)
def test_segments_per_episode(ours, cell):
    row = ours.loc[cell]
    spread = row["sem"] * np.sqrt(row["n"])
    if spread == 0.0:
        assert row["mean"] == THEIRS[cell]
    else:
        error = np.hypot(row["sem"], spread / np.sqrt(N_THEIRS[cell[0]]))
        assert abs(row["mean"] - THEIRS[cell]) / error < FURTHEST
