"""Reward rate and replay around changes of a world.

Usage: ``python figures/changes.py [results]``
"""

import sys

from analyses.jobs.results import Results
from analyses.plots import save
from analyses.studies.reward_figures import changes_figure

results = Results(sys.argv[1] if len(sys.argv) > 1 else "results")
rates, replay = results.read("change_rates.csv"), results.read("change_replay.csv")
save(changes_figure(rates, replay), results.folder / "figures" / "changes")
