"""Draw kinds of replay over learning: `python figures/replay_over_time.py [results]`."""

import sys

from analyses.studies.figures import draw

draw("replay_over_time", *sys.argv[1:2])
