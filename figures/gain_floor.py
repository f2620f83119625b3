"""Draw replay with and without the gain floor: `python figures/gain_floor.py [results]`."""

import sys

from analyses.studies.figures import draw

draw("gain_floor", *sys.argv[1:2])
