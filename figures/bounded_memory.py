"""Reward rate against memory.

Usage: ``python figures/bounded_memory.py [results]``
"""

import sys

from analyses.jobs.results import Results
from analyses.plots import save
from analyses.studies.reward_figures import bounded_memory_figure

results = Results(sys.argv[1] if len(sys.argv) > 1 else "results")
table = results.read("bounded_memory.csv")
save(bounded_memory_figure(table), results.folder / "figures" / "bounded_memory")
