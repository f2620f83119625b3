"""The evidence of published findings for accounts of replay; its sums; which account is found.

Usage: ``python figures/findings.py [comparison]``
"""

import sys

from analyses.jobs.results import Results
from analyses.plots import found_accounts_figure, page_figure, save, study_figures, sums_figure

results = Results(sys.argv[1] if len(sys.argv) > 1 else "comparison")
evidence, sums = results.read("evidence.csv"), results.read("sums.csv")
figures = {
    "findings": page_figure(evidence, sums),
    "sums": sums_figure(sums, results.read("fit.csv")),
    "found_accounts": found_accounts_figure(results.read("confusion.csv")),
    **{f"study_{study}": figure for study, figure in study_figures(evidence)},
}
for name, figure in figures.items():
    save(figure, results.folder / "figures" / name)
