"""Where episodic control and prioritized sweeping are one learner.

Usage: ``python figures/equivalence.py [results]``
"""

import sys

from analyses.jobs.results import Results
from analyses.plots import save
from analyses.studies.equivalence import equivalence_figure

results = Results(sys.argv[1] if len(sys.argv) > 1 else "results")
table = results.read("equivalence.csv")
save(equivalence_figure(table), results.folder / "figures" / "equivalence")
