"""Replay where reward is raised: a published finding, tested again on other rats.

Usage: ``python figures/retest.py [data/retest]``
"""

import sys
from pathlib import Path

from analyses.jobs.results import Results
from analyses.plots import save

sys.path.append(str(Path(__file__).parents[1] / "tests" / "verification"))
from reward_retest_figures import retest_figure

results = Results(sys.argv[1] if len(sys.argv) > 1 else "results")
rates, changes = results.read("retest_rates.csv"), results.read("retest_changes.csv")
save(retest_figure(rates, changes), results.folder / "figures" / "retest")
