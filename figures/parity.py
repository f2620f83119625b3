"""Accounts of replay under their authors' own protocols, and under those of experiments.

Usage: ``python figures/parity.py [results]``; without results, those that ship with the toolkit.
"""

import sys
from pathlib import Path

from analyses.jobs.results import Results
from analyses.plots import parity_experiments_figure, parity_figure, save
from replay.data import reference_table

if len(sys.argv) > 1:
    results = Results(sys.argv[1])
    table, folder = results.read("parity.csv"), results.folder / "figures"
else:
    table, folder = reference_table("parity/parity"), Path(__file__).parent
save(parity_figure(table), folder / "parity")
save(parity_experiments_figure(table), folder / "parity_experiments")
