"""How often the true account of simulated animals is found, and another taken for it.

Usage: ``python figures/explanation.py [results]``
"""

import sys
from pathlib import Path

from analyses.jobs.results import Results
from analyses.plots import save

sys.path.append(str(Path(__file__).parents[1] / "tests" / "verification"))
from explanation_figures import goals_figure

results = Results(sys.argv[1] if len(sys.argv) > 1 else "results")
tables = [results.read(name) for name in ("recovered_accounts.csv", "left_out_accounts.csv")]
save(goals_figure(*tables, results.manifest()["draws"]), results.folder / "figures" / "explanation")
