"""The page of a comparison: what each account of replay predicts, beside what was published.

Usage: ``python figures/findings.py [comparison]``
"""

import sys

from analyses.jobs.results import Results
from analyses.plots import page_figure, save, study_figures

results = Results(sys.argv[1] if len(sys.argv) > 1 else "comparison")
evidence = results.read("evidence.csv")
page = page_figure(evidence, results.read("sums.csv"), results.read("confusion.csv"))
save(page, results.folder / "figures" / "findings")
for study, figure in study_figures(evidence):
    save(figure, results.folder / "figures" / f"study_{study}")
