"""Draw the example MDPs of a result folder: `python figures/mdps.py [results]`."""

import sys

from analyses.studies.figures import draw

draw("mdps", *sys.argv[1:2])
