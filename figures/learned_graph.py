"""Draw the learned graphs of a result folder: `python figures/learned_graph.py [results]`."""

import sys

from analyses.studies.figures import draw

draw("learned_graph", *sys.argv[1:2])
