"""What learners earn where states are hidden, and how often the states are found.

Usage: ``python figures/hidden_states.py [results]``
"""

import sys

from analyses.jobs.results import Results
from analyses.plots import save
from analyses.studies.encoder_figures import hidden_states_figure

results = Results(sys.argv[1] if len(sys.argv) > 1 else "results")
tables = [results.read(name) for name in ("hidden_states.csv", "recovered_states.csv")]
save(hidden_states_figure(*tables), results.folder / "figures" / "hidden_states")
