"""Published findings beside the predictions of each account of replay; which account is found.

Usage: ``python figures/findings.py [comparison]``
"""

import sys

from analyses.jobs.results import Results
from analyses.plots import found_accounts_figure, page_figure, save, study_figures

results = Results(sys.argv[1] if len(sys.argv) > 1 else "comparison")
evidence = results.read("evidence.csv")
confusion = results.read("confusion.csv")
page = page_figure(evidence, results.read("sums.csv"), confusion, results.read("fit.csv"))
save(page, results.folder / "figures" / "findings")
save(found_accounts_figure(confusion), results.folder / "figures" / "found_accounts")
for study, figure in study_figures(evidence):
    save(figure, results.folder / "figures" / f"study_{study}")
