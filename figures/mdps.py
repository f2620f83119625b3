"""The first world of each experiment.

Usage: ``python figures/mdps.py [results]``
"""

import sys

from analyses.jobs.results import Results
from analyses.plots import mdps_figure, save
from replay.log.worlds import read_mdps

results = Results(sys.argv[1] if len(sys.argv) > 1 else "results")
mdps = read_mdps(results.folder / "mdps")
save(mdps_figure(mdps), results.folder / "figures" / "mdps")
