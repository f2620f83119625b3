"""What learners earn and replay when states are learned from observations.

Usage: ``python figures/learned_states.py [results]``
"""

import sys

from analyses.jobs.results import Results
from analyses.plots import learned_states_figure, save

results = Results(sys.argv[1] if len(sys.argv) > 1 else "results")
tables = [results.read(name) for name in ("learned_states.csv", "kinds_in_codes.csv")]
save(learned_states_figure(*tables), results.folder / "figures" / "learned_states")
