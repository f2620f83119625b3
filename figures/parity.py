"""Accounts of replay under their authors' own protocols, and under those of experiments.

Usage: ``python figures/parity.py [parity]``
"""

import sys

from analyses.jobs.results import Results
from analyses.plots import parity_experiments_figure, parity_figure, save

results = Results(sys.argv[1] if len(sys.argv) > 1 else "parity")
table = results.read("parity.csv")
save(parity_figure(table), results.folder / "figures" / "parity")
save(parity_experiments_figure(table), results.folder / "figures" / "parity_experiments")
