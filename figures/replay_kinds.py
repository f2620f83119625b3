"""Draw the kinds of replay of a result folder: `python figures/replay_kinds.py [results]`."""

import sys

from analyses.studies.figures import draw

draw("replay_kinds", *sys.argv[1:2])
