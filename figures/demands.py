"""Draw the demands of learners: `python figures/demands.py [results]`."""

import sys

from analyses.studies.figures import draw

draw("demands", *sys.argv[1:2])
