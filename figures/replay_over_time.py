"""Kinds of replayed sequences over learning, one figure per experiment.

Usage: ``python figures/replay_over_time.py [results]``
"""

import sys

from analyses.jobs.results import Results
from analyses.plots import replay_over_time_figure, save

results = Results(sys.argv[1] if len(sys.argv) > 1 else "results")
for name, rows in results.read("replay_over_time.csv").groupby("experiment"):
    save(replay_over_time_figure(rows), results.folder / "figures" / f"replay_over_time_{name}")
