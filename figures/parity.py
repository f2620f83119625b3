"""Accounts of replay under their authors' own protocols, and under those of experiments.

Usage: ``python figures/parity.py [parity]``
"""

import sys
from pathlib import Path

from analyses.jobs.results import Results
from analyses.plots import save

sys.path.append(str(Path(__file__).parents[1] / "tests" / "verification"))
from parity_figures import parity_experiments_figure, parity_figure

results = Results(sys.argv[1] if len(sys.argv) > 1 else "parity")
table = results.read("parity.csv")
save(parity_figure(table), results.folder / "figures" / "parity")
save(parity_experiments_figure(table), results.folder / "figures" / "parity_experiments")
