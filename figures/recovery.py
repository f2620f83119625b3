"""How known replay is classified in a recording, and the share of novel paths as corrected.

Usage: ``python figures/recovery.py [results]``
"""

import sys
from pathlib import Path

from analyses.jobs.results import Results
from analyses.plots import save
from analyses.plots.style import FULL_WIDTH

sys.path.append(str(Path(__file__).parents[1] / "tests" / "verification"))
from recovery_figures import recovery_figure

results = Results(sys.argv[1] if len(sys.argv) > 1 else "results")
shares, matrix = results.read("recovery_shares.csv"), results.read("recovery_matrix.csv")
kinds, recovery = matrix[matrix["what"] == "kind"], results.read("recovery.csv")
figure = recovery_figure(kinds, shares, recovery, width_cm=FULL_WIDTH)
save(figure, results.folder / "figures" / "recovery")
