"""Kinds of replayed sequences, by learner and experiment.

Usage: ``python figures/replay_kinds.py [results]``
"""

import sys

from analyses.jobs.results import Results
from analyses.plots import replay_kinds_figure, save

results = Results(sys.argv[1] if len(sys.argv) > 1 else "results")
table = results.read("replay_kinds.csv")
save(replay_kinds_figure(table), results.folder / "figures" / "replay_kinds")
