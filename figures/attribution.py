"""Which episodes replayed sequences can be attributed to, over learning and by length.

Usage: ``python figures/attribution.py [results]``
"""

import sys
from pathlib import Path

from analyses.jobs.results import Results
from analyses.plots import save

sys.path.append(str(Path(__file__).parents[1] / "tests" / "verification"))
from attribution_figures import attribution_figure, attribution_length_figure

results = Results(sys.argv[1] if len(sys.argv) > 1 else "results")
table = results.read("attribution.csv")
save(attribution_figure(table), results.folder / "figures" / "attribution")
save(attribution_length_figure(table), results.folder / "figures" / "attribution_length")
