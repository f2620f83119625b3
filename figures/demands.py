"""Words of memory and operations per step.

Usage: ``python figures/demands.py [results]``
"""

import sys

from analyses.jobs.results import Results
from analyses.plots import demands_figure, save

results = Results(sys.argv[1] if len(sys.argv) > 1 else "results")
table = results.read("demands.csv")
save(demands_figure(table), results.folder / "figures" / "demands")
