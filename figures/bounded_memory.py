"""Draw reward rate against memory: `python figures/bounded_memory.py [results]`."""

import sys

from analyses.studies.figures import draw

draw("bounded_memory", *sys.argv[1:2])
