"""Draw what replay can be attributed to: `python figures/attribution.py [results]`."""

import sys

from analyses.studies.figures import draw

draw("attribution", *sys.argv[1:2])
