"""Which episodes replayed sequences can be attributed to, over learning and by length.

Usage: ``python figures/attribution.py [results]``
"""

import sys

from analyses.jobs.results import Results
from analyses.plots import attribution_figure, attribution_length_figure, save

results = Results(sys.argv[1] if len(sys.argv) > 1 else "results")
table = results.read("attribution.csv")
save(attribution_figure(table), results.folder / "figures" / "attribution")
save(attribution_length_figure(table), results.folder / "figures" / "attribution_length")
