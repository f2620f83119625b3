"""How often the direction of replay is told on a track that is run both ways.

Usage: ``python figures/headings.py [results]``
"""

import sys
from pathlib import Path

from analyses.jobs.results import Results
from analyses.plots import save

sys.path.append(str(Path(__file__).parents[1] / "tests" / "verification"))
from headings_figures import headings_figure

results = Results(sys.argv[1] if len(sys.argv) > 1 else "results")
save(headings_figure(results.read("headings.csv")), results.folder / "figures" / "headings")
