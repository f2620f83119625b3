"""What learners earn and replay when states are learned from observations.

Usage: ``python figures/learned_states.py [results]``
"""

import sys

from analyses.jobs.results import Results
from analyses.plots import save
from analyses.studies.encoder_figures import kinds_in_codes_figure, learned_states_figure

results = Results(sys.argv[1] if len(sys.argv) > 1 else "results")
earned, kinds = results.read("learned_states.csv"), results.read("kinds_in_codes.csv")
save(learned_states_figure(earned), results.folder / "figures" / "learned_states")
save(kinds_in_codes_figure(kinds, earned), results.folder / "figures" / "kinds_in_codes")
