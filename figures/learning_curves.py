"""Learning curves of all experiments.

Usage: ``python figures/learning_curves.py [results]``
"""

import sys

from analyses.jobs.results import Results
from analyses.plots import learning_curves_figure, save

results = Results(sys.argv[1] if len(sys.argv) > 1 else "results")
curves = results.read("reward_rate.csv")
has_runs = (results.folder / "single_runs.parquet").exists()
runs = results.read("single_runs.parquet") if has_runs else None
save(learning_curves_figure(curves, runs), results.folder / "figures" / "learning_curves")
