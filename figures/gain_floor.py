"""Replay with and without the floor under the gain.

Usage: ``python figures/gain_floor.py [results]``
"""

import sys
from pathlib import Path

from analyses.jobs.results import Results
from analyses.plots import save

sys.path.append(str(Path(__file__).parents[1] / "tests" / "verification"))
from gain_floor_figures import gain_floor_figure

results = Results(sys.argv[1] if len(sys.argv) > 1 else "results")
table = results.read("gain_floor.csv")
save(gain_floor_figure(table), results.folder / "figures" / "gain_floor")
