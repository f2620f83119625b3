"""Draw the demands of learners: `python figures/demands.py [results]`."""

import sys

from analyses.figures import draw

draw("demands", *sys.argv[1:2])
