"""Learners beside published findings.

Usage: ``python figures/findings.py [results]``
"""

import sys

from analyses.jobs.results import Results
from analyses.plots import grid_figure, save, statistics_figure

results = Results(sys.argv[1] if len(sys.argv) > 1 else "results")
save(grid_figure(results.read("verdicts.csv")), results.folder / "figures" / "findings")
statistics, findings = results.read("statistics.csv"), results.read("findings.csv")
judged = statistics.loc[statistics["judged"], ["task", "min_length"]].drop_duplicates()
for task, rows in statistics.merge(judged).groupby("task", sort=False):
    save(statistics_figure(rows, findings), results.folder / "figures" / f"statistics_{task}")
