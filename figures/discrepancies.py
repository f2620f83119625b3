"""Effects of the discrepancies between the paper's text and its code.

Usage: ``python figures/discrepancies.py [results]``
"""

import sys
from pathlib import Path

from analyses.jobs.results import Results
from analyses.plots import save

sys.path.append(str(Path(__file__).parents[1] / "tests" / "verification"))
from discrepancies_figures import discrepancies_figure, discrepancy_curves_figure

results = Results(sys.argv[1] if len(sys.argv) > 1 else "results")
differences = results.read("discrepancies.csv")
save(discrepancies_figure(differences), results.folder / "figures" / "discrepancies")
curves, changed = results.read("reward_rate.csv"), results.read("discrepancy_curves.csv")
figure = discrepancy_curves_figure(curves, changed, differences)
save(figure, results.folder / "figures" / "discrepancy_curves")
