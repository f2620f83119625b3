"""Words of memory and operations per step, one figure per kind of world.

Usage: ``python figures/demands.py [results]``
"""

import sys

from analyses.jobs.results import Results
from analyses.plots import save
from analyses.studies.reward_figures import demands_figure

results = Results(sys.argv[1] if len(sys.argv) > 1 else "results")
for world, rows in results.read("demands.csv").groupby("world", sort=False):
    save(demands_figure(rows), results.folder / "figures" / f"demands_{world}")
